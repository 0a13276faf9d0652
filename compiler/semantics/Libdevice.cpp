// compiler/semantics/Libdevice.cpp - libdevice functions, written in the kernel
// language.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Prelude.h"

namespace tessera::semantics {

// Functions that call _float take float32; the others take float64, too. atan
// and asin use the polynomials of Cephes' single-precision library (S.
// Moshier), 2 ulp. pow computes log2 |x| as the sum of two floats, by the
// series of atanh in (m - 1) / (m + 1), so that y log2 x keeps the bits that
// exp2 needs. log1p in float32 uses the series of fdlibm's logf; expm1 uses
// Taylor's on |r| <= ln 2 / 2. Both use W. Kahan's corrections of log(1 + x)
// and exp(x) - 1 in float64. float32 does not use a GPU's log near 1, where its
// relative error is large.
const char *const kLibdeviceText = R"py(

@triton.constexpr_function
def _is_fp32(x):
    return x == tl.float32


@triton.constexpr_function
def _is_real(x):
    return x == tl.float32 or x == tl.float64


@triton.jit
def _float(x):
    x = tl.to_tensor(x)
    tl.static_assert(_is_fp32(x.dtype.scalar), "this function of libdevice takes float32: convert with .to(tl.float32)")
    return x


@triton.jit
def _real(x):
    x = tl.to_tensor(x)
    tl.static_assert(_is_real(x.dtype.scalar), "this function of libdevice takes float32 or float64: convert with .to(tl.float32)")
    return x


@triton.jit
def _two_reals(x, y):
    # Both in the wider type and in one shape.
    x = _real(x)
    y = _real(y)
    if x.dtype == tl.float64 or y.dtype == tl.float64:
        x, y = tl.broadcast(x.to(tl.float64), y.to(tl.float64))
    else:
        x, y = tl.broadcast(x, y)
    return x, y


@triton.jit
def _bits(x):
    if x.dtype == tl.float64:
        bits = x.to(tl.int64, bitcast=True)
    else:
        bits = x.to(tl.int32, bitcast=True)
    return bits


@triton.jit
def _from_bits(x):
    if x.dtype == tl.int64:
        number = x.to(tl.float64, bitcast=True)
    else:
        number = x.to(tl.float32, bitcast=True)
    return number


@triton.constexpr_function
def _sign_bit(x):
    return -0x8000000000000000 if x == tl.float64 else -0x80000000


@triton.jit
def libdevice_copysign(x, y):
    x, y = _two_reals(x, y)
    SIGN: tl.constexpr = _sign_bit(x.dtype)
    return _from_bits((_bits(x) & ~SIGN) | (_bits(y) & SIGN))


@triton.jit
def libdevice_signbit(x):
    return (_bits(_real(x)) < 0).to(tl.int32)


@triton.jit
def libdevice_finitef(x):
    return tl.abs(_float(x)) < float("inf")


@triton.jit
def libdevice_isfinited(x):
    return tl.abs(x) < float("inf")


@triton.jit
def libdevice_fmod(x, y):
    return x % y


@triton.jit
def libdevice_fast_dividef(x, y):
    return x / y


@triton.jit
def libdevice_tan(x):
    return tl.sin(_real(x)) / tl.cos(x)


@triton.jit
def libdevice_fast_tanf(x):
    return libdevice_tan(x)


@triton.jit
def libdevice_log10(x):
    return tl.log2(_real(x)) * 0.30102999566398120


@triton.jit
def libdevice_fast_log10f(x):
    return libdevice_log10(x)


@triton.jit
def libdevice_exp10(x):
    if _real(x).dtype == tl.float64:
        high = x * 3.321928094887362
        # tl.fma takes a number as float32.
        low = tl.fma(x, tl.zeros_like(x) + 3.321928094887362, -high) + x * 1.661617516973592e-16
        low = tl.where(tl.abs(high) < 1e4, low, 0.0)
        power = tl.exp2(high) * tl.fma(low, 0.6931471805599453, 1.0)
    else:
        # An fma, so that no sum behind it takes the product before it is rounded.
        high = tl.fma(x, 3.321928024291992, 0.0)
        low = tl.fma(x, 3.321928024291992, -high) + x * 7.0595369e-8
        low = tl.where(tl.abs(high) < 1e4, low, 0.0)
        small = high < -100.0  # exp2 has no subnormal results on GPUs
        power = tl.exp2(tl.where(small, high + 64.0, high)) * tl.fma(low, 0.6931471805599453, 1.0)
        power = power * tl.where(small, 5.421010862427522e-20, 1.0)
    return power


@triton.jit
def libdevice_fast_exp10f(x):
    return libdevice_exp10(x)


@triton.jit
def _two_to(n):
    return ((n + 127) << 23).to(tl.float32, bitcast=True)


@triton.jit
def libdevice_log1p(x):
    u = 1.0 + _real(x)
    if x.dtype == tl.float64:
        result = tl.log(u) * (x / (u - 1.0))
        result = tl.where(u == 1.0, x, result)
    else:
        # What rounding took from u, for a u of any size.
        lost = tl.where(u < 2.0, x - (u - 1.0), 1.0 - (u - x))
        bits = _bits(u)
        n = (bits - 0x3F3504F3) >> 23
        f = (bits - (n << 23)).to(tl.float32, bitcast=True) - 1.0
        lost = lost / u
        k = n.to(tl.float32)
        s = f / (2.0 + f)
        z = s * s
        p = tl.fma(z, 0.24279078841, 0.28498786688)
        p = tl.fma(z, p, 0.40000972152)
        p = tl.fma(z, p, 0.66666662693) * z
        half = 0.5 * f * f
        tail = tl.fma(s, half + p, tl.fma(k, 9.0580006145e-6, lost))
        result = tl.fma(k, 0.693138122558594, f - (half - tail))
        result = tl.where(tl.abs(x) < 5.9604645e-8, x, result)
        result = tl.where(x == -1.0, -float("inf"), tl.where(x < -1.0, float("nan"), result))
    return tl.where((x == float("inf")) | (x != x), x, result)


@triton.jit
def _expm1_parts(x):
    # expm1(r) and n of x = n ln 2 + r, in float32; x at most 89 in size.
    n = tl.floor(tl.fma(x, 1.4426950408889634, 0.5))
    r = tl.fma(n, -0.693145751953125, x)
    r = tl.fma(n, -1.428606765330187e-6, r)
    p = tl.fma(r, 2.4801587e-5, 0.0001984127)
    p = tl.fma(r, p, 0.0013888889)
    p = tl.fma(r, p, 0.008333334)
    p = tl.fma(r, p, 0.041666668)
    p = tl.fma(r, p, 0.16666667)
    p = tl.fma(r, p, 0.5)
    return tl.fma(p * r, r, r), n.to(tl.int32)


@triton.jit
def libdevice_expm1(x):
    if _real(x).dtype == tl.float64:
        u = tl.exp(x)
        far = u - 1.0
        near = far * (x / tl.log(u))
        result = tl.where((tl.abs(x) > 40.0) | (far == -1.0), far, near)
        result = tl.where(u == 1.0, x, result)
    else:
        p, n = _expm1_parts(tl.minimum(tl.maximum(x, -30.0), 89.0))
        half = _two_to(n - 1)  # of 2^n, which may be 2^128
        result = 2.0 * tl.fma(half, p, half - 0.5)
        result = tl.where(n == 0, p, result)
        result = tl.where(x > 88.9, float("inf"), result)
        result = tl.where(tl.abs(x) < 1e-10, x, result)
    return tl.where(x != x, x, result)


@triton.jit
def libdevice_atan(x):
    size = tl.abs(_float(x))
    above = size > 2.414213562373095
    middle = (size > 0.4142135623730950) & (size <= 2.414213562373095)
    r = tl.where(above, -1.0 / size, tl.where(middle, (size - 1.0) / (size + 1.0), size))
    z = r * r
    p = tl.fma(z, 8.05374449538e-2, -1.38776856032e-1)
    p = tl.fma(z, p, 1.99777106478e-1)
    p = tl.fma(z, p, -3.33329491539e-1)
    p = tl.fma(z * p, r, r)
    p += tl.where(above, 1.5707963267948966, tl.where(middle, 0.7853981633974483, 0.0))
    return libdevice_copysign(p, x)


@triton.jit
def libdevice_atan2(y, x):
    a = tl.abs(_float(x))
    b = tl.abs(_float(y))
    larger = tl.maximum(a, b)
    ratio = tl.where(a == b, tl.where(a == 0.0, 0.0, 1.0), tl.minimum(a, b) / larger)
    ratio = tl.where((x != x) | (y != y), x + y, ratio)
    angle = libdevice_atan(ratio)
    angle = tl.where(b > a, 1.5707963267948966 - angle, angle)
    angle = tl.where(_bits(x) < 0, 3.141592653589793 - angle, angle)
    return tl.where(angle != angle, angle, libdevice_copysign(angle, y))


@triton.jit
def _asin_near(a):
    z = a * a
    p = tl.fma(z, 4.2163199048e-2, 2.4181311049e-2)
    p = tl.fma(z, p, 4.5470025998e-2)
    p = tl.fma(z, p, 7.4953002686e-2)
    p = tl.fma(z, p, 1.6666752422e-1)
    return tl.fma(p * z, a, a)


@triton.jit
def libdevice_asin(x):
    size = tl.abs(_float(x))
    far = size > 0.5
    p = _asin_near(tl.where(far, tl.sqrt(0.5 * (1.0 - size)), size))
    return libdevice_copysign(tl.where(far, 1.5707963267948966 - 2.0 * p, p), x)


@triton.jit
def libdevice_acos(x):
    size = tl.abs(_float(x))
    far = size > 0.5
    p = _asin_near(tl.where(far, tl.sqrt(0.5 * (1.0 - size)), x))
    large = tl.where(x > 0.0, 2.0 * p, 3.141592653589793 - 2.0 * p)
    return tl.where(far, large, 1.5707963267948966 - p)


@triton.jit
def _power_of(size, y):
    # size in (0, inf), y finite.
    tiny = size < 1.1754943508222875e-38
    bits = _bits(tl.where(tiny, size * 16777216.0, size))
    e = (bits - 0x3F3504F3) >> 23
    m = (bits - (e << 23)).to(tl.float32, bitcast=True)
    exponent = (e - tl.where(tiny, 24, 0)).to(tl.float32)
    f = m - 1.0
    g = m + 1.0
    g_low = tl.where(m > 1.0, 1.0 - (g - m), m - (g - 1.0))
    s = f / g
    s_low = (tl.fma(-s, g, f) - s * g_low) / g
    z = s * s
    p = tl.fma(z, 0.18181818181818182, 0.2222222222222222)
    p = tl.fma(z, p, 0.2857142857142857)
    p = tl.fma(z, p, 0.4)
    p = tl.fma(z, p, 0.6666666666666666)
    low = tl.fma(p * z, s, 2.0 * s_low)
    high = 2.0 * s
    # The rounding of the sum by one fma, which is right whether the product in
    # it was rounded or not.
    log = exponent + high * 1.4426950216293335
    log_low = tl.fma(high, 1.4426950216293335, exponent - log)
    log_low += tl.fma(high, 1.9259629911266175e-8, low * 1.4426950216293335)
    # Beyond these the result is 0 or infinite.
    y = tl.minimum(tl.maximum(y, -1e11), 1e11)
    t = log * y
    inside = tl.abs(t) < 200.0
    t_low = tl.where(inside, tl.fma(log, y, -t) + log_low * y, 0.0)
    t = tl.minimum(tl.maximum(t, -200.0), 200.0)
    n = tl.floor(t + 0.5)
    result = tl.exp2((t - n) + t_low)
    whole = n.to(tl.int32)
    half = whole >> 1
    return result * _two_to(half) * _two_to(whole - half)


@triton.jit
def libdevice_pow(x, y):
    x, y = tl.broadcast(_float(x), tl.to_tensor(y).to(tl.float32))
    infinity: tl.constexpr = float("inf")
    size = tl.abs(x)
    large = tl.abs(y)
    whole = (tl.floor(large) == large) & (large < infinity)
    odd = whole & (large < 16777216.0) & (tl.floor(large * 0.5) * 2.0 != large)
    plain = (size > 0.0) & (size < infinity) & (large < infinity)
    result = _power_of(tl.where(plain, size, 1.0), tl.where(plain, y, 1.0))
    # 0, infinity and beyond: 0 or infinity, except 1 to any power.
    grows = ((size > 1.0) & (y > 0.0)) | ((size < 1.0) & (y < 0.0))
    edge = tl.where(size == 1.0, 1.0, tl.where(grows, infinity, 0.0))
    result = tl.where(plain, result, edge)
    negative = _bits(x) < 0
    result = tl.where(negative & odd, -result, result)
    nan = (x != x) | (y != y) | ((x < 0.0) & (size < infinity) & (large < infinity) & (whole == 0))
    result = tl.where(nan, float("nan"), result)
    return tl.where((y == 0.0) | (x == 1.0), 1.0, result)


@triton.jit
def libdevice_fast_powf(x, y):
    return libdevice_pow(x, y)
)py";

} // namespace tessera::semantics
