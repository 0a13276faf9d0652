# tests/python/tile_passes_test.py - reductions of many rows at once, and dots that start from an expression.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import tessera
import tessera.language as tl
import torch


@tessera.jit
def reduce_rows(X, SUM, MAX, MIN, WHERE, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    x = tl.load(X + r[:, None] * C + c[None, :])
    if X.dtype.element_ty == tl.float32:        # a product and a sorted tile are in scratch memory
        x = tl.dot(x, tl.where(c[:, None] == c[None, :], 1.0, 0.0), input_precision="ieee")
    else:
        x = tl.sort(x, 1)
    tl.store(SUM + r, tl.sum(x, 1))
    tl.store(MAX + r, tl.max(x, 1))
    tl.store(MIN + r, tl.min(x, 1))
    tl.store(WHERE + r, tl.argmax(x, 1))


def numbers(rows, columns, dtype, seed):
    x = torch.from_numpy(np.random.default_rng(seed).integers(-9, 9, (rows, columns)).astype(np.float64))
    return (x * 0.37).to(dtype) if dtype.is_floating_point else x.to(dtype)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.int32, torch.int64), ids=str)
@pytest.mark.parametrize("rows, columns", ((16, 16), (16, 64), (64, 32), (32, 128), (8, 32)))
def test_reductions_of_rows(rows, columns, dtype):
    x = numbers(rows, columns, dtype, rows + columns)
    outs = [torch.full((rows,), -77, dtype=dtype) for _ in range(3)] + [torch.full((rows,), -77, dtype=torch.int32)]
    reduce_rows[(1,)](x, *outs, R=rows, C=columns)
    expected = x if dtype == torch.float32 else torch.sort(x, 1)[0]
    if dtype.is_floating_point:
        assert torch.allclose(outs[0].double(), expected.double().sum(1), rtol=0, atol=1e-4)
    else:
        assert torch.equal(outs[0], expected.sum(1).to(dtype))
    assert torch.equal(outs[1], expected.max(1)[0]) and torch.equal(outs[2], expected.min(1)[0])
    assert np.array_equal(outs[3].numpy(), np.argmax(expected.numpy(), 1))      # the first of equal elements


