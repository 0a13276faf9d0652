// compiler/semantics/LibdeviceElementary.cpp - hyperbolic functions, roots,
// norms, remainders.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Prelude.h"

namespace tessera::semantics {

// Functions take float32 and float64 unless they ask for another type. cbrt and
// the norms of float32 are computed in float64 and rounded once.
const char *const kLibdeviceElementaryText = R"py(

@triton.jit
def _exp(x):
    # e to the power x to 2 ulp, also where a GPU's exp loses digits: for large x.
    if x.dtype == tl.float64:
        result = tl.exp(x)
    else:
        p, n = _expm1_parts(tl.minimum(tl.maximum(x, -104.0), 89.5))
        first = n >> 1
        result = (p + 1.0) * _two_to(first) * _two_to(n - first)
    return tl.where(x != x, x, result)


@triton.jit
def libdevice_sinh(x):
    size = tl.abs(_real(x))
    e = libdevice_expm1(size)
    half = _exp(0.5 * size)
    result = tl.where(size > 80.0, (0.5 * half) * half, 0.5 * (e + e / (e + 1.0)))
    return libdevice_copysign(tl.where(x != x, x, result), x)


@triton.jit
def libdevice_cosh(x):
    size = tl.abs(_real(x))
    half = _exp(0.5 * size)
    e = _exp(size)
    return tl.where(size > 80.0, (0.5 * half) * half, 0.5 * (e + 1.0 / e))


@triton.jit
def libdevice_asinh(x):
    size = tl.abs(_real(x))
    far = size > 1e8
    a = tl.where(far, 1.0, size)
    near = libdevice_log1p(a + a * a / (1.0 + tl.sqrt(a * a + 1.0)))
    large = tl.log(tl.where(far, size, 2.0)) + 0.6931471805599453
    return libdevice_copysign(tl.where(far, large, near), x)


@triton.jit
def libdevice_acosh(x):
    far = _real(x) > 1e8
    t = tl.where(far, 1.0, x) - 1.0
    near = libdevice_log1p(t + tl.sqrt(2.0 * t + t * t))
    large = tl.log(tl.where(far, x, 2.0)) + 0.6931471805599453
    return tl.where(x < 1.0, float("nan"), tl.where(far, large, near))


@triton.jit
def libdevice_atanh(x):
    size = tl.abs(_real(x))
    inside = size < 1.0
    a = tl.where(inside, size, 0.0)
    near = 0.5 * libdevice_log1p(2.0 * a / (1.0 - a))
    edge = tl.where(size == 1.0, float("inf"), float("nan"))
    return libdevice_copysign(tl.where(inside, near, edge), x)


@triton.jit
def libdevice_cbrt(x):
    size = tl.abs(_real(x))
    plain = (size > 0.0) & (size < float("inf"))
    a = tl.where(plain, size, 1.0).to(tl.float64)
    t = tl.exp2(tl.log2(a) * 0.3333333333333333)
    t = t - (t * t * t - a) / (3.0 * t * t)
    return libdevice_copysign(tl.where(plain, t.to(x.dtype), size), x)


@triton.jit
def libdevice_rcbrt(x):
    return 1.0 / libdevice_cbrt(x)


@triton.jit
def _norm(x, y, z, w):
    # Of four numbers of one type; infinite where one is, even beside a NaN.
    infinity: tl.constexpr = float("inf")
    x = tl.abs(x)
    y = tl.abs(y)
    z = tl.abs(z)
    w = tl.abs(w)
    infinite = (x == infinity) | (y == infinity) | (z == infinity) | (w == infinity)
    if x.dtype == tl.float64:
        largest = tl.maximum(tl.maximum(x, y), tl.maximum(z, w))
        scale = tl.where((largest > 0.0) & (largest < infinity), largest, 1.0)
        a = x / scale
        b = y / scale
        c = z / scale
        d = w / scale
        result = scale * tl.sqrt(a * a + b * b + c * c + d * d)
    else:
        a = x.to(tl.float64)
        b = y.to(tl.float64)
        c = z.to(tl.float64)
        d = w.to(tl.float64)
        result = tl.sqrt(a * a + b * b + c * c + d * d).to(tl.float32)
    return tl.where(infinite, infinity, result)


@triton.jit
def libdevice_hypot(x, y):
    x, y = _two_reals(x, y)
    zero = tl.zeros_like(x)
    return _norm(x, y, zero, zero)


@triton.jit
def libdevice_rhypot(x, y):
    return 1.0 / libdevice_hypot(x, y)


@triton.jit
def libdevice_norm3d(x, y, z):
    x, y = _two_reals(x, y)
    x, z = _two_reals(x, z)
    x, y = _two_reals(x, y)
    return _norm(x, y, z, tl.zeros_like(x))


@triton.jit
def libdevice_rnorm3d(x, y, z):
    return 1.0 / libdevice_norm3d(x, y, z)


@triton.jit
def libdevice_norm4d(x, y, z, w):
    x, y = _two_reals(x, y)
    z, w = _two_reals(z, w)
    x, z = _two_reals(x, z)
    x, y = _two_reals(x, y)
    z, w = _two_reals(z, w)
    return _norm(x, y, z, w)


@triton.jit
def libdevice_rnorm4d(x, y, z, w):
    return 1.0 / libdevice_norm4d(x, y, z, w)


@triton.jit
def _quarter_turns(x):
    # The f in [-1/4, 1/4] and the number of quarters of x = f + quarters / 2,
    # both exact; 2x is whole from 2^52 on.
    quarters = tl.floor(2.0 * x + 0.5)
    f = x - 0.5 * quarters
    return f, quarters - 4.0 * tl.floor(0.25 * quarters)


@triton.jit
def libdevice_sinpi(x):
    f, turn = _quarter_turns(_real(x))
    sine = tl.sin(f * 3.141592653589793)
    cosine = tl.cos(f * 3.141592653589793)
    result = tl.where((turn == 0.0) | (turn == 2.0), sine, cosine)
    result = tl.where(turn >= 2.0, 0.0 - result, result)
    return tl.where(result == 0.0, libdevice_copysign(0.0 * result, x), result)


@triton.jit
def libdevice_cospi(x):
    f, turn = _quarter_turns(tl.abs(_real(x)))
    sine = tl.sin(f * 3.141592653589793)
    cosine = tl.cos(f * 3.141592653589793)
    result = tl.where((turn == 0.0) | (turn == 2.0), cosine, sine)
    return tl.where((turn == 1.0) | (turn == 2.0), 0.0 - result, result)


@triton.jit
def libdevice_fdim(x, y):
    x, y = _two_reals(x, y)
    return tl.where((x != x) | (y != y), x + y, tl.where(x > y, x - y, 0.0))


@triton.jit
def libdevice_saturatef(x):
    return tl.where(_float(x) > 0.0, tl.minimum(x, 1.0), 0.0)


@triton.jit
def libdevice_remainder(x, y):
    # As in fdlibm: x modulo 2 y, then at most two steps of y.
    x, y = _two_reals(x, y)
    b = tl.abs(y)
    LIMIT: tl.constexpr = 8e307 if x.dtype == tl.float64 else 1.6e38
    a = tl.abs(tl.where(b < LIMIT, x % (2.0 * tl.where(b < LIMIT, b, 1.0)), x))
    half = 0.5 * b
    less = a - b
    less = tl.where(less >= half, less - b, less)
    a = tl.where(a > half, less, a)
    a = tl.where((b == float("inf")) & (tl.abs(x) < float("inf")), tl.abs(x), a)
    signed = tl.where(_bits(x) < 0, 0.0 - a, a)
    signed = tl.where(signed == 0.0, libdevice_copysign(0.0 * signed, x), signed)
    return tl.where((b == 0.0) | (x != x) | (y != y) | (tl.abs(x) == float("inf")), float("nan"), signed)


@triton.jit
def libdevice_nextafter(x, y):
    x, y = _two_reals(x, y)
    bits = _bits(x)
    away = tl.where((x < y) == (x > 0.0), bits + 1, bits - 1)
    SIGN: tl.constexpr = _sign_bit(x.dtype)
    away = tl.where(x == 0.0, tl.where(y > 0.0, 1, SIGN + 1), away)
    result = _from_bits(away.to(bits.dtype))
    result = tl.where(x == y, y, result)
    return tl.where((x != x) | (y != y), x + y, result)


@triton.jit
def libdevice_ilogb(x):
    # The exponent of x as an int32; INT_MIN + 1 of 0, INT_MAX beyond.
    if _real(x).dtype == tl.float64:
        tiny = tl.abs(x) < 2.2250738585072014e-308
        bits = _bits(tl.where(tiny, x * 18014398509481984.0, x))
        e = ((bits >> 52) & 0x7FF).to(tl.int32) - 1023 - tl.where(tiny, 54, 0)
    else:
        tiny = tl.abs(x) < 1.1754943508222875e-38
        bits = _bits(tl.where(tiny, x * 16777216.0, x))
        e = ((bits >> 23) & 0xFF) - 127 - tl.where(tiny, 24, 0)
    e = tl.where(x == 0.0, -0x7FFFFFFF, e)
    e = tl.where(tl.abs(x) == float("inf"), 0x7FFFFFFF, e)
    return tl.where(x != x, -0x7FFFFFFF - 1, e)


@triton.jit
def libdevice_logb(x):
    e = libdevice_ilogb(x).to(x.dtype)
    e = tl.where(x == 0.0, -float("inf"), e)
    return tl.where((tl.abs(x) == float("inf")) | (x != x), tl.abs(x), e)


@triton.jit
def libdevice_ldexp(x, n):
    x = _real(x)
    n = tl.minimum(tl.maximum(n, -2400), 2400)
    if x.dtype == tl.float64:
        step: tl.constexpr = 1000
    else:
        step: tl.constexpr = 120
        n = tl.minimum(tl.maximum(n, -300), 300)
    # Three powers of two, the largest last: only its product may be rounded.
    a = tl.minimum(tl.maximum(n, -step), step)
    b = tl.minimum(tl.maximum(n - a, -step), step)
    c = n - a - b
    x = x * _power_of_two(c, x.dtype) * _power_of_two(b, x.dtype)
    return x * _power_of_two(a, x.dtype)


@triton.jit
def _power_of_two(n, dtype: tl.constexpr):
    if dtype == tl.float64:
        power = ((n.to(tl.int64) + 1023) << 52).to(tl.float64, bitcast=True)
    else:
        power = _two_to(n)
    return power


@triton.jit
def libdevice_scalbn(x, n):
    return libdevice_ldexp(x, n)


@triton.jit
def libdevice_nearbyint(x):
    return tl.math.rint(x)


@triton.jit
def libdevice_llrint(x):
    return tl.math.rint(x).to(tl.int64)


@triton.jit
def libdevice_llround(x):
    return tl.math.round(x).to(tl.int64)


@triton.jit
def libdevice_rsqrt_rn(x):
    return (1.0 / tl.sqrt(_float(x).to(tl.float64))).to(tl.float32)
)py";

} // namespace tessera::semantics
