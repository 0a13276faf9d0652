# tests/train/normuon_test.py - the updates of train.muon_normalize, computed from the gradients that two checkpoints show.
# SPDX-License-Identifier: Apache-2.0
"""A run saves a checkpoint after each step. The momenta of two checkpoints in a row give the gradient of the step between them,
and NorMuon's formula (arXiv:2510.05491) in fp64 gives the update and the second moments of rows from it."""
import numpy
import torch_losses as plain

STEPS, RATE, MOMENTUM, BETA2, DECAY, FACTOR = 5, 0.02, 0.9, 0.8, 0.1, 0.003
STACKS = {"attention.qkv": (plain.HEADS * plain.SIZE, plain.GROUPS * plain.SIZE, plain.GROUPS * plain.SIZE)}
MATRICES = ("attention.qkv", "attention.output", "mlp.in", "mlp.out")


def orthogonal(x):
    x = x / numpy.linalg.norm(x)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x - 4.7750 * gram @ x + 2.0315 * gram @ gram @ x
    return x


def update(ahead, second):
    """Update of one matrix, and the mean squares of its rows after the step."""
    x = orthogonal(ahead)
    second = BETA2 * second + (1 - BETA2) * numpy.mean(x * x, axis=1)
    scaled = x / numpy.sqrt(second)[:, None]
    rows, columns = x.shape
    return scaled * numpy.linalg.norm(x) / numpy.linalg.norm(scaled) * max(1.0, rows / columns) ** 0.5, second


def test_updates(tmp_path):
    (tmp_path / "text").write_bytes(plain.text(20000))
    plain.run(tmp_path, "run", "dense", "fp32", STEPS, "kernels=torch", "train.optimizer=muon", "train.muon_normalize=true",
              "train.lr=%r" % FACTOR, "train.lr_schedule=constant", "train.warmup=0", "train.muon_lr=%r" % RATE,
              "train.muon_momentum=%r" % MOMENTUM, "train.muon_beta2=%r" % BETA2, "train.weight_decay=%r" % DECAY,
              "train.save_every=1", "train.keep=99")

    def stored(step, name):
        return {key: value.double().numpy() for key, value in plain.tensors(tmp_path / ("run/ckpt/step_%08d" % step) / name).items()}

    for step in range(2, STEPS + 1):
        before, after = stored(step - 1, "model.safetensors"), stored(step, "model.safetensors")
        old, new = stored(step - 1, "optimizer.safetensors"), stored(step, "optimizer.safetensors")
        for name in ("blocks.%d.%s" % (layer, matrix) for layer in range(plain.LAYERS) for matrix in MATRICES):
            momentum = new[name + ".first"]
            gradient = (momentum - MOMENTUM * old[name + ".first"]) / (1 - MOMENTUM)
            ahead = (1 - MOMENTUM) * gradient + MOMENTUM * momentum
            first = 0
            for rows in STACKS.get(name.split(".", 2)[2], (len(ahead),)):
                part = slice(first, first + rows)
                first += rows
                want, second = update(ahead[part], old[name + ".second"][part])
                got = (before[name][part] * (1 - RATE * DECAY) - after[name][part]) / RATE
                assert numpy.abs(got - want).max() < 1e-3 * numpy.abs(want).max(), (name, step)
                assert numpy.allclose(new[name + ".second"][part], second, rtol=1e-3), (name, step)
