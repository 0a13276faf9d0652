# tests/train/dense_model.py - the dense or prefix model of torch_losses.py on one sequence, and `tessera evaluate` on a run of it.
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess

import nsa_reference as reference
import torch
import torch_losses as plain

TRAIN = os.environ["TRAIN_PROGRAM"]
torch.set_num_threads(1)


def evaluate(folder, *more):
    return subprocess.run([TRAIN, "evaluate", "--run", str(folder / "run"), *more],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def attend(q, k, v, prefix=0):
    """Attention [T, heads, d] of one sequence, causal after the prefix."""
    group = q.shape[1] // k.shape[1]
    q, k, v = q.transpose(0, 1), k.repeat_interleave(group, 1).transpose(0, 1), v.repeat_interleave(group, 1).transpose(0, 1)
    hidden = torch.ones(q.shape[1], q.shape[1]).triu(1).bool() & (torch.arange(q.shape[1]) >= prefix)
    scores = (q @ k.transpose(1, 2) / q.shape[-1] ** 0.5).masked_fill(hidden, -torch.inf)
    return (scores.softmax(-1) @ v).transpose(0, 1)


def logits(w, tokens, prefix=0):
    """Of one sequence by the dense model, or by a model with full attention inside a prefix."""
    positions = torch.arange(len(tokens))
    x = w["embedding"][tokens]
    size, turned = plain.SIZE, plain.HEADS + plain.GROUPS
    for i in range(plain.LAYERS):
        at = {name.split(".", 2)[2]: value for name, value in w.items() if name.startswith("blocks.%d." % i)}
        projected = plain.norm(x, at["attention.norm"]) @ at["attention.qkv"].T
        rotated = reference.rope(projected[:, :turned * size].reshape(-1, turned, size), positions, 10000.0, size)
        values = projected[:, turned * size:].reshape(-1, plain.GROUPS, size)
        output = attend(rotated[:, :plain.HEADS], rotated[:, plain.HEADS:], values, prefix)
        x = x + output.reshape(len(tokens), -1) @ at["attention.output"].T
        x = x + (plain.norm(x, at["mlp.norm"]) @ at["mlp.in"].T).relu().square() @ at["mlp.out"].T
    return plain.norm(x, w["norm"]) @ w["head"].T
