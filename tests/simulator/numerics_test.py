# tests/simulator/numerics_test.py - Triton's PTX has the signs of zeros and the roundings that docs/numerics.md describes.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""tests/python/numerics_test.py has the same cases for ours. Triton's interpreter computes with the bits of bfloat16 as integers."""
import pytest
import simulator
from simulator import torch, triton

tl = triton.language


@triton.jit
def negated(X, Y, ZERO: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, -tl.load(X + i))
    tl.store(Y + N, -tl.load(X))
    tl.store(Y + N + 1, -ZERO)


@triton.jit
def converted(X, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.load(X + i).to(Y.dtype.element_ty))


def launch(kernel, *tensors, **constexprs):
    simulator.launch_triton(kernel, (1, 1, 1), list(tensors), constexprs, dict(num_warps=1, num_stages=1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_the_negation_of_zero(dtype):
    x, y = torch.tensor([0.0, -0.0, 1.5, -2.0], dtype=dtype), torch.ones(6, dtype=dtype)
    launch(negated, x, y, ZERO=0.0, N=4)
    assert y.tolist() == [0.0, 0.0, -1.5, 2.0, 0.0, 0.0]
    # Triton has no compile-time -0.0: the last one is +0.0.
    assert torch.signbit(y.double()).tolist() == [False, False, True, False, False, False]


@pytest.mark.parametrize("integers", [torch.int32, torch.int64])
def test_integers_become_bfloat16_by_way_of_float32(integers):
    x, y = torch.tensor([2**25 + 2**17 + 1, 2**25 + 2**17 - 1, 2**25 + 3 * 2**17 - 1, 2**31 - 1], dtype=integers), torch.empty(4, dtype=torch.bfloat16)
    launch(converted, x, y, N=4)
    assert torch.equal(y, x.float().bfloat16())
    assert y[0] == 2**25
