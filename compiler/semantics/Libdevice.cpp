// compiler/semantics/Libdevice.cpp - functions of libdevice, in the language.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Prelude.h"

namespace tessera::semantics {

// All take float32. atan, asin: the polynomials of Cephes' single-precision
// library (S. Moshier), 2 ulp. pow: log2 |x| as the sum of two floats, by the
// series of atanh in (m - 1) / (m + 1), so that y log2 x keeps the bits that
// exp2 needs. log1p, expm1: W. Kahan's corrections of log(1 + x), exp(x) - 1.
const char *const kLibdeviceText = R"py(

@triton.constexpr_function
def _is_fp32(x):
    return x == tl.float32


@triton.jit
def _float(x):
    x = tl.to_tensor(x)
    tl.static_assert(_is_fp32(x.dtype.scalar), "this function of libdevice takes float32: convert with .to(tl.float32)")
    return x


@triton.jit
def _bits(x):
    return x.to(tl.int32, bitcast=True)


@triton.jit
def libdevice_copysign(x, y):
    size = _bits(_float(x)) & 0x7FFFFFFF
    sign = _bits(_float(y)) & -0x80000000
    return (size | sign).to(tl.float32, bitcast=True)


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
def libdevice_div_rz(x, y):
    q = tl.div_rn(_float(x), _float(y))
    rest = tl.fma(-q, y, x)
    away = ((rest < 0) & (x > 0)) | ((rest > 0) & (x < 0))
    return tl.where(away, (_bits(q) - 1).to(tl.float32, bitcast=True), q)


@triton.jit
def libdevice_tan(x):
    return tl.sin(_float(x)) / tl.cos(x)


@triton.jit
def libdevice_fast_tanf(x):
    return libdevice_tan(x)


@triton.jit
def libdevice_log10(x):
    return tl.log2(_float(x)) * 0.30102999566398120


@triton.jit
def libdevice_fast_log10f(x):
    return libdevice_log10(x)


@triton.jit
def libdevice_exp10(x):
    # An fma, so that no sum behind it takes the product before it is rounded.
    high = tl.fma(_float(x), 3.321928024291992, 0.0)
    low = tl.fma(x, 3.321928024291992, -high) + x * 7.0595369e-8
    low = tl.where(tl.abs(high) < 1e4, low, 0.0)
    small = high < -100.0  # exp2 has no subnormal results on GPUs
    power = tl.exp2(tl.where(small, high + 64.0, high)) * tl.fma(low, 0.6931471805599453, 1.0)
    return power * tl.where(small, 5.421010862427522e-20, 1.0)


@triton.jit
def libdevice_fast_exp10f(x):
    return libdevice_exp10(x)


@triton.jit
def libdevice_log1p(x):
    u = 1.0 + _float(x)
    near = tl.log(u) * (x / (u - 1.0))
    return tl.where((u == 1.0) | (x == float("inf")), x, near)


@triton.jit
def libdevice_expm1(x):
    u = tl.exp(_float(x))
    far = u - 1.0
    near = far * (x / tl.log(u))
    return tl.where(u == 1.0, x, tl.where((tl.abs(x) > 16.0) | (far == -1.0), far, near))


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
def _two_to(n):
    return ((n + 127) << 23).to(tl.float32, bitcast=True)


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
