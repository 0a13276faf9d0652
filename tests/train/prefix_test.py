# tests/train/prefix_test.py - scores of a prefix language model by `tessera evaluate` next to those of a plain PyTorch program.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The context of an ending, and the text before the value of a needle, are the prefix."""
import json

import pytest
import torch
import torch_losses as plain
from dense_model import evaluate, logits
from hellaswag_test import examples, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A trained run and its weights."""
    made = tmp_path_factory.mktemp("prefix")
    (made / "text").write_bytes(plain.text(40000))
    write(made / "a.bin", examples()[:6])
    plain.run(made, "run", "prefix_lm", "fp32", 30, "train.lr=0.003")
    checkpoint, = (made / "run/ckpt").glob("step_*")
    return made, plain.tensors(checkpoint / "model.safetensors")


def losses(w, tokens, count):
    """The losses of the last `count` tokens; all others are the prefix."""
    tokens = torch.tensor(tokens)
    out = logits(w, tokens[:-1], len(tokens) - count)
    return torch.nn.functional.cross_entropy(out[-count:], tokens[-count:], reduction="none")


def lines_of(done, start):
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith(start)]


def test_the_context_of_an_ending_is_the_prefix(folder):
    made, w = folder
    done = evaluate(made, "--hellaswag", str(made / "a.bin"), "--each")
    assert done.returncode == 0, done.stderr
    effect = 0.0
    for (context, endings, _), line in zip(examples()[:6], done.stdout.splitlines()):
        for ours, ending in zip(map(float, line.split()[2:]), endings, strict=True):
            want = losses(w, context + ending, len(ending)).mean().item()
            causal = torch.nn.functional.cross_entropy(logits(w, torch.tensor(context + ending)[:-1])[-len(ending):],
                                                       torch.tensor(ending)).item()
            assert abs(ours - want) < 2e-5 * want
            effect = max(effect, abs(causal - want) / want)
    assert effect > 1e-4  # causal attention has other losses


def test_the_text_before_a_value_is_the_prefix(folder):
    made, w = folder
    done = evaluate(made, "--needle", "--each", "--trials", "2", "--depths", "2")
    trials = [json.loads(line) for line in lines_of(done, "{")]
    assert len(trials) == 4
    for trial in trials:
        for ours, tokens in (("losses", "tokens"), ("losses_without", "without")):
            want = losses(w, trial[tokens], 8)
            assert (torch.tensor(trial[ours]) - want).abs().max() < 2e-5 * max(1, want.max().item())
