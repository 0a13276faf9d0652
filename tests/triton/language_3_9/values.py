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
