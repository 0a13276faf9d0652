# docs/language/examples/casts.py - conversions and questions about types.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Casts, types, attributes

Attributes: `x.dtype`, `x.type`, `x.shape`, `x.numel`, `x.T`; of a type `element_ty`, `scalar`, `primitive_bitwidth`, `int_bitwidth`, `itemsize`, `name` and tests such as `is_floating()`. Of 8-bit floats there are `float8e4nv` and
`float8e5`: stored, converted (to nearest even; what is too large becomes the largest number, NaN stays NaN), and operands of `tl.dot`, as float16."""
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
def ex_dtype(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the type of a name that is known while compiling"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    bits: tl.constexpr = x.dtype.primitive_bitwidth
    twin: tl.constexpr = tl.dtype(f"int{bits}")
    tl.store(IOUT + r, x.to(twin, bitcast=True))


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


@triton.jit
def ex_fp8(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """8-bit floats, stored and converted; `bitcast=True` shows their bits"""
    r = tl.arange(0, N)
    x = (tl.load(I + r) % 8).to(tl.float32) * 0.5
    e4 = x.to(tl.float8e4nv)
    e5 = x.to(tl.float8e5)
    tl.store(OUT + r, e4.to(tl.float32) + e5.to(tl.float16))
    tl.store(IOUT + r, e4.to(tl.int8, bitcast=True).to(tl.int32) * 256 + e5.to(tl.int8, bitcast=True))


@triton.jit
def ex_block_type(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """the type of a block, to compare with"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    if x.type == tl.block_type(tl.float32, [N]):
        tl.store(OUT + r, x)


@triton.jit
def ex_str_to_ty(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """a type by the name that signatures have for it"""
    r = tl.arange(0, N)
    tl.store(OUT + r, tl.load(X + r).to(tl.str_to_ty("fp16", None)))


@triton.jit
def ex_type_facts(X, Y, I, OUT, IOUT, n, N: tl.constexpr):
    """numbers that types know: `get_int_max_value()`, `fp_mantissa_width`, `exponent_bias`, `kind()`, `get_block_shapes()`"""
    r = tl.arange(0, N)
    x = tl.load(X + r)
    tl.store(IOUT + r, tl.full([N], r.dtype.get_int_max_value(), tl.int32) - r)
    tl.store(IOUT + N + r, x.dtype.fp_mantissa_width * 1000 + x.dtype.exponent_bias + r)
    tl.store(IOUT + 2 * N + r, tl.float8e5.exponent_bias * 100 + tl.float8e4nv.fp_mantissa_width + r)
    tl.store(OUT + r, x * x.dtype.kind().value + r.dtype.kind().value)
    tl.store(OUT + N + r, x + x.type.get_block_shapes()[0] + tl.int16.get_int_min_value())
