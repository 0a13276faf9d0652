# tests/triton/beyond/aggregates.py - classes under triton.aggregate, and the atomics of Triton 3.9.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
from typing import NamedTuple

import triton
import triton.language as tl


@triton.jit
def scaled(x, by):
    return x * by


@triton.aggregate
class Line:
    """y = slope * x + offset."""
    slope: tl.tensor
    offset: tl.tensor
    STEPS: tl.constexpr = 3

    @triton.jit
    def at(self, x):
        return scaled(x, self.slope) + self.offset

    @triton.jit
    def moved(self, by, *, times: tl.constexpr = 1):
        return tl.aggregate_replace(self, offset=self.offset + by * times)


@triton.aggregate
class Mean:
    total: tl.tensor
    count: tl.tensor
    WIDTH: tl.constexpr

    def __init__(self, total, count, width=None):
        self.total = total
        self.count = tl.to_tensor(count) + 0.0
        if width is None:
            self.WIDTH = tl.constexpr(self.total.shape[0])
        else:
            self.WIDTH = width

    @triton.jit
    def add(self, x):
        return Mean(self.total + x, self.count + 1, self.WIDTH)

    @triton.constexpr_function
    def doubled(width):
        return 2 * width

    @triton.jit
    def value(self):
        return self.total / self.count


class Pair(NamedTuple):
    a: tl.tensor
    b: tl.tensor

    @triton.jit
    def product(self):
        return self.a * self.b


@triton.jit
def k_line(X, O, N: tl.constexpr):
    r = tl.arange(0, N)
    x = tl.load(X + r)
    line = Line(x, 2.0 + x)
    tl.store(O + r, line.moved(1.0).moved(0.5, times=2).at(x) + line.STEPS)
    tl.store(O + N + r, Line.at(Line(slope=x, offset=x, STEPS=1), 3.0))


@triton.jit
def k_mean(X, O, n, N: tl.constexpr):
    r = tl.arange(0, N)
    mean = Mean(tl.zeros((N,), tl.float32), 0)
    for i in range(n):
        mean = mean.add(tl.load(X + r * n + i))
    tl.store(O + r, mean.value() + Mean.doubled(mean.WIDTH))
    i = 0
    half = Mean(tl.load(X + r), 1, N)
    while i < n:
        if i % 2 == 0:
            half = half.add(1.0)
        i += 1
    tl.store(O + N + r, half.total - half.count)


@triton.aggregate
class Dual:
    """A number with its derivative."""
    value: tl.tensor
    slope: tl.tensor

    @triton.jit
    def __add__(self, other):
        return Dual(self.value + other.value, self.slope + other.slope)

    @triton.jit
    def __radd__(self, other):
        return Dual(other + self.value, self.slope)

    @triton.jit
    def __mul__(self, other):
        if isinstance(other, Dual):
            return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)
        else:
            return Dual(self.value * other, self.slope * other)

    @triton.jit
    def __neg__(self):
        return Dual(-self.value, -self.slope)

    @triton.jit
    def __not__(self):
        return self.value == 0

    @triton.jit
    def __lt__(self, other):
        return self.value < other

    @triton.jit
    def __eq__(self, other):
        return self.value == other.value

    @triton.jit
    def __getitem__(self, order: tl.constexpr):
        return self.slope if order else self.value


@triton.jit
def k_dual(X, OUT, N: tl.constexpr):
    """operators that a class defines"""
    r = tl.arange(0, N)
    x = Dual(tl.load(X + r), tl.full((N,), 1.0, tl.float32))
    y = 2.0 + -(x * x + x * 3.0)
    y *= x
    tl.store(OUT + r, y[0])
    tl.store(OUT + N + r, y[1])
    tl.store(OUT + 2 * N + r, tl.where(x < 0.5, 1.0, 0.0) + tl.where(0.25 > x, 2.0, 0.0))
    tl.store(OUT + 3 * N + r, tl.where(x == x, 1.0, 0.0) + tl.where(not x, 2.0, 0.0))


@triton.jit
def k_pair(X, O, N: tl.constexpr):
    r = tl.arange(0, N)
    x = tl.load(X + r)
    pairs = (Pair(x, x + 1), Pair(x, 3.0))
    tl.store(O + r, pairs[0].product() - pairs[1].product())


@triton.jit
def k_atomic_words(X, O, N: tl.constexpr):
    r = tl.arange(0, N)
    v = tl.atomic_load(X + r, mask=r < N // 2, sem="relaxed", scope="cta")
    tl.atomic_store(O + r, v, mask=r < N // 2, scope="sys")
    (O + N).atomic_store((X + N - 1).atomic_load(), sem="relaxed")


@triton.jit
def k_wait(FLAGS, O, N: tl.constexpr):
    i = tl.program_id(0)
    r = tl.arange(0, N)
    if i > 0:
        tl.atomic_poll(FLAGS + i - 1, i)
        tl.store(O + i * N + r, tl.load(O + (i - 1) * N + r) + 1)
    else:
        tl.store(O + r, r)
    tl.debug_barrier()
    tl.atomic_store(FLAGS + i, i + 1)


@triton.jit
def k_wait_block(FLAGS, O, WAITING: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, N)
    if tl.program_id(0) != WAITING:
        tl.atomic_store(FLAGS + r, r * r)
    else:
        tl.store(O + r, tl.atomic_poll((FLAGS + r)[:, None], (r * r)[:, None]).to(tl.int32).ravel())


@triton.jit
def k_expect_zero(X, O, n, N: tl.constexpr):
    r = tl.arange(0, N)
    tl.store(O + r, tl.expect_zero(tl.load(X + r), r >= n) + tl.to_tensor(3))
