# tests/train/schedules_test.py - a run with schedules of batch and length next to a plain PyTorch program.
# SPDX-License-Identifier: Apache-2.0
"""The PyTorch program cuts the sequences of every step from the text, in order and with the sizes below, and trains on them from
the run's first weights; the losses of every step must agree."""
import json
import math

import pytest
import torch
import torch_losses as plain

STEPS, RATE = 24, 0.001
# Sequences and tokens of a sequence of each step, counted from 1.
SIZES = {**{step: (8, 32) for step in range(1, 9)}, **{step: (3, 64) for step in range(9, 17)}, **{step: (4, 128) for step in range(17, 25)}}
SCHEDULES = ("train.batch_schedule=[1:8, 9:3, 17:4]", "train.length_schedule=[1:32, 9:64, 17:128]", "train.lr_schedule=linear")


def starts():
    """First tokens of the sequences of each step. A sequence begins at a multiple of its length."""
    at, result = 0, {}
    for step, (batch, length) in SIZES.items():
        at = -(-at // length) * length
        result[step] = [at + i * length for i in range(batch)]
        at += batch * length
    return result


def losses(weights, data, attention, monkeypatch):
    masters = {name: value.clone().requires_grad_(True) for name, value in weights.items()}
    matrices = [value for name, value in masters.items() if value.dim() >= 2 and ".gate." not in name]
    others = [value for name, value in masters.items() if not (value.dim() >= 2 and ".gate." not in name)]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": plain.DECAY}, {"params": others, "weight_decay": 0.0}],
                                  lr=RATE, betas=(0.9, 0.95), eps=1e-8)
    found = []
    for step, firsts in starts().items():
        monkeypatch.setattr(plain, "BATCH", SIZES[step][0])
        monkeypatch.setattr(plain, "LENGTH", SIZES[step][1])
        tokens, targets = (torch.cat([torch.tensor(list(data[s + more:s + more + plain.LENGTH])) for s in firsts]) for more in (0, 1))
        logits, _ = plain.forward(masters, tokens, attention, plain.Sequences())
        loss = torch.nn.functional.cross_entropy(logits, targets)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(masters.values()), plain.CLIP)
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(step / 4, (STEPS - step + 1) / (STEPS - 4))
        optimizer.step()
        found.append(loss.item() / math.log(2))
    return found


@pytest.mark.parametrize("attention, kernels", (("dense", "torch"), ("nsa", "tessera")))
def test_losses(tmp_path, monkeypatch, attention, kernels):
    data = plain.text(40000)
    (tmp_path / "text").write_bytes(data)
    settings = (*SCHEDULES, "train.warmup=4", "kernels=" + kernels)
    # A step at a rate of zero leaves the first weights.
    plain.run(tmp_path, "first", attention, "fp32", 1, *settings, "train.lr=0")
    weights = plain.tensors(tmp_path / "first/ckpt/step_00000001/model.safetensors")
    plain.run(tmp_path, "run", attention, "fp32", STEPS, *settings, "train.lr=%r" % RATE)
    records = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    ours = [record["bpb"] for record in records if "bpb" in record]
    theirs = losses(weights, data, attention, monkeypatch)
    assert len(ours) == STEPS
    for step, (a, b) in enumerate(zip(ours, theirs), 1):
        assert abs(a - b) < 1e-5 * b, "step %d: %.7f, not %.7f" % (step, a, b)
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    assert metrics["tokens"] == sum(batch * length for batch, length in SIZES.values())
    assert metrics["kernels_compiled_after_step_1"] == 0
