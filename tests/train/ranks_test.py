# tests/train/ranks_test.py - `tessera data tokenizer --ranks`: a file of tiktoken's ranks becomes GPT-2's two files.
# SPDX-License-Identifier: Apache-2.0
"""The folder tests/unit/trainer/tokenizer has one vocabulary in both formats, made by other programs (make_expected.py)."""
import base64
import json

from repository import ROOT
from run_tessera import tessera

FOLDER = ROOT / "tests/unit/trainer/tokenizer"


def test_ranks_become_merges(tmp_path):
    done = tessera("data", "tokenizer", "--ranks", FOLDER / "ranks", "--out", "made", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "tessera data prepare --tokenizer made" in done.stdout
    merges = (FOLDER / "merges.txt").read_text().splitlines()
    assert (tmp_path / "made/merges.txt").read_text().splitlines()[1:] == merges[merges[0].startswith("#version"):]
    wanted = {**json.loads((FOLDER / "vocab.json").read_text()), "<|endoftext|>": 599}
    assert json.loads((tmp_path / "made/vocab.json").read_text()) == wanted
    # Shards of both are the same.
    (tmp_path / "text").write_text((FOLDER / "text.txt").read_text())
    for name, tokenizer in (("a", FOLDER / "ranks"), ("b", tmp_path / "made")):
        done = tessera("data", "prepare", "text", "--out", name, "--tokenizer", tokenizer, "--held-out", "0", cwd=tmp_path)
        assert done.returncode == 0, done.stdout
    [first], [second] = ((tmp_path / name).glob("train_*.bin") for name in "ab")
    start = -4000  # tokens and the index of documents; the header has the tokenizer's name
    assert first.read_bytes()[start:] == second.read_bytes()[start:]


def test_refusals(tmp_path):
    (tmp_path / "text").write_text("text")
    for arguments in ((), ("text", "--ranks", FOLDER / "ranks")):
        done = tessera("data", "tokenizer", *arguments, "--out", "made", cwd=tmp_path)
        assert done.returncode == 1 and "--ranks FILE" in done.stdout, done.stdout
    # A token whose two splits need later tokens.
    lines = ["%s %d" % (base64.b64encode(bytes([byte])).decode(), byte) for byte in range(256)]
    lines += ["%s %d" % (base64.b64encode(text).decode(), 256 + number) for number, text in enumerate((b"xyz", b"xy", b"yz"))]
    (tmp_path / "ranks").write_text("\n".join(lines) + "\n")
    done = tessera("data", "tokenizer", "--ranks", "ranks", "--out", "other", cwd=tmp_path)
    assert done.returncode == 1 and "token 256 is not made of two earlier tokens" in done.stdout, done.stdout
    assert "--tokenizer FILE" in done.stdout
