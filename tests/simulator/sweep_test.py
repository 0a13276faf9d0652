# tests/simulator/sweep_test.py - every NSA and dense kernel as our own PTX over warps, stages and types, against fp64.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Packed sequences (one of them empty, one of a single token), two key heads of three query heads each; the loops over keys have fewer
iterations than the pipeline has stages, as many, and more.

test_forward and test_backward run each kernel with each number of warps in each type, and with each number of stages; test_all_forward and
test_all_backward with each of both."""
import dataclasses

import pytest
import simulator_launcher as launcher
from simulator_launcher import torch

import backward_test  # after simulator_launcher, which then launches its kernels
import cases
import forward_test

FP32, BF16 = torch.float32, torch.bfloat16
SHAPE = cases.Shape([21, 0, 70, 1], hkv=2, group=3, dim=32, vdim=16, l=8, d=4, lsel=16, n=4, w=24, bn=16)


def sweep(rows):
    """A case for each (warps, stages, type)."""
    return pytest.mark.parametrize("warps, stages, dtype", [
        pytest.param(*row, id=f"{row[0]}-{row[1]}-{'fp32' if row[2] == FP32 else 'bf16'}") for row in rows])


some = sweep([(1, 1, FP32), (4, 2, BF16), (8, 3, FP32), (1, 4, BF16), (4, 5, FP32), (8, 1, BF16)])
every = sweep([(warps, stages, dtype) for warps in (1, 4, 8) for stages in range(1, 6) for dtype in (FP32, BF16)])


def shape(warps, stages, dtype):
    """Selects the options; a shape with rows enough for each warp."""
    launcher.use("ieee", warps, stages, compiler="tessera")
    return dataclasses.replace(SHAPE, dtype=dtype, bm=16 * max(2, warps // 2))


@some
def test_forward(warps, stages, dtype):
    forward_test.forward(shape(warps, stages, dtype))


@some
def test_backward(warps, stages, dtype):
    backward_test.backward(shape(warps, stages, dtype))


@every
def test_all_forward(warps, stages, dtype):
    forward_test.forward(shape(warps, stages, dtype))


@every
def test_all_backward(warps, stages, dtype):
    backward_test.backward(shape(warps, stages, dtype))
