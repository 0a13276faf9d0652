# tests/train/learning_rate_test.py - the learning rate of every step, as it was logged and as the weights show it.
# SPDX-License-Identifier: Apache-2.0
"""A run saves a checkpoint after each step. From two checkpoints in a row and AdamW's formula follows the rate of the step
between them; it must be that of the schedule, computed here by itself. The files are read by the format's specification."""
import json
import math
import os
import struct
import subprocess

import numpy

STEPS, MORE, WARMUP, RATE, LAST, DECAY, BETA1, BETA2, EPSILON = 12, 17, 4, 0.003, 0.0005, 0.1, 0.9, 0.95, 1e-8


def expect(what, got, want, tolerance):
    assert abs(got - want) <= tolerance * abs(want), "%s: %r, not %r" % (what, got, want)


def schedule(step, rate=RATE, steps=STEPS):
    """Of the step with that number, counted from 1."""
    if step <= WARMUP:
        return rate * step / WARMUP
    return LAST + (rate - LAST) * (1 + math.cos(math.pi * (step - 1 - WARMUP) / (steps - WARMUP))) / 2


def tensors(path):
    data = path.read_bytes()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    result = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32", name
        first, last = entry["data_offsets"]
        result[name] = numpy.frombuffer(data[8 + length + first:8 + length + last], "<f4").astype(float).reshape(entry["shape"])
    return result


def train(out, *more):
    run = subprocess.run(
        [os.environ["TRAIN_PROGRAM"], "train", "kernels=torch", "panel=false", "threads=1", "data.path=" + out + ".txt", "out=" + out,
         "model.dim=32", "model.layers=1", "model.heads=2", "model.kv_heads=1", "model.key_dim=16", "model.value_dim=16",
         "model.mlp_dim=64", "nsa.l=8", "nsa.d=4", "nsa.l_sel=16", "nsa.n_sel=4", "nsa.w=16", "train.seq_len=32",
         "train.batch_size=2", "train.final_windows=4", "train.log_every=1", "train.save_every=1", "train.keep=99",
         "train.steps=%d" % STEPS, "train.warmup=%d" % WARMUP, "train.lr_final=%r" % LAST, "train.weight_decay=%r" % DECAY,
         "train.beta1=%r" % BETA1, "train.beta2=%r" % BETA2, "train.eps=%r" % EPSILON, *more], stderr=subprocess.PIPE, text=True)
    assert run.returncode == 0, run.stderr


def check(run, rates):
    """rates[n]: of step n."""
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    logged = {record["step"]: record["lr"] for record in records if "lr" in record}
    assert sorted(logged) == sorted(rates)
    for step, rate in rates.items():
        expect("logged rate of step %d" % step, logged[step], rate, 1e-12)
        if step == 1:
            continue  # no checkpoint before it
        before = tensors(run / ("ckpt/step_%08d" % (step - 1)) / "model.safetensors")
        after = tensors(run / ("ckpt/step_%08d" % step) / "model.safetensors")
        moments = tensors(run / ("ckpt/step_%08d" % step) / "optimizer.safetensors")
        for matrices in (True, False):
            above = below = 0.0
            for name, weights in before.items():
                if (weights.ndim >= 2 and ".gate." not in name) != matrices:
                    continue
                expect("count of steps of " + name, moments[name + ".steps"], step, 0)
                first = moments[name + ".first"] / (1 - BETA1 ** step)
                second = moments[name + ".second"] / (1 - BETA2 ** step)
                direction = first / (numpy.sqrt(second) + EPSILON) + (DECAY if matrices else 0) * weights
                above += float((direction * (weights - after[name])).sum())
                below += float((direction * direction).sum())
            expect("rate that moved the %s in step %d" % ("matrices" if matrices else "rest", step), above / below, rate, 1e-3)


def test_rates_of_a_run_that_is_resumed_and_extended(tmp_path):
    run = tmp_path / "run"
    words = ["the ", "tile ", "of ", "stone\n", "is ", "laid ", "upon ", "a ", "floor. "]
    state, text = 1, ""
    while len(text) < 20000:
        state = (state * 1664525 + 1013904223) % 2 ** 32
        text += words[(state >> 16) % len(words)]
    (tmp_path / "run.txt").write_text(text)
    train(str(run), "train.lr=%r" % RATE)
    check(run, {step: schedule(step) for step in range(1, STEPS + 1)})
    # Half the rate from step 8 on, which a resumed run may change.
    (run / "metrics.json").unlink()
    for step in range(8, STEPS + 1):
        (run / ("ckpt/step_%08d/DONE" % step)).unlink()
    train(str(run), "train.lr=%r" % (RATE / 2))
    rates = {step: schedule(step, RATE if step < 8 else RATE / 2) for step in range(1, STEPS + 1)}
    check(run, rates)
    # Now that it is finished, it is extended: what is left has the rates of the longer run.
    train(str(run), "train.lr=%r" % (RATE / 2), "train.steps=%d" % MORE)
    check(run, {step: rates.get(step, schedule(step, RATE / 2, MORE)) for step in range(1, MORE + 1)})