@tessera.jit
def extremes_of_nan(X, MAX, MIN, WHERE, STEPS, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    x = tl.load(X + r[:, None] * C + c[None, :])
    for _ in range(STEPS):      # a value that a loop carries is in scratch memory
        x = -x
    tl.store(MAX + r, tl.max(x, 1))
    tl.store(MIN + r, tl.min(x, 1))
    tl.store(WHERE + r, tl.argmax(x, 1))


def test_rows_with_nan():
    """A maximum and a minimum leave NaN out; a row of NaN has no other element."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((32, 32)).astype(np.float32)
    x[rng.random((32, 32)) < 0.6] = np.nan
    x[7] = np.nan
    x[8] = np.nan
    x[8, 30] = -np.inf
    high, low, where = torch.zeros(32), torch.zeros(32), torch.zeros(32, dtype=torch.int32)
    extremes_of_nan[(1,)](torch.from_numpy(x), high, low, where, 2, R=32, C=32)
    some = ~np.isnan(x).all(1)
    assert np.array_equal(high.numpy()[some], np.nanmax(x[some], 1)) and np.isnan(high.numpy()[~some]).all()
    assert np.array_equal(low.numpy()[some], np.nanmin(x[some], 1)) and np.isnan(low.numpy()[~some]).all()
    first = (x == np.nanmax(np.where(np.isnan(x), -np.inf, x), 1)[:, None]).argmax(1)
    assert np.array_equal(where.numpy()[some], first[some])


@tessera.jit
def sum_of_many(X, OUT, STEPS, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    x = tl.load(X + r[:, None] * C + c[None, :])
    for _ in range(STEPS):
        x = -x
    tl.store(OUT + r, tl.sum(x, 1))


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64), ids=str)
def test_many_rows_add_up_in_the_order_of_few(dtype):
    """Sixteen rows share the steps of a sum; with four rows, each has steps of its row alone. The bits are the same."""
    x = torch.randn(32, 64, dtype=dtype) * torch.logspace(-6, 6, 64, dtype=dtype)[torch.randperm(64)]
    many, few = torch.zeros(32, dtype=dtype), torch.zeros(32, dtype=dtype)
    sum_of_many[(1,)](x, many, 2, R=32, C=64)
    for i in range(0, 32, 4):
        part = torch.zeros(4, dtype=dtype)
        sum_of_many[(1,)](x[i:i + 4].contiguous(), part, 2, R=4, C=64)
        few[i:i + 4] = part
    assert torch.equal(many, few)


@tessera.jit
def reduce_middle(X, OUT, STEPS, A: tl.constexpr, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr):
    a, r, c = tl.arange(0, A), tl.arange(0, R), tl.arange(0, C)
    x = tl.load(X + a[:, None, None] * (R * C) + r[None, :, None] * C + c[None, None, :])
    for _ in range(STEPS):
        x = -x
    y = tl.sum(x, AXIS)
    if AXIS == 0:
        tl.store(OUT + r[:, None] * C + c[None, :], y)
    elif AXIS == 1:
        tl.store(OUT + a[:, None] * C + c[None, :], y)
    else:
        tl.store(OUT + a[:, None] * R + r[None, :], y)


@pytest.mark.parametrize("axis", (0, 1, 2))
@pytest.mark.parametrize("shape", ((2, 32, 16), (16, 4, 32), (4, 16, 16)))
def test_three_dimensions(axis, shape):
    x = torch.randint(-50, 50, shape, dtype=torch.int32)
    expected = x.sum(axis).to(torch.int32)
    out = torch.full_like(expected, -1)
    reduce_middle[(1,)](x, out, 2, *shape, AXIS=axis)
    assert torch.equal(out, expected)


@tessera.jit
def scaled_sums(A, B, OUT, ALPHA, STEPS, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FORM: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.load(OUT + m[:, None] * N + n[None, :])
    total = tl.zeros((M,), tl.float32)
    for step in range(STEPS):
        a = tl.load(A + step * M * K + m[:, None] * K + k[None, :])
        b = tl.load(B + step * K * N + k[:, None] * N + n[None, :])
        alpha = tl.load(ALPHA + step * M + m)
        if FORM == 0:       # the step of an online softmax
            acc = tl.dot(a, b, acc * alpha[:, None], input_precision="ieee")
        elif FORM == 1:     # the old sums are read after the product, too
            new = tl.dot(a, b, acc * alpha[:, None] + n[None, :], input_precision="ieee")
            total += tl.sum(acc, 1)
            acc = new
        elif FORM == 2:     # starts from other elements of the old sums
            acc = tl.dot(a, b, tl.trans(acc) * alpha[:, None], input_precision="ieee")
        elif FORM == 3:     # starts from memory, read across rows
            acc += tl.dot(a, b, tl.load(B + step * K * N + m[:, None] + n[None, :] * N), input_precision="ieee")
        else:               # a choice between two sums
            acc = tl.dot(a, b, tl.where(n[None, :] % 3 == 1, acc, -acc), input_precision="ieee")
    tl.store(OUT + m[:, None] * N + n[None, :], acc + total[:, None])


@pytest.mark.parametrize("form", range(5))
@pytest.mark.parametrize("m, n, k", ((16, 16, 16), (32, 32, 16), (64, 64, 32), (16, 16, 64)))
def test_dots_that_start_from_an_expression(form, m, n, k):
    steps, rng = 3, np.random.default_rng(m * n + k)
    a, b = rng.standard_normal((steps, m, k)), rng.standard_normal((steps, k, n))
    alpha, acc = rng.random((steps, m)), rng.standard_normal((m, n))
    held = torch.tensor(np.append(b, rng.standard_normal(n * n)), dtype=torch.float32)   # form 3 reads n rows of the last step, too
    out = torch.tensor(acc, dtype=torch.float32)
    flat = held.double().numpy()
    scaled_sums[(1,)](torch.tensor(a, dtype=torch.float32), held, out, torch.tensor(alpha, dtype=torch.float32), steps, M=m, N=n, K=k, FORM=form)
    total, acc = np.zeros(m), torch.tensor(acc, dtype=torch.float32).double().numpy()
    a, alpha = (torch.tensor(x, dtype=torch.float32).double().numpy() for x in (a, alpha))
    for step in range(steps):
        tile = flat[step * k * n:(step + 1) * k * n].reshape(k, n)
        product, scale = a[step] @ tile, alpha[step][:, None]
        if form == 0:
            acc = product + acc * scale
        elif form == 1:
            total += acc.sum(1)
            acc = product + acc * scale + np.arange(n)
        elif form == 2:
            acc = product + acc.T * scale
        elif form == 3:
            start = flat[step * k * n + np.arange(m)[:, None] + np.arange(n)[None, :] * n]
            acc = acc + product + start
        else:
            acc = product + np.where(np.arange(n) % 3 == 1, acc, -acc)
    assert np.allclose(out.double().numpy(), acc + total[:, None], rtol=1e-5, atol=2e-4)
