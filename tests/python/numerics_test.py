"""tests/python/numerics_test.py - the signs of zeros, the roundings and the offsets of pointers that docs/numerics.md describes.

SPDX-License-Identifier: Apache-2.0
"""
import pytest
import tessera
import tessera.language as tl
import torch

FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
# Halfway between two numbers of bfloat16 up to less than half a unit of float32; what neither rounds; the largest.
NEAR_TIES = [2**25 + 2**17 + 1, 2**25 + 2**17 - 1, 2**25 + 3 * 2**17 - 1, -(2**25 + 2**17 + 1), 2**30 + 2**22 + 1, 257, -3, 2**31 - 1]


@tessera.jit
def negated(X, Y, ZERO: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, -tl.load(X + i))
    tl.store(Y + N, -tl.load(X))
    tl.store(Y + N + 1, -ZERO)
    tl.store(Y + N + 2, -0.0)


@tessera.jit
def converted(X, Y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.load(X + i).to(Y.dtype.element_ty))


@tessera.jit
def steps_back(X, STEPS, Y, START: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(Y + i, tl.load(X + START + i - tl.load(STEPS + i)))
    moved = X + START + N
    moved -= tl.load(STEPS + N - 1)
    tl.store(Y + N, tl.load(moved))


def signs(x):
    return torch.signbit(x.double()).tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_negation_of_zero(dtype):
    """`-x` changes the sign of every zero, as Python's negation of compile-time values does."""
    x, y = torch.tensor([0.0, -0.0, 1.5, -2.0], dtype=dtype), torch.ones(7, dtype=dtype)
    negated[(1,)](x, y, 0.0, 4)
    assert y.tolist() == [0.0, 0.0, -1.5, 2.0, 0.0, 0.0, 0.0]
    assert signs(y) == [True, False, True, False, True, True, True]


@pytest.mark.parametrize("integers", [torch.int32, torch.int64])
def test_integers_become_bfloat16_by_way_of_float32(integers):
    x, y = torch.tensor(NEAR_TIES, dtype=integers), torch.empty(8, dtype=torch.bfloat16)
    converted[(1,)](x, y, 8)
    assert torch.equal(y, x.float().bfloat16())
    assert y[0] == 2**25, "one rounding would give 2^25 + 2^18"


STEPS_BACK = {
    torch.bool: [0, 1], torch.uint8: [0, 1, 127, 128, 255], torch.int8: [0, 1, -1, 127, -128], torch.uint16: [1, 3, 300],
    torch.int16: [-1, 2, -300, 300], torch.uint32: [0, 1, 300], torch.int32: [-300, 300], torch.uint64: [1, 300], torch.int64: [-300, 300]
}


@pytest.mark.parametrize("dtype", STEPS_BACK, ids=str)
def test_a_pointer_minus_a_short_integer(dtype):
    """The offset is widened before it is negated: -1 of an unsigned integer and 128 of int8 do not fit into the type."""
    n, start = 16, 512
    steps = (STEPS_BACK[dtype] * n)[:n - 1] + STEPS_BACK[dtype][-1:]
    x, y = torch.arange(1024, dtype=torch.int32) * 3, torch.zeros(n + 1, dtype=torch.int32)
    steps_back[(1,)](x, torch.tensor(steps, dtype=dtype), y, start, n)
    expected = [3 * (start + i - int(step)) for i, step in enumerate([*steps, steps[-1]])]
    assert y.tolist() == expected


def test_integers_of_64_bits_become_float32_at_once():
    x, y = torch.tensor([2**60 + 2**36 + 1, 2**60 + 2**36 - 1, 2**53 + 1, -(2**60 + 2**36 + 1)]), torch.empty(4)
    converted[(1,)](x, y, 4)
    assert y.tolist() == [2**60 + 2**37, 2**60, 2**53, -(2**60 + 2**37)]
