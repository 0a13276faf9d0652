// compiler/semantics/LibdeviceBits.cpp - libdevice functions of integers and
// bits.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Prelude.h"

namespace tessera::semantics {

// Functions of 32-bit and 64-bit integers. Where libdevice takes an unsigned
// integer, these read the bits of a signed one.
const char *const kLibdeviceBitsText = R"py(

@triton.jit
def libdevice_mulhi(x, y):
    # The upper half of a product; umulhi takes bits as unsigned.
    x, y = tl.broadcast(tl.to_tensor(x), tl.to_tensor(y))
    high = tl.umulhi(x, y)
    if x.dtype.is_int_signed():
        high -= tl.where(x < 0, y, 0) + tl.where(y < 0, x, 0)
    return high


@triton.jit
def libdevice_mul24(x, y):
    x = (tl.to_tensor(x) << 8) >> 8
    y = (tl.to_tensor(y) << 8) >> 8
    return x * y


@triton.jit
def libdevice_ffs(x):
    # One more than the number of the lowest bit that is set, 0 of 0.
    x = tl.to_tensor(x)
    WIDTH: tl.constexpr = x.dtype.primitive_bitwidth
    return tl.where(x == 0, 0, WIDTH - tl.math.clz(x & (0 - x)))


@triton.jit
def _swap(x, shift: tl.constexpr, mask: tl.constexpr):
    return ((x >> shift) & mask) | ((x & mask) << shift)


@triton.jit
def libdevice_brev(x):
    x = tl.to_tensor(x)
    if x.dtype.primitive_bitwidth == 64:
        bits = x.to(tl.uint64, bitcast=True)
        bits = _swap(bits, 1, 0x5555555555555555)
        bits = _swap(bits, 2, 0x3333333333333333)
        bits = _swap(bits, 4, 0x0F0F0F0F0F0F0F0F)
        bits = _swap(bits, 8, 0x00FF00FF00FF00FF)
        bits = _swap(bits, 16, 0x0000FFFF0000FFFF)
        bits = (bits >> 32) | (bits << 32)
    else:
        bits = x.to(tl.uint32, bitcast=True)
        bits = _swap(bits, 1, 0x55555555)
        bits = _swap(bits, 2, 0x33333333)
        bits = _swap(bits, 4, 0x0F0F0F0F)
        bits = _swap(bits, 8, 0x00FF00FF)
        bits = (bits >> 16) | (bits << 16)
    return bits.to(x.dtype, bitcast=True)


@triton.jit
def libdevice_byte_perm(x, y, s):
    # Four of the eight bytes of y and x, picked by the low three bits of each four bits of s.
    x = tl.to_tensor(x).to(tl.uint32, bitcast=True).to(tl.uint64)
    y = tl.to_tensor(y).to(tl.uint32, bitcast=True).to(tl.uint64)
    both = x | (y << 32)
    s = tl.to_tensor(s).to(tl.uint32, bitcast=True)
    result = tl.zeros_like(both)
    for i in tl.static_range(4):
        result |= ((both >> (((s >> (4 * i)) & 7) * 8).to(tl.uint64)) & 255) << (8 * i)
    return result.to(tl.uint32).to(tl.int32, bitcast=True)


@triton.jit
def libdevice_hadd(x, y):
    x = tl.to_tensor(x)
    return (x & y) + ((x ^ y) >> 1)


@triton.jit
def libdevice_rhadd(x, y):
    x = tl.to_tensor(x)
    return (x | y) - ((x ^ y) >> 1)


@triton.jit
def libdevice_sad(x, y, z):
    # |x - y| + z, which wraps.
    x = tl.to_tensor(x)
    y = tl.to_tensor(y)
    return tl.where(x > y, x - y, y - x) + z


@triton.jit
def libdevice_float_as_int(x):
    return tl.to_tensor(x).to(tl.int32, bitcast=True)


@triton.jit
def libdevice_float_as_uint(x):
    return tl.to_tensor(x).to(tl.uint32, bitcast=True)


@triton.jit
def libdevice_int_as_float(x):
    return tl.to_tensor(x).to(tl.float32, bitcast=True)


@triton.jit
def libdevice_uint_as_float(x):
    return tl.to_tensor(x).to(tl.float32, bitcast=True)


@triton.jit
def libdevice_double_as_longlong(x):
    return tl.to_tensor(x).to(tl.int64, bitcast=True)


@triton.jit
def libdevice_longlong_as_double(x):
    return tl.to_tensor(x).to(tl.float64, bitcast=True)


@triton.jit
def libdevice_double2hiint(x):
    return (libdevice_double_as_longlong(x) >> 32).to(tl.int32)


@triton.jit
def libdevice_double2loint(x):
    return libdevice_double_as_longlong(x).to(tl.int32)


@triton.jit
def libdevice_hiloint2double(high, low):
    low = tl.to_tensor(low).to(tl.uint32, bitcast=True).to(tl.int64)
    return ((tl.to_tensor(high).to(tl.int64) << 32) | low).to(tl.float64, bitcast=True)
)py";

} // namespace tessera::semantics
