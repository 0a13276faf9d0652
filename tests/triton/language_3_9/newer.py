# tests/triton/language_3_9/newer.py - names that Triton has since 3.9; language_test.py compares with its interpreter.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
from typing import NamedTuple

import triton
import triton.language as tl


@triton.aggregate
class Line:
    slope: tl.tensor
    offset: tl.tensor
    STEPS: tl.constexpr


@triton.aggregate
class Point:
    x: tl.tensor


class Rows(NamedTuple):
    first: tl.tensor
    second: tl.tensor


class Columns(NamedTuple):
    first: tl.tensor
    second: tl.tensor


@triton.jit
def value_of(x):
    if isinstance(x, Line):
        return x.slope * 2
    elif isinstance(x, (Rows, Columns)):
        return x.second * (3 if isinstance(x, Rows) else 5)
    else:
        return x


@triton.jit
def ex_isinstance(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """isinstance with aggregates, classes of NamedTuple, tl.tensor, tl.constexpr and tuples of classes"""
    r = tl.arange(0, N)
    x, y = tl.load(X + r), tl.load(Y + r)
    line, rows, columns = Line(x, offset=y, STEPS=tl.constexpr(3)), Rows(x, y), Columns(y, x)
    tl.store(OUT + r, value_of(line))
    tl.store(OUT + N + r, value_of(rows))
    tl.store(OUT + 2 * N + r, value_of(columns))
    tl.store(OUT + 3 * N + r, value_of(x))
    tl.store(IOUT, (1 if isinstance(line, Line) else 0) + (2 if isinstance(line, Point) else 0) + (4 if isinstance(rows, Rows) else 0))
    tl.store(IOUT + 1, (1 if isinstance(rows, Columns) else 0) + (2 if isinstance(line, Rows) else 0) + (4 if isinstance(rows, Line) else 0))
    tl.store(IOUT + 2, (1 if isinstance(x, Line) else 0) + (2 if isinstance(n, Rows) else 0) + (4 if isinstance(None, Line) else 0))
    tl.store(IOUT + 3, (1 if isinstance(n, (Line, tl.tensor)) else 0) + (2 if isinstance(line, (tl.tensor, (Rows, Line))) else 0))
    tl.store(IOUT + 4, (1 if isinstance(n, tl.constexpr) else 0) + (2 if isinstance(line, tl.tensor) else 0) + 8)
    tl.store(IOUT + 5, (1 if isinstance(x.type, tl.block_type) else 0) + (2 if isinstance(n.type, tl.block_type) else 0))
    if isinstance(line, Line) and isinstance(rows, Rows) and not isinstance(x, Line):
        tl.store(IOUT + 6, 9)
    tl.store(IOUT + 7, 1 if isinstance(line, Line) and n > 3 else 2)


@triton.jit
def ex_fields(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """fields and defaults of an aggregate; the interpreter calls no functions of one"""
    r = tl.arange(0, N)
    line = Line(tl.load(X + r), offset=tl.load(Y + r), STEPS=tl.constexpr(3))
    steep = tl.aggregate_replace(line, slope=line.slope * 2)
    tl.store(OUT + r, steep.slope * n + line.offset + steep.STEPS - line.slope)
    if isinstance(line, tuple):
        tl.store(OUT + r, 0.0)


@triton.jit
def ex_atomic_load(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """atomic loads and stores of 32 bits, masked and as methods"""
    r = tl.arange(0, N)
    value = tl.atomic_load(X + r, sem="relaxed", scope="cta")
    tl.atomic_store(OUT + r, value * 2, mask=r < n, scope="sys")
    (IOUT + 2 * N).atomic_store((I + n).atomic_load(), sem="relaxed")


@triton.jit
def ex_atomic_poll(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a program waits for a flag of the program before it"""
    r = tl.arange(0, N)
    if tl.program_id(0) == 0:
        tl.store(OUT + r, tl.load(X + r))
        tl.atomic_store(IOUT, 7)
    else:
        seen = tl.atomic_poll(IOUT, 7)
        tl.store(OUT + N + r, tl.load(OUT + r) + seen.to(tl.int32))


@triton.jit
def ex_squeeze(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """squeeze and unsqueeze, also with negative places"""
    r = tl.arange(0, N)
    x = tl.unsqueeze(tl.unsqueeze(tl.load(X + r), 0), -1)
    tl.store(OUT + r, tl.squeeze(tl.squeeze(x, -1), 0) + tl.squeeze(tl.unsqueeze(tl.load(Y + r), 1), 1))


@triton.jit
def ex_expect_zero(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """expect_zero keeps the values; to_tensor makes a number a tensor"""
    r = tl.arange(0, N)
    x = tl.where(r < n, tl.load(X + r), 0.0)
    tl.store(OUT + r, tl.expect_zero(x, r >= n) + tl.to_tensor(3))


@triton.jit
def ex_topk(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the smallest numbers, of rows, too"""
    x = tl.reshape(tl.load(X + tl.arange(0, 4 * N)), (4, N))
    smallest = tl.topk(x, 8, descending=False)
    tl.store(OUT + tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :], smallest)
    tl.store(OUT + 64 + tl.arange(0, 8), tl.topk(tl.load(Y + tl.arange(0, N)), 8))
    short = (tl.load(I + tl.arange(0, N)) % 128).to(tl.int8)
    tl.store(IOUT + tl.arange(0, 8), tl.topk(short, 8) + 100)
    tl.store(IOUT + 8 + tl.arange(0, N), tl.topk(short, N) + 100)
    tl.store(IOUT + 80 + tl.arange(0, 1), tl.topk(short, 1) + 100)
    half = tl.topk(tl.load(X + tl.arange(0, N)).to(tl.float16), 4)
    tl.store(OUT + 128 + tl.arange(0, 4), half * 1.001)
    tl.store(IOUT + 96, half.dtype == tl.float32)


@triton.jit
def ex_clamp(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """clamp of integers; a chain of comparisons"""
    r = tl.arange(0, N)
    tl.store(IOUT + r, tl.clamp(tl.load(I + r), r * 4, 500 + n))
    tl.store(IOUT + N + tl.program_id(0), 1 if 0 <= tl.program_id(0) < 2 <= n else 5)


@triton.jit
def ex_chain(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """chains of comparisons of blocks, also of several shapes and with parentheses"""
    r = tl.arange(0, N)
    x, y = tl.load(X + r), tl.load(Y + r)
    tl.store(OUT + r, x, mask=3 <= r < n)
    tl.store(OUT + N + r, tl.where(x < y < 0.5 != x, x, y))
    square = r[:, None] < tl.program_id(0) + 20 <= r[None, :] < n
    tl.store(IOUT + tl.program_id(0) * N + r, tl.sum(square.to(tl.int32), 0))
    tl.store(IOUT + 2 * N + r, (8 < (r & 31) <= 20).to(tl.int32) + 2 * (N > 16 < r < 16 * N))
