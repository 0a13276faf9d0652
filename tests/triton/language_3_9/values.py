# tests/triton/language_3_9/values.py - values and types that Triton 3.9 defines otherwise than 3.6; language_test.py compares with its interpreter.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl


@triton.jit
def ex_softmax_rows(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """softmax along a row of square and other blocks; keep_dims has no effect"""
    r = tl.arange(0, N)
    x = tl.reshape(tl.load(X + r), (8, 8))
    tl.store(OUT + r, tl.reshape(tl.softmax(x, dim=1), (N,)))
    tl.store(OUT + N + r, tl.reshape(x.softmax(1, keep_dims=False), (N,)))
    tl.store(OUT + 2 * N + r, tl.reshape(tl.softmax(x), (N,)))
    tl.store(OUT + 3 * N + r, tl.reshape(tl.softmax(tl.reshape(x, (16, 4)), dim=1), (N,)))
    tl.store(OUT + 4 * N + r, tl.reshape(tl.softmax(tl.reshape(x, (2, 4, 8)), dim=-2, keep_dims=True), (N,)))


@triton.jit
def ex_store_bool(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a number stored into bools becomes the byte 0 or 1"""
    r = tl.arange(0, N)
    to = IOUT.to(tl.pointer_type(tl.int1))
    tl.store(to + r, r * 128)
    tl.store(to + N + r, tl.where(r % 3 == 0, 0.0, tl.load(X + r) * 0.01))
    tl.store(to + 2 * N + r, r % 2 == 0)
    tl.store(to + 3 * N, n * 256)
    tl.store(to + 3 * N + 4 + r, 2, mask=r < 3)
    more = tl.load(I.to(tl.pointer_type(tl.int1)) + r, mask=r < 9, other=256)
    tl.store(IOUT + 256 + r, more.to(tl.int32))


@triton.jit
def ex_negate(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """-x of 0.0 is -0.0; 0 - x is not"""
    r = tl.arange(0, N)
    x = tl.where(r % 3 == 0, 0.0, tl.load(X + r))
    tl.store(IOUT + r, (-x).to(tl.int32, bitcast=True))
    tl.store(IOUT + N + r, (0 - x).to(tl.int32, bitcast=True))
    tl.store(IOUT + 2 * N + r, (-(2.0 * -x)).to(tl.int32, bitcast=True))
    tl.store(IOUT + 3 * N + r, (-x.to(tl.float16)).to(tl.int16, bitcast=True).to(tl.int32))
    tl.store(IOUT + 4 * N + r, (-x.to(tl.float64)).to(tl.float32).to(tl.int32, bitcast=True))
    tl.store(IOUT + 5 * N, (-tl.sum(x * 0.0)).to(tl.int32, bitcast=True))
    tl.store(OUT + r, 1.0 / -x)
    tl.store(OUT + N + r, -r)


@triton.jit
def ex_cumprod_short(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """cumprod of short integers and booleans counts in 32 bits, as cumsum does"""
    r = tl.arange(0, N)
    i = tl.load(I + r) % 5 - 2
    product = tl.cumprod(tl.where(i == 0, 3, i).to(tl.int8))
    tl.store(IOUT + r, product)
    tl.store(IOUT + N + r, (tl.cumprod(tl.where(r < 9, 7, 1).to(tl.uint16), reverse=True) // 2).to(tl.int32))
    seen = tl.cumprod(r < 20)
    tl.store(IOUT + 2 * N + r, seen.to(tl.int32))
    tl.store(IOUT + 3 * N + r, (seen.dtype == tl.uint32) + (product.dtype == tl.int32) * 2)


@triton.jit
def bits(x):
    if x.dtype == tl.float64:
        wide = x.to(tl.int64, bitcast=True)
        return (wide ^ (wide >> 32)).to(tl.int32)
    elif x.dtype == tl.float16:
        return x.to(tl.int16, bitcast=True).to(tl.int32)
    else:
        return x.to(tl.int32, bitcast=True)


@triton.jit
def ex_float_beside(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a number in the source takes the type of the other arguments of maximum, minimum, clamp, fma and fdiv"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    d, h, s = x.to(tl.float64), x.to(tl.float16), tl.load(I + r).to(tl.int8)
    tl.store(IOUT + r, bits(tl.maximum(d, 0.1)))
    tl.store(IOUT + N + r, bits(tl.minimum(0.1, d)))
    tl.store(IOUT + 2 * N + r, bits(tl.clamp(d, -0.1, 0.3)))
    tl.store(IOUT + 3 * N + r, bits(tl.clamp(0.7, d, 0.9)))
    tl.store(IOUT + 4 * N + r, bits(tl.fma(0.1, 0.3, d)))
    tl.store(IOUT + 5 * N + r, bits(tl.fdiv(d, 0.1)))
    tl.store(IOUT + 6 * N + r, bits(tl.maximum(h, 0.1) * 1.001))
    tl.store(IOUT + 7 * N + r, bits(tl.clamp(h, 0.1, 0.7) * 1.001))
    tl.store(IOUT + 8 * N + r, bits(tl.fma(h, h, 0.1)))
    tl.store(IOUT + 9 * N + r, bits(tl.fma(h, 3, d)))
    tl.store(IOUT + 10 * N + r, bits(tl.fma(h, 0.1, x * 0.0)))
    tl.store(IOUT + 11 * N + r, tl.maximum(s, 3) + 100)
    tl.store(IOUT + 12 * N + r, tl.clamp(s, -3, 90) * 2)
    tl.store(IOUT + 13 * N + r, (tl.minimum(7, s.to(tl.uint8)) - 9).to(tl.int32))
    tl.store(OUT + r, tl.fdiv(h, 3.0))
    tl.store(OUT + N + r, tl.fdiv(2, h + 5.0))
    tl.store(OUT + 2 * N + r, tl.div_rn(0.1, x))
    tl.store(OUT + 3 * N + r, tl.fdiv(1.5, x, approx=True))
    tl.store(OUT + 4 * N + r, tl.maximum(tl.load(I + r), 1.5))
    tl.store(OUT + 5 * N + r, tl.clamp(tl.load(I + r), 2.5, 500.25))


@triton.jit
def ex_brain(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """maximum, clamp and scans of bfloat16 stay bfloat16"""
    r = tl.arange(0, N)
    b = tl.load(X + r).to(tl.bfloat16)
    code = (tl.maximum(b, b).dtype == tl.bfloat16) + (tl.minimum(b, 0.5).dtype == tl.bfloat16) * 2
    code += (tl.clamp(b, 0.0, 1.0).dtype == tl.bfloat16) * 4 + (tl.fma(b, b, 0.5).dtype == tl.bfloat16) * 8
    code += (tl.cumsum(b).dtype == tl.bfloat16) * 16 + (tl.cumprod(b).dtype == tl.bfloat16) * 32
    value, _index = tl.max(b, 0, return_indices=True)
    code += (value.dtype == tl.bfloat16) * 64 + (tl.max(b, 0).dtype == tl.float32) * 128
    tl.store(IOUT + r, code)


@triton.jit
def ex_scan_type(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """dtype of cumsum and cumprod is the type in which they count"""
    r = tl.arange(0, N)
    i = tl.load(I + r)
    wide = tl.cumprod(i % 7 + 1, axis=0, dtype=tl.int64)
    tl.store(IOUT + r, (wide >> 32).to(tl.int32))
    tl.store(IOUT + N + r, tl.cumprod(i.to(tl.int8), reverse=True, dtype=tl.int8))
    tl.store(IOUT + 2 * N + r, (i * 100000).cumsum(dtype=tl.int64).to(tl.uint64) // 3)
    product, total = tl.cumprod(tl.load(X + r).to(tl.float16), dtype=tl.float64), tl.cumsum(i, 0, dtype=tl.float32)
    tl.store(OUT + r, product.to(tl.float32) * 1e3)
    tl.store(IOUT + 3 * N + r, (total * 0.5).to(tl.int32))
    tl.store(IOUT + 4 * N + r, (product.dtype == tl.float64) + (total.dtype == tl.float32) * 2)


@triton.jit
def ex_cat_along(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """one block after the other along any dimension"""
    r = tl.arange(0, N)
    r2 = tl.arange(0, 2 * N)
    x, y = tl.reshape(tl.load(X + r), (4, N // 4)), tl.reshape(tl.load(Y + r), (4, N // 4))
    tl.store(OUT + r2, tl.reshape(tl.cat(x, y), (2 * N,)))
    tl.store(OUT + 2 * N + r2, tl.reshape(tl.cat(x, y, dim=1), (2 * N,)))
    i = tl.reshape(tl.load(I + r), (2, 4, N // 8))
    tl.store(IOUT + r2, tl.reshape(tl.cat(i, i * 2, dim=-2), (2 * N,)))
    tl.store(IOUT + 2 * N + r2, tl.cat(tl.load(I + r), r, False, 0))


@triton.jit
def ex_half_accumulator(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """without out_dtype the accumulator's type is that of a product of float16"""
    r = tl.arange(0, 16)
    at = r[:, None] * 16 + r[None, :]
    a, b = (tl.load(I + at) % 8).to(tl.float16), (tl.load(I + 256 + at) % 4).to(tl.float16)
    half = tl.dot(a, b, tl.full((16, 16), 5, tl.float16))
    tl.store(OUT + at, half)
    tl.store(OUT + 256 + at, tl.dot(a, b, acc=half, out_dtype=tl.float16))
    tl.store(OUT + 512 + at, tl.dot(a, b, half.to(tl.float32)))
    tl.store(IOUT + at, (half.dtype == tl.float16) + (tl.dot(a, b).dtype == tl.float32) * 2)


@triton.jit
def ex_keyword_only(X, Y, I, OUT, IOUT, n, *, N: tl.constexpr):
    """parameters of a kernel that a launch gives by name"""
    r = tl.arange(0, N)
    tl.store(OUT + r, tl.load(X + r) * n)
