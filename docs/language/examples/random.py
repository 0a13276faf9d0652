# docs/language/examples/random.py - random numbers.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Random numbers

Philox counters, bit for bit as under Triton. A seed and an offset give one number; other offsets or seeds give independent ones."""
import triton
import triton.language as tl


@triton.jit
def ex_philox_impl(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """rounds of Philox on four words and two keys"""
    r = tl.program_id(0) * N + tl.arange(0, N)
    c = r.to(tl.uint32)
    a, b, d, e = tl.random.philox_impl(c, c + 1, c + 2, c + 3, c * 0 + 5, c * 0 + 9, 10)
    tl.store(IOUT + r, (a ^ b ^ d ^ e).to(tl.int32, bitcast=True))


@triton.jit
def ex_philox(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """Philox with a 64-bit seed"""
    r = tl.program_id(0) * N + tl.arange(0, N)
    c = r.to(tl.uint32)
    a, b, d, e = tl.philox(n, c, c, c, c)
    tl.store(IOUT + r, (a ^ b ^ d ^ e).to(tl.int32, bitcast=True))


@triton.jit
def ex_randint(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """one block of 32 random bits"""
    r = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(IOUT + r, tl.randint(n, r).to(tl.int32, bitcast=True))


@triton.jit
def ex_randint4x(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """four blocks of 32 random bits"""
    r = tl.program_id(0) * N + tl.arange(0, N)
    a, b, c, d = tl.randint4x(n, r)
    tl.store(IOUT + r, (a + b * 3 + c * 5 + d * 7).to(tl.int32, bitcast=True))


@triton.jit
def ex_rand(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """uniform in [0, 1)"""
    r = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.where(tl.rand(n, r) > 0.1, x / 0.9, 0.0))


@triton.jit
def ex_rand4x(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """four blocks, uniform in [0, 1)"""
    r = tl.program_id(0) * N + tl.arange(0, N)
    a, b, c, d = tl.rand4x(n, r)
    tl.store(OUT + r, a + b + c + d)


@triton.jit
def ex_uint_to_uniform_float(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """random bits as a number in [0, 1)"""
    r = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(OUT + r, tl.random.uint_to_uniform_float(tl.randint(n, r)))


@triton.jit
def ex_pair_uniform_to_normal(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """two uniform numbers to two normal ones"""
    r = tl.program_id(0) * N + tl.arange(0, N)
    a, b = tl.pair_uniform_to_normal(tl.rand(n, r), tl.rand(n, r + 1000))
    tl.store(OUT + r, a + b)


@triton.jit
def ex_randn(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """normal"""
    r = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(OUT + r, tl.randn(n, r))


@triton.jit
def ex_randn4x(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """four normal blocks"""
    r = tl.program_id(0) * N + tl.arange(0, N)
    a, b, c, d = tl.randn4x(n, r)
    tl.store(OUT + r, a + 2 * b + c - d)
