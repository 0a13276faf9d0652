# docs/language/examples/reductions.py - reductions, scans, sorting.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Reductions, scans, sorting

Without `axis` all elements are reduced. `sum` and scans widen integers below 32 bits; 16-bit floats add up in float32 and are rounded once (scans: bfloat16 only). `max` and `min` give float32 for 16-bit floats and int32 for
narrower integers. Of equal elements the lowest index wins. `reduce` and `associative_scan` call a helper with what came before and the next elements, in the order of the axis; a tuple of blocks gives
the helper two of each."""
import triton
import triton.language as tl


@triton.jit
def product(a, b):
    return a * b


@triton.jit
def recurrence(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def widest(v1, i1, v2, i2):
    keep = tl.abs(v1) >= tl.abs(v2)
    return tl.where(keep, v1, v2), tl.where(keep, i1, i2)


@triton.jit
def ex_sum(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the sum"""
    r = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(X + r)
    tl.store(OUT + tl.arange(0, 8), tl.sum(x, axis=1))
    tl.store(OUT + 8, tl.sum(x))
    tl.store(OUT + 16 + tl.arange(0, 8)[None, :], tl.sum(x, 0, keep_dims=True))


@triton.jit
def ex_max(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the largest, also with its index"""
    r = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(X + r)
    tl.store(OUT + tl.arange(0, 8), tl.max(x, axis=0))
    v, i = tl.max(x, axis=1, return_indices=True)
    tl.store(OUT + 8 + tl.arange(0, 8), v)
    tl.store(IOUT + tl.arange(0, 8), i)


@triton.jit
def ex_min(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the smallest, also with its index"""
    r = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(X + r)
    tl.store(OUT, tl.min(tl.min(x, 1), 0))


@triton.jit
def ex_argmax(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """index of the largest"""
    r = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(X + r)
    tl.store(IOUT + tl.arange(0, 8), tl.argmax(x, axis=1))


@triton.jit
def ex_argmin(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """index of the smallest"""
    r = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(X + r)
    tl.store(IOUT + tl.arange(0, 8), tl.argmin(x, axis=0))


@triton.jit
def ex_xor_sum(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """exclusive or of all"""
    tl.store(IOUT, tl.xor_sum(tl.load(I + tl.arange(0, N)), axis=0))


@triton.jit
def ex_reduce_or(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """or of all"""
    tl.store(IOUT, tl.reduce_or(tl.load(I + tl.arange(0, N)), axis=0))


@triton.jit
def ex_reduce(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a combination by a helper"""
    r = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(X + r)
    tl.store(OUT + tl.arange(0, 8), tl.reduce(x, 1, product))
    v, i = tl.reduce((x, r), 0, widest)
    tl.store(OUT + 8 + tl.arange(0, 8), v)
    tl.store(IOUT + tl.arange(0, 8), i)


@triton.jit
def ex_associative_scan(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """running combination by a helper"""
    r = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(X + r)
    y = tl.load(Y + r)
    _a, h = tl.associative_scan((x, y), 0, recurrence)
    tl.store(OUT + r, h)
    tl.store(OUT + N + r, tl.associative_scan(x, 1, product, reverse=True))


@triton.jit
def ex_cumsum(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """running sum"""
    r = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(X + r)
    tl.store(OUT + r, tl.cumsum(x, axis=1))
    tl.store(OUT + N + r, tl.cumsum(x, axis=0, reverse=True))


@triton.jit
def ex_cumprod(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """running product"""
    r = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(X + r)
    tl.store(OUT + r, tl.cumprod(x, axis=0))


@triton.jit
def ex_histogram(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """how often each number occurs"""
    tl.store(IOUT + tl.arange(0, 16), tl.histogram(tl.load(I + tl.arange(0, N)) % 16, 16))


@triton.jit
def ex_sort(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """rows of the last dimension in order"""
    r = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    x = tl.load(X + r)
    tl.store(OUT + r, tl.sort(x))
    tl.store(OUT + N + r, tl.sort(x, descending=True))


@triton.jit
def ex_topk(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the largest of each row of the last dimension"""
    r = tl.arange(0, N)
    tl.store(OUT + tl.arange(0, 8), tl.topk(tl.load(X + r), 8))


@triton.jit
def ex_bitonic_merge(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a row of two sorted halves in order"""
    r = tl.arange(0, N)
    x = tl.where(r < 32, r * 3, 200 - r)
    tl.store(IOUT + r, tl.bitonic_merge(x))
