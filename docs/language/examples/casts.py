# docs/language/examples/casts.py - conversions and questions about types.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Casts, types, attributes

Attributes: `x.dtype`, `x.type`, `x.shape`, `x.numel`, `x.T`; of a type `element_ty`, `scalar`, `primitive_bitwidth`, `int_bitwidth`, `itemsize`, `name` and tests such as `is_floating()`. fp8 types are
not supported yet."""
import triton
import triton.language as tl


@triton.jit
def ex_cast(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """another element type; `bitcast=True` keeps the bits"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, tl.cast(x * 100, tl.int32))
    tl.store(IOUT + r, tl.cast(x, tl.int32, bitcast=True))


@triton.jit
def ex_to(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """cast, as a method"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(OUT + r, (x * 3).to(tl.float16))
    tl.store(IOUT + r, (x * 300).to(tl.int8))


@triton.jit
def ex_pointer_type(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """pointers cast to another element type"""
    p = I.to(tl.pointer_type(tl.uint8))
    r = tl.arange(0, N)
    tl.store(IOUT + r, tl.load(p + r))


@triton.jit
def ex_constexpr(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a compile-time value"""
    LIMIT = tl.constexpr(4)
    tl.store(IOUT + tl.arange(0, 4), n)


@triton.jit
def ex_tuple(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a tuple of a list"""
    pair = tl.tuple([n, n + 1])
    tl.store(IOUT, pair[0] * pair[1])


@triton.jit
def ex_attributes(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """`x.dtype`, `x.shape`, `x.numel`, `x.T`; of a type `element_ty`, `primitive_bitwidth`, `is_floating()`"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.static_assert(x.dtype == tl.float32)
    tl.static_assert(X.dtype.element_ty.primitive_bitwidth == 32)
    tl.static_assert(x.shape[0] == N and x.numel == N)
    tl.static_assert(x.dtype.is_floating() and X.dtype.is_ptr())
    tl.store(OUT + r, x.to(OUT.dtype.element_ty))


@triton.jit
def ex_address(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a pointer as an int64 and back, also of a block"""
    address = (X + 3).to(tl.int64)
    r = tl.arange(0, N)
    tl.store(OUT + r, tl.load((address + r * 4).to(tl.pointer_type(tl.float32))))
    if OUT:
        tl.store(IOUT, ((X + 8).to(tl.int64) - X.to(tl.int64)).to(tl.int32))
    tl.store(IOUT + 1 + r, tl.load((I + r).to(tl.pi32_t)))
