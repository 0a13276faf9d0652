# tests/train/needle_test.py - `tessera evaluate --needle` next to a plain PyTorch program.
# SPDX-License-Identifier: Apache-2.0
"""--each prints the tokens of every trial: they are the held-out text with a key and a value inside and at the end, and
the PyTorch program gives the value's tokens the losses that are printed."""
import json
import pathlib
import re
import sys
import tempfile

import torch

import torch_losses as plain
from hellaswag_test import evaluate, failures, expect, logits

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
    expect("trial %d: sizes %d %d" % (number, len(tokens), len(without)), len(tokens) == len(without) == plain.LENGTH)
    expect("trial %d: depth %g" % (number, depth), abs(depth - (number // TRIALS) / (DEPTHS - 1)) < 1e-12)
    needle = tokens[-KEY - VALUE:]
    expect("trial %d: another needle without" % number, without[-KEY - VALUE:] == needle)
    expect("trial %d: text of no held-out" % number, inside(without[:-KEY - VALUE], held))
    hay = plain.LENGTH - 2 * (KEY + VALUE)
    at = round(depth * hay)
    expect("trial %d: no needle at %d" % (number, at), tokens[at:at + KEY + VALUE] == needle)
    rest = tokens[:at] + tokens[at + KEY + VALUE:-KEY - VALUE]
    expect("trial %d: other text around the needle" % number, rest == without[:hay])
    return needle


def check(folder, w):
    done = evaluate(folder, "--needle", "--each", "--trials", str(TRIALS), "--depths", str(DEPTHS), "kernels=torch")
    expect("exit status %d: %s" % (done.returncode, done.stderr), done.returncode == 0)
    lines = done.stdout.splitlines()
    trials = [json.loads(line) for line in lines if line.startswith("{")]
    said = [line for line in lines if line.startswith("needle: ")]
    expect("%d trials, %d lines" % (len(trials), len(said)), len(trials) == TRIALS * DEPTHS and len(said) == DEPTHS + 1)
    text = plain.text(TEXT)
    held = text[len(text) - len(text) // 20:]
    needles, sums = set(), [[0, 0.0, 0.0] for _ in said]
    for number, trial in enumerate(trials):
        needles.add(tuple(check_layout(number, trial, held)))
        for key, tokens in (("losses", "tokens"), ("losses_without", "without")):
            expected, right = losses(w, trial[tokens])
            for ours, theirs in zip(trial[key], expected.tolist()):
                expect("trial %d: %s %g, not %g" % (number, key, ours, theirs), abs(ours - theirs) < 2e-5 * max(1, theirs))
            if tokens == "tokens":
                expect("trial %d: %d right, not %d" % (number, trial["right"], right), trial["right"] == right)
            for row in (sums[number // TRIALS], sums[-1]):
                row[0] += right if tokens == "tokens" else 0
                row[1 if tokens == "tokens" else 2] += expected.sum().item() / 0.6931471805599453
    expect("needles are alike", len(needles) == len(trials))
    for line, (right, bits, without), count in zip(said, sums, [TRIALS * VALUE] * DEPTHS + [TRIALS * VALUE * DEPTHS]):
        found = re.search(r": (\d+) of (\d+) tokens right, ([\d.]+) bits a token, ([\d.]+) without", line)
        expect(line, found and [int(found[1]), int(found[2])] == [right, count] and
               abs(float(found[3]) - bits / count) < 1e-3 and abs(float(found[4]) - without / count) < 1e-3)
    other = evaluate(folder, "--needle", "--seed", "2", "--trials", str(TRIALS), "--depths", str(DEPTHS), "kernels=torch")
    expect("another seed, the same needles", other.returncode == 0 and other.stdout.splitlines()[-1] != said[-1])


def check_refusals(folder):
    for options, part in (([], "--hellaswag FILE or --needle"), (["--needle", "--hellaswag", "a.bin"], "both --hellaswag and --needle"),
                          (["--needle", "data.path=" + str(folder / "none")], "does not exist")):
        done = evaluate(folder, *options)
        expect("%s: %s" % (part, done.stderr), done.returncode == 1 and part in done.stderr and "HINT" in done.stderr)
    plain.run(folder, "run", "dense", "fp32", 1, "kernels=torch", "train.seq_len=32", "resume=never")
    done = evaluate(folder, "--needle")
    expect("short: " + done.stderr, done.returncode == 1 and "texts of 32 tokens" in done.stderr)


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "text").write_bytes(plain.text(TEXT))
        plain.run(folder, "run", "dense", "fp32", 30, "train.lr=0.003", "kernels=torch")
        checkpoint, = (folder / "run/ckpt").glob("step_*")
        check(folder, plain.tensors(checkpoint / "model.safetensors"))
        check_refusals(folder)
    for failure in failures[:20]:
        print(failure)
    print("%d failures" % len(failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
