# docs/language/examples/math.py - elementwise functions.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Elementwise

Functions of one float take float32 and float64 only, as under Triton. Those from `exp` to `minimum` are members of `tl.math` too. `maximum` and `minimum` pass over NaN unless
`propagate_nan=tl.PropagateNan.ALL`; a Python number takes the type of the other argument. Libdevice has the functions of
[names](names.md); they take float32 and float64 unless their name says otherwise, and old kernels find them in `tl.math` too. Not the same bits as CUDA's:
[numerics](../numerics.md#functions-of-libdevice) has their errors."""
import triton
import triton.language as tl


@triton.jit
def ex_exp(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """e to the power x"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.exp(x))


@triton.jit
def ex_exp2(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """2 to the power x"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.exp2(x) + tl.math.exp2(-x))


@triton.jit
def ex_log(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """natural logarithm"""
    r = tl.arange(0, N)
    x = tl.abs(tl.load(X + r)) + 0.01
    tl.store(OUT + r, tl.log(x))


@triton.jit
def ex_log2(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """logarithm of base 2"""
    r = tl.arange(0, N)
    x = tl.abs(tl.load(X + r)) + 0.01
    tl.store(OUT + r, tl.log2(x))


@triton.jit
def ex_sqrt(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """square root"""
    r = tl.arange(0, N)
    x = tl.abs(tl.load(X + r)) + 0.01
    tl.store(OUT + r, tl.sqrt(x))


@triton.jit
def ex_sqrt_rn(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """square root, rounded to nearest"""
    r = tl.arange(0, N)
    x = tl.abs(tl.load(X + r)) + 0.01
    tl.store(OUT + r, tl.sqrt_rn(x))


@triton.jit
def ex_rsqrt(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """1 / sqrt(x)"""
    r = tl.arange(0, N)
    x = tl.abs(tl.load(X + r)) + 0.01
    tl.store(OUT + r, tl.rsqrt(x))


@triton.jit
def ex_sin(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """sine"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.sin(x))


@triton.jit
def ex_cos(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """cosine"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.cos(x))


@triton.jit
def ex_floor(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the next integer below"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.floor(x * 8))


@triton.jit
def ex_ceil(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the next integer above"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.ceil(x * 8))


@triton.jit
def ex_erf(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """error function"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.erf(x))


@triton.jit
def ex_abs(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """absolute value"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.abs(x))
    tl.store(IOUT + r, tl.abs(500 - tl.load(I + r)))


@triton.jit
def ex_fma(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """x * y + z, rounded once"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.fma(x, tl.load(Y + r), x))


@triton.jit
def ex_fdiv(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """division of floats"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.fdiv(x, tl.load(Y + r) + 10.0))


@triton.jit
def ex_div_rn(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """division, rounded to nearest"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.div_rn(x, tl.load(Y + r) + 10.0))


@triton.jit
def ex_umulhi(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """upper half of the product of unsigned integers"""
    r = tl.arange(0, N)
    a = tl.load(I + r).to(tl.uint32) * 123456789
    tl.store(IOUT + r, tl.umulhi(a, a + 77).to(tl.int32, bitcast=True))


@triton.jit
def ex_maximum(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the larger"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.maximum(x, tl.load(Y + r)))


@triton.jit
def ex_minimum(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the smaller"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.minimum(x, 0.5))


@triton.jit
def ex_clamp(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """between two bounds"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.clamp(x, -0.5, 0.5))


@triton.jit
def ex_sigmoid(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """1 / (1 + exp(-x))"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.sigmoid(x))


@triton.jit
def ex_softmax(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """exp(x - max) / sum"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.softmax(x))


@triton.jit
def ex_cdiv(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """division rounded up"""
    tl.store(IOUT + tl.program_id(0), tl.cdiv(n, 7) + tl.cdiv(N, 10))


@triton.jit
def ex_where(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """one of two values, elementwise"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.where(r < n, x, tl.load(Y + r)))


@triton.jit
def ex_add(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """x + y"""
    r = tl.arange(0, N)
    tl.store(IOUT + r, tl.add(tl.load(I + r), n))


@triton.jit
def ex_sub(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """x - y"""
    r = tl.arange(0, N)
    tl.store(IOUT + r, tl.sub(tl.load(I + r), n))


@triton.jit
def ex_mul(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """x * y"""
    r = tl.arange(0, N)
    tl.store(IOUT + r, tl.mul(tl.load(I + r), n))


@triton.jit
def ex_method_logical_and(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """of truth values: both"""
    r = tl.arange(0, N)
    tl.store(IOUT + r, (r > 3).logical_and(tl.load(X + r) > 0))


@triton.jit
def ex_method_logical_or(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """of truth values: either"""
    r = tl.arange(0, N)
    tl.store(IOUT + r, (r > 40).logical_or(tl.load(X + r) > 0))
