# tests/train/yarn_test.py - a model beyond its trained length, next to a plain PyTorch program with scaled positions.
# SPDX-License-Identifier: Apache-2.0
"""A dense model is trained on 128 tokens. With positions scaled four times, linearly and by YaRN, the losses of endings
after contexts of up to 400 tokens are those of the PyTorch side, and so is every byte that is drawn up to 420 tokens.
Frequencies are computed here from the papers' formulas in terms of wavelengths."""
import math
import random
import subprocess

import dense_model
import pytest
import torch
import torch_losses as plain
from dense_model import TRAIN, evaluate, logits
from hellaswag_test import write

SCALE, PROMPT, DRAWN = 4, "the tile of stone ", 400


def frequencies(scaling, size):
    """Radians a token of each pair, and what queries and keys are multiplied by."""
    own = [10000.0 ** (-2 * i / size) for i in range(size // 2)]
    if scaling == "none":
        return own, 1.0
    if scaling == "linear":
        return [f / SCALE for f in own], 1.0

    def pair(turns):
        # The wavelength 2 pi 10000^(2 i / size) fits so often into the trained length.
        return size / 2 * math.log(plain.LENGTH / (2 * math.pi * turns), 10000.0)

    low, high = max(0, math.floor(pair(32))), min(size - 1, math.ceil(pair(1)))
    ramp = [min(1.0, max(0.0, (i - low) / (high - low))) for i in range(size // 2)]
    return [(1 - r) * f + r * f / SCALE for f, r in zip(own, ramp)], 0.1 * math.log(SCALE) + 1


def rope_of(scaling):
    def rope(x, position, base, rotated):
        assert base == 10000.0 and rotated == x.shape[-1]
        frequency, magnitude = frequencies(scaling, rotated)
        angle = (position[:, None].double() * torch.tensor(frequency, dtype=torch.double))[:, None]
        cosine, sine = angle.cos().float(), angle.sin().float()
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cosine - b * sine, a * sine + b * cosine), -1).flatten(-2) * magnitude
    return rope


def settings(scaling):
    return [] if scaling == "none" else ["model.rope_scaling=" + scaling, "model.rope_scale=%d" % SCALE]


def long_examples():
    draw = random.Random(9)
    text = plain.text(60000)

    def piece(size):
        start = draw.randrange(len(text) - size)
        return list(text[start:start + size])

    return [(piece(size), [piece(8) for _ in range(4)], 0) for size in (100, 200, 300, 400)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A trained run, and the examples."""
    made = tmp_path_factory.mktemp("yarn")
    (made / "text").write_bytes(plain.text(40000))
    plain.run(made, "run", "dense", "fp32", 60, "train.lr=0.003", "kernels=torch")
    write(made / "long.bin", long_examples())
    return made


@pytest.fixture(params=("linear", "yarn"))
def scaling(request, monkeypatch):
    """The kind; the PyTorch program has it, too."""
    monkeypatch.setattr(dense_model.reference, "rope", rope_of(request.param))
    return request.param


@pytest.fixture(scope="module")
def w(folder):
    checkpoint, = (folder / "run/ckpt").glob("step_*")
    return plain.tensors(checkpoint / "model.safetensors")


def test_endings(folder, w, scaling):
    done = evaluate(folder, "--hellaswag", str(folder / "long.bin"), "--each", "kernels=torch", *settings(scaling))
    assert done.returncode == 0 and "lost their first tokens" not in done.stdout, "%s: %s" % (scaling, done.stderr)
    for (context, endings, _), line in zip(long_examples(), done.stdout.splitlines()):
        for ours, ending in zip(map(float, line.split()[2:]), endings):
            tokens = torch.tensor(context + ending)
            theirs = torch.nn.functional.cross_entropy(logits(w, tokens[:-1])[-len(ending):], tokens[-len(ending):]).item()
            assert abs(ours - theirs) < 2e-5 * theirs, "%s, %d tokens: loss %g, not %g" % (scaling, len(tokens), ours, theirs)


def test_drawn(folder, w, scaling):
    done = subprocess.run([TRAIN, "generate", "--run", str(folder / "run"), "--prompt", PROMPT, "--tokens",
                           str(DRAWN), "--temperature", "0", *settings(scaling)], stdout=subprocess.PIPE, check=True)
    drawn = done.stdout[len(PROMPT):len(PROMPT) + DRAWN]
    tokens = torch.tensor(list(PROMPT.encode() + drawn))
    # Each byte is the likeliest one after those before it; where two are as likely, either.
    out = logits(w, tokens[:-1])[len(PROMPT) - 1:]
    taken = out.gather(1, tokens[len(PROMPT):, None])[:, 0]
    assert len(drawn) == DRAWN, "%s: %d bytes drawn" % (scaling, len(drawn))
    assert float((out.amax(1) - taken).max()) < 1e-4, "%s: byte %d is not the likeliest" % (scaling, int((out.amax(1) - taken).argmax()))


def test_yarn_is_not_linear(folder):
    linear, yarn = (evaluate(folder, "--hellaswag", str(folder / "long.bin"), "--each", "kernels=torch", *settings(scaling)).stdout
                    for scaling in ("linear", "yarn"))
    assert linear != yarn
