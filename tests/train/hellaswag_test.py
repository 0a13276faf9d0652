# tests/train/hellaswag_test.py - scores of `tessera evaluate --hellaswag` next to those of a plain PyTorch program.
# SPDX-License-Identifier: Apache-2.0
"""Examples of our own are written as llm.c's dev/data/hellaswag.py writes its file. The PyTorch side is the model of
torch_losses.py, which takes each context with each ending alone, without padding."""
import json
import random
import struct
import subprocess

import pytest
import torch
import torch_losses as plain
from dense_model import TRAIN, evaluate, logits

EXAMPLES = 24


def examples():
    draw = random.Random(5)
    text = plain.text(60000)

    def piece(size):
        start = draw.randrange(len(text) - size)
        return list(text[start:start + size])

    # The last one is longer than the 128 tokens that the model has seen.
    made = [(piece(draw.randrange(1, 60)), [piece(draw.randrange(1, 40)) for _ in range(4)], draw.randrange(4)) for _ in range(EXAMPLES - 1)]
    return made + [(piece(120), [piece(20), piece(30), piece(9), piece(10)], 1)]


def write(path, rows):
    stream, longest = b"", 0
    for number, (context, endings, label) in enumerate(rows):
        values = [65535, 0, number, label, len(endings), len(context), *context]
        for ending in endings:
            values += [len(ending), *ending]
        values[1] = 2 * len(values)
        longest = max(longest, values[1])
        stream += struct.pack("<%dH" % len(values), *values)
    path.write_bytes(struct.pack("<256i", 20240522, 1, len(rows), longest, *[0] * 252) + stream)


def score(w, context, ending):
    """Sum of the losses of the ending's tokens."""
    tokens = torch.tensor(context + ending)[-plain.LENGTH - 1:]
    out = logits(w, tokens[:-1])
    return torch.nn.functional.cross_entropy(out[-len(ending):], tokens[-len(ending):], reduction="sum").item()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A trained run and files of examples: of b.bin one has a token that the model does not have."""
    made = tmp_path_factory.mktemp("hellaswag")
    (made / "text").write_bytes(plain.text(40000))
    write(made / "a.bin", examples())
    rows = examples()[:3]
    rows[2][1][3][0] = 50256
    write(made / "b.bin", rows)
    plain.run(made, "run", "dense", "fp32", 30, "train.lr=0.003", "kernels=torch")
    return made


def test_scores(folder):
    checkpoint, = (folder / "run/ckpt").glob("step_*")
    w, rows = plain.tensors(checkpoint / "model.safetensors"), examples()
    done = evaluate(folder, "--hellaswag", str(folder / "a.bin"), "--each", "kernels=torch")
    assert done.returncode == 0, "exit status %d: %s" % (done.returncode, done.stderr)
    lines = done.stdout.splitlines()
    assert len(lines) == EXAMPLES + 2, "%d lines" % len(lines)
    right = by_sum = 0
    for number, ((context, endings, label), line) in enumerate(zip(rows, lines)):
        cut = max(0, len(context) + max(map(len, endings)) - plain.LENGTH)
        sums = [score(w, context[cut:], ending) for ending in endings]
        means = [total / len(ending) for total, ending in zip(sums, endings)]
        chosen = min(range(4), key=means.__getitem__)
        right += chosen == label
        by_sum += min(range(4), key=sums.__getitem__) == label
        seen = line.split()
        assert seen[:2] == [str(label), str(chosen)], "example %d: label and choice %s, not %d %d" % (number, seen[:2], label, chosen)
        for ours, theirs in zip(map(float, seen[2:]), means):
            assert abs(ours - theirs) < 2e-5 * theirs, "example %d: loss %g, not %g" % (number, ours, theirs)
    assert (lines[-2] == "hellaswag: %d of %d right, %.2f%% by the loss of a token (acc_norm), %.2f%% by that of "
           "the ending (acc)" % (right, EXAMPLES, 100 * right / EXAMPLES, 100 * by_sum / EXAMPLES)), "summary: " + lines[-2]
    assert lines[-1].startswith("1 contexts lost"), "cut: " + lines[-1]


def chosen(w, rows):
    """How many are right by the loss of a token and by that of the ending."""
    right = by_sum = 0
    for context, endings, label in rows:
        cut = max(0, len(context) + max(map(len, endings)) - plain.LENGTH)
        sums = [score(w, context[cut:], ending) for ending in endings]
        right += min(range(4), key=lambda i: sums[i] / len(endings[i])) == label
        by_sum += min(range(4), key=sums.__getitem__) == label
    return right, by_sum


def test_scores_during_a_run(folder):
    """Scores of a run on its way are those of the checkpoints of the same steps, and no weight is another for them."""
    settings = ("train.lr=0.003", "kernels=torch", "train.save_every=10", "train.keep=9")
    plain.run(folder, "plain", "dense", "fp32", 30, *settings)
    plain.run(folder, "scored", "dense", "fp32", 30, *settings, "train.hellaswag=" + str(folder / "a.bin"),
              "train.hellaswag_every=10", "train.hellaswag_limit=16")
    last = "ckpt/step_00000030/model.safetensors"
    assert (folder / "plain" / last).read_bytes() == (folder / "scored" / last).read_bytes(), "weights differ"
    records = [json.loads(line) for line in (folder / "scored/metrics.jsonl").read_text().splitlines()]
    records = [record for record in records if "val_hellaswag_acc_norm" in record]
    assert [record["step"] for record in records] == [10, 20], "records: %s" % records
    final = json.loads((folder / "scored/metrics.json").read_text())
    seen = [(10, record) for record in records[:1]] + [(20, record) for record in records[1:]] + [(30, final)]
    for step, record in seen:
        right, by_sum = chosen(plain.tensors(folder / ("scored/ckpt/step_%08d/model.safetensors" % step)), examples()[:16])
        assert record["val_hellaswag_examples"] == 16, step
        assert (record["val_hellaswag_acc_norm"], record["val_hellaswag_acc"]) == (right / 16, by_sum / 16), step


def test_refused_runs(folder):
    """Before the first step, and nothing of the folder is changed."""
    for settings, part in ((["train.hellaswag=" + str(folder / "none.bin")], "none.bin"),
                           (["train.hellaswag=" + str(folder / "b.bin")], "example 2 has the token 50256"),
                           (["train.hellaswag_every=5"], "train.hellaswag names none")):
        done = subprocess.run([TRAIN, "train", "kernels=torch", "data.path=" + str(folder / "text"),
                               "out=" + str(folder / "refused"), "panel=false", *settings],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 1 and part in done.stderr and "HINT" in done.stderr, "%s: %s" % (part, done.stderr)
        assert not (folder / "refused/metrics.jsonl").exists(), "%s: a run began" % part


def test_refusals(folder):
    for options, part in (("--hellaswag", str(folder / "b.bin")), "example 2 has the token 50256"), \
                         (("--hellaswag", str(folder / "text")), "no examples in llm.c's format"), \
                         (("--hellaswag", str(folder / "none.bin")), "none.bin"):
        done = evaluate(folder, *options, "kernels=torch")
        assert done.returncode == 1 and part in done.stderr and "HINT" in done.stderr, "%s: %s" % (part, done.stderr)
    done = evaluate(folder, "--hellaswag", str(folder / "b.bin"), "--limit", "2", "kernels=torch")
    assert " of 2 right" in done.stdout, "two examples: " + done.stdout + done.stderr
