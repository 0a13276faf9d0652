# tests/python/gather_test.py - tl.gather along axes that registers, lanes and warps hold.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Against numpy's take_along_axis. On GPUs, lanes exchange the elements where a warp holds the axis, and shared memory passes them on
elsewhere; the shapes and numbers of warps reach both."""
import numpy
import pytest
import tessera
import tessera.language as tl
import torch

SHAPES = [(64, 4), (4, 64), (8, 32), (32, 8), (128, 2), (2, 16), (16, 1)]


@tessera.jit
def by_indices(X, IDX, OUT, AXIS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(OUT + at, tl.gather(tl.load(X + at), tl.load(IDX + at), AXIS))


@tessera.jit
def turned(X, OUT, by, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The second of each pair of X [ROWS, COLUMNS, 2], rotated by `by` columns: the indices depend on the position alone."""
    row, column = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    at = row * COLUMNS + column
    pair = tl.load(X + at[:, :, None] * 2 + tl.arange(0, 2)[None, None, :])
    first, last = tl.split(pair)
    tl.store(OUT + at, tl.gather(last, tl.broadcast_to((column + by) % COLUMNS, (ROWS, COLUMNS)), 1) - first)


@tessera.jit
def after_product(A, B, OUT, by, N: tl.constexpr):
    """The columns of a b, rotated by `by`; the operand has the layout of a product."""
    i, j = tl.arange(0, 16)[:, None], tl.arange(0, N)[None, :]
    k = tl.arange(0, 16)
    c = tl.dot(tl.load(A + i * 16 + k[None, :]), tl.load(B + k[:, None] * N + j))
    tl.store(OUT + i * N + j, tl.gather(c, tl.broadcast_to((j + by) % N, (16, N)), 1))


@pytest.mark.parametrize("rows, columns", SHAPES)
@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16, torch.int64, torch.int8), ids=str)
def test_by_indices(rows, columns, dtype):
    generator = torch.Generator().manual_seed(rows)
    x = torch.randint(-100, 100, (rows, columns), generator=generator).to(dtype)
    for axis, size in ((0, rows), (1, columns)):
        index = torch.randint(0, size, (rows, columns), generator=generator, dtype=torch.int32)
        for warps in (1, 4):
            out = torch.zeros_like(x)
            by_indices[(1,)](x, index, out, AXIS=axis, ROWS=rows, COLUMNS=columns, num_warps=warps)
            assert torch.equal(out, torch.gather(x, axis, index.long())), (axis, warps)


@pytest.mark.parametrize("rows, columns", SHAPES)
def test_turned(rows, columns):
    x = torch.arange(rows * columns * 2, dtype=torch.float32).reshape(rows, columns, 2) ** 2
    for by in (0, 1, columns - 1):
        out = torch.zeros(rows, columns)
        turned[(1,)](x, out, by, ROWS=rows, COLUMNS=columns, num_warps=4)
        expected = numpy.roll(x[:, :, 1].numpy(), -by, 1) - x[:, :, 0].numpy()
        assert numpy.array_equal(out.numpy(), expected), by


@pytest.mark.parametrize("columns", (8, 16, 32))
def test_after_product(columns):
    a, b = torch.randn(16, 16), torch.randn(16, columns)
    out = torch.zeros(16, columns)
    after_product[(1,)](a, b, out, 3, N=columns, num_warps=2)
    same = torch.zeros(16, columns)
    after_product[(1,)](a, b, same, 0, N=columns, num_warps=2)
    assert torch.equal(out, torch.roll(same, -3, 1)) and (same - a @ b).abs().max() < 0.02
