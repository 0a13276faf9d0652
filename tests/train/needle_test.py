# tests/train/needle_test.py - `tessera evaluate --needle` next to a plain PyTorch program.
# SPDX-License-Identifier: Apache-2.0
"""--each prints the tokens of every trial: they are the held-out text with a key and a value inside and at the end, and
the PyTorch program gives the value's tokens the losses that are printed."""
import json
import re

import pytest
import torch
import torch_losses as plain
from dense_model import evaluate, logits

KEY = VALUE = 8
TRIALS, DEPTHS = 3, 4
TEXT = 40000


def losses(w, tokens):
    """Of the value's tokens, and how many of them are the likeliest."""
    row = torch.tensor(tokens)
    out = logits(w, row[:-1])[-VALUE:]
    return torch.nn.functional.cross_entropy(out, row[-VALUE:], reduction="none"), (out.argmax(-1) == row[-VALUE:]).sum().item()


def inside(part, held):
    return bytes(part) in held


def check_layout(number, trial, held):
    tokens, without, depth = trial["tokens"], trial["without"], trial["depth"]
    assert len(tokens) == len(without) == plain.LENGTH, "trial %d: sizes %d %d" % (number, len(tokens), len(without))
    assert abs(depth - (number // TRIALS) / (DEPTHS - 1)) < 1e-12, "trial %d: depth %g" % (number, depth)
    needle = tokens[-KEY - VALUE:]
    assert without[-KEY - VALUE:] == needle, "trial %d: another needle without" % number
    assert inside(without[:-KEY - VALUE], held), "trial %d: text of no held-out" % number
    hay = plain.LENGTH - 2 * (KEY + VALUE)
    at = round(depth * hay)
    assert tokens[at:at + KEY + VALUE] == needle, "trial %d: no needle at %d" % (number, at)
    rest = tokens[:at] + tokens[at + KEY + VALUE:-KEY - VALUE]
    assert rest == without[:hay], "trial %d: other text around the needle" % number
    return needle


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A trained run."""
    made = tmp_path_factory.mktemp("needle")
    (made / "text").write_bytes(plain.text(TEXT))
    plain.run(made, "run", "dense", "fp32", 30, "train.lr=0.003", "kernels=torch")
    return made


def test_trials(folder):
    checkpoint, = (folder / "run/ckpt").glob("step_*")
    w = plain.tensors(checkpoint / "model.safetensors")
    done = evaluate(folder, "--needle", "--each", "--trials", str(TRIALS), "--depths", str(DEPTHS), "kernels=torch")
    assert done.returncode == 0, "exit status %d: %s" % (done.returncode, done.stderr)
    lines = done.stdout.splitlines()
    trials = [json.loads(line) for line in lines if line.startswith("{")]
    said = [line for line in lines if line.startswith("needle: ")]
    assert len(trials) == TRIALS * DEPTHS and len(said) == DEPTHS + 1, "%d trials, %d lines" % (len(trials), len(said))
    text = plain.text(TEXT)
    held = text[len(text) - len(text) // 20:]
    needles, sums = set(), [[0, 0.0, 0.0] for _ in said]
    for number, trial in enumerate(trials):
        needles.add(tuple(check_layout(number, trial, held)))
        for key, tokens in (("losses", "tokens"), ("losses_without", "without")):
            expected, right = losses(w, trial[tokens])
            for ours, theirs in zip(trial[key], expected.tolist()):
                assert abs(ours - theirs) < 2e-5 * max(1, theirs), "trial %d: %s %g, not %g" % (number, key, ours, theirs)
            if tokens == "tokens":
                assert trial["right"] == right, "trial %d: %d right, not %d" % (number, trial["right"], right)
            for row in (sums[number // TRIALS], sums[-1]):
                row[0] += right if tokens == "tokens" else 0
                row[1 if tokens == "tokens" else 2] += expected.sum().item() / 0.6931471805599453
    assert len(needles) == len(trials), "needles are alike"
    for line, (right, bits, without), count in zip(said, sums, [TRIALS * VALUE] * DEPTHS + [TRIALS * VALUE * DEPTHS]):
        found = re.search(r": (\d+) of (\d+) tokens right, ([\d.]+) bits a token, ([\d.]+) without", line)
        assert (found and [int(found[1]), int(found[2])] == [right, count] and
               abs(float(found[3]) - bits / count) < 1e-3 and abs(float(found[4]) - without / count) < 1e-3), line
    other = evaluate(folder, "--needle", "--seed", "2", "--trials", str(TRIALS), "--depths", str(DEPTHS), "kernels=torch")
    assert other.returncode == 0 and other.stdout.splitlines()[-1] != said[-1], "another seed, the same needles"


def test_refusals(folder):
    for options, part in (([], "--hellaswag FILE or --needle"), (["--needle", "--hellaswag", "a.bin"], "both --hellaswag and --needle"),
                          (["--needle", "data.path=" + str(folder / "none")], "does not exist")):
        done = evaluate(folder, *options)
        assert done.returncode == 1 and part in done.stderr and "HINT" in done.stderr, "%s: %s" % (part, done.stderr)


def test_short_texts(tmp_path):
    (tmp_path / "text").write_bytes(plain.text(TEXT))
    plain.run(tmp_path, "run", "dense", "fp32", 1, "kernels=torch", "train.seq_len=32")
    done = evaluate(tmp_path, "--needle")
    assert done.returncode == 1 and "texts of 32 tokens" in done.stderr, "short: " + done.stderr
