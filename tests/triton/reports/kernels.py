# tests/triton/reports/kernels.py - kernels that print and assert.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


@triton.jit
def bounded(X, OUT, n, N: tl.constexpr):
    r = tl.program_id(0) * N + tl.arange(0, N)
    tl.device_assert(r < n, "past the end")
    tl.store(OUT + r, tl.load(X + r))


@triton.jit
def masked(X, OUT, n, N: tl.constexpr):
    r = tl.arange(0, N)
    tl.device_assert(tl.load(X + r) < 100.0, "too large", mask=r < n)
    tl.store(OUT + r, 1.0)


@triton.jit(debug=True)
def always(X, OUT, n, N: tl.constexpr):
    assert n > 100
    tl.store(OUT, 1.0)


@triton.jit
def prints(X, OUT, n, N: tl.constexpr):
    r = tl.arange(0, 4)
    x = tl.load(X + r)
    tl.device_print("x", x)
    tl.device_print("mixed: ", n, x.to(tl.bfloat16), x > 0, r.to(tl.uint8) - 1)
    tl.device_print("bits", x, hex=True)
    tl.device_print("hello")
    tl.store(OUT + r, x)


@triton.jit
def chatty(X, OUT, n, N: tl.constexpr):
    for i in range(n):
        tl.device_print("i", i)
    tl.store(OUT, 1.0)


@triton.jit
def positive(x):
    tl.device_assert(x > 0, "not positive")
    return x


@triton.jit
def in_helper(X, OUT, n, N: tl.constexpr):
    r = tl.arange(0, N)
    tl.store(OUT + r, positive(tl.load(X + r)))
