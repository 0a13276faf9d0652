// compiler/semantics/LibdeviceSpecial.cpp - libdevice's error function, normal
// distribution and gamma functions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Prelude.h"

namespace tessera::semantics {

// All functions compute in float64, so float32 results are rounded once. erfcx
// is a polynomial in (x - 4) / (x + 4) divided by 1 + 2 x (M. Shepherd and J.
// Laframboise, 1981), with an error of 2e-18. Gamma functions use C. Lanczos'
// sum for g = 7, with a relative error of 1e-15, and Euler's reflection.
const char *const kLibdeviceSpecialText = R"py(

_ERFCX: tl.constexpr = (
    1.2329951186255526, -0.1396211168405625, 0.01537965210261959, 0.0680970542546913, -0.1010390660362999, 0.0937328349984105,
    -0.06633036581219905, 0.03716751553632399, -0.01619773405968329, 0.0050319699895242515, -0.000757773262030915, -0.00019925676026410458,
    0.00015062149237837335, -2.43989944557621e-05, -1.1221292615314274e-05, 5.709314113532492e-06, 2.9198219084548256e-07, -8.25078338681245e-07,
    7.74606863568198e-08, 1.1025271999000152e-07, -2.05545313698593e-08, -1.4806988146925795e-08, 3.1672611119361695e-09, 1.825695118953907e-09,
    -2.655726616312575e-10, -1.4311318470928162e-10)

_LANCZOS: tl.constexpr = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7)

_ERFINV_NEAR: tl.constexpr = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.000218580870, -4.39150654e-6, -3.5233877e-6,
    3.43273939e-7, 2.81022636e-8)

_ERFINV_FAR: tl.constexpr = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844, 0.00134934322,
    0.000100950558, -0.000200214257)


@triton.jit
def _series(x, COEFFICIENTS: tl.constexpr):
    # Horner's scheme, the lowest coefficient first.
    COUNT: tl.constexpr = len(COEFFICIENTS)
    total = COEFFICIENTS[COUNT - 1] + 0.0 * x
    for i in tl.static_range(1, COUNT):
        total = total * x + COEFFICIENTS[COUNT - 1 - i]
    return total


@triton.jit
def _erfcx_above(x):
    # e^(x^2) erfc(x) of a float64 x >= 0.
    q = 1.0 - 8.0 / (x + 4.0)
    return _series(q, _ERFCX) / (1.0 + 2.0 * x)


@triton.jit
def _exp_of_square(x, sign: tl.constexpr):
    # e^(sign x^2) with the square as the sum of two numbers.
    high = x * x
    low = tl.fma(x, x, -high)
    return tl.where(high < 800.0, tl.exp(sign * high) * (1.0 + sign * low), float("inf") if sign > 0 else 0.0)


@triton.jit
def _erfc(x):
    size = tl.abs(x)
    small = tl.minimum(size, 40.0)
    above = _erfcx_above(small) * _exp_of_square(small, -1.0)
    near = 1.0 - tl.erf(tl.where(size < 0.5, x, 0.0))
    result = tl.where(size < 0.5, near, tl.where(x < 0.0, 2.0 - above, above))
    return tl.where(x != x, x, result)


@triton.jit
def libdevice_erfc(x):
    return _erfc(_real(x).to(tl.float64)).to(x.dtype)


@triton.jit
def libdevice_erfcx(x):
    wide = _real(x).to(tl.float64)
    size = tl.abs(wide)
    above = _erfcx_above(tl.minimum(size, 1e300))
    result = tl.where(wide < 0.0, 2.0 * _exp_of_square(size, 1.0) - above, above)
    result = tl.where(wide == float("inf"), 0.0, result)
    return tl.where(x != x, x, result.to(x.dtype))


@triton.jit
def libdevice_normcdf(x):
    # erfc(-x / sqrt 2), with what the rounding of that quotient took.
    wide = _real(x).to(tl.float64)
    factor = tl.zeros_like(wide) - 0.7071067811865476
    t = wide * factor
    rest = tl.fma(wide, factor, -t) + wide * 4.833646656726457e-17
    rest = tl.where(tl.abs(wide) < 40.0, rest, 0.0)
    slope = 1.1283791670955126 * _exp_of_square(tl.minimum(tl.abs(t), 40.0), -1.0)
    return (0.5 * (_erfc(t) - rest * slope)).to(x.dtype)


@triton.jit
def _erfinv_start(w):
    # M. Giles, "Approximating the erfinv function", of w = -ln(1 - x^2), divided by x.
    near = _series(w - 2.5, _ERFINV_NEAR)
    far = _series(tl.sqrt(tl.maximum(w, 5.0)) - 3.0, _ERFINV_FAR)
    return tl.where(w < 5.0, near, far)


@triton.jit
def _erfcinv(x):
    # Of x in (0, 1], float64: Newton's method on erfc, in steps relative to it.
    w = -tl.log(x * (2.0 - x))
    far = w > 16.0
    start = (1.0 - x) * _erfinv_start(tl.where(far, 1.0, w))
    s = tl.sqrt(tl.where(far, w, 16.0))
    guess = tl.sqrt(s * s - tl.log(s * 1.7724538509055159) + 0.6931471805599453)
    y = tl.where(far, guess, start)
    for _step in tl.static_range(4):
        y += (_erfc(y) - x) * 0.8862269254527580 * _exp_of_square(y, 1.0)
    return y


@triton.jit
def _erfinv_near(a):
    # Of a float64 in [0, 1/2].
    y = a * _erfinv_start(-tl.log((1.0 - a) * (1.0 + a)))
    for _step in tl.static_range(2):
        y -= (tl.erf(y) - a) * 0.8862269254527580 * tl.exp(y * y)
    return y


@triton.jit
def libdevice_erfinv(x):
    wide = _real(x).to(tl.float64)
    size = tl.abs(wide)
    a = tl.where(size < 0.5, size, 0.25)
    y = _erfinv_near(a)
    rest = 1.0 - size
    y = tl.where(size < 0.5, y, _erfcinv(tl.where((rest > 0.0) & (rest <= 0.5), rest, 0.5)))
    edge = tl.where(size == 1.0, float("inf"), float("nan"))
    return libdevice_copysign(tl.where(size < 1.0, y, edge).to(x.dtype), x)


@triton.jit
def libdevice_erfcinv(x):
    wide = _real(x).to(tl.float64)
    below = wide < 1.0
    side = tl.where(below, wide, 2.0 - wide)
    inside = (side > 0.0) & (side <= 1.0)
    near = inside & (side > 0.5)
    y = tl.where(near, _erfinv_near(tl.where(near, 1.0 - side, 0.25)), _erfcinv(tl.where(inside, side, 0.5)))
    y = tl.where(inside, y, tl.where(side == 0.0, float("inf"), float("nan")))
    return tl.where(below, y, 0.0 - y).to(x.dtype)


@triton.jit
def libdevice_normcdfinv(x):
    return (-1.4142135623730951 * libdevice_erfcinv(2.0 * _real(x).to(tl.float64))).to(x.dtype)


@triton.jit
def _lanczos(x):
    # Gamma(x + 1) = sqrt(2 pi) t^(x + 1/2) e^-t s with t = x + 7.5: s.
    total = _LANCZOS[0] + 0.0 * x
    for i in tl.static_range(1, 9):
        total += _LANCZOS[i] / (x + i)
    return total


@triton.jit
def libdevice_lgamma(x):
    wide = _real(x).to(tl.float64)
    low = wide < 0.5
    z = tl.where(low, 1.0 - wide, wide) - 1.0
    t = tl.minimum(z, 1e300) + 7.5
    log = (z + 0.5) * (tl.log(t) - 1.0) + tl.log(_lanczos(z) * 0.0022857491179850424)
    sine = tl.abs(libdevice_sinpi(wide))
    whole = low & (sine == 0.0)
    mirrored = 1.1447298858494002 - tl.log(tl.where(whole, 1.0, sine)) - log
    result = tl.where(low, mirrored, log)
    result = tl.where((wide == 1.0) | (wide == 2.0), 0.0, result)
    result = tl.where(whole | (tl.abs(wide) == float("inf")), float("inf"), result)
    return tl.where(x != x, x, result.to(x.dtype))


@triton.jit
def libdevice_tgamma(x):
    wide = _float(x).to(tl.float64)
    low = wide < 0.5
    z = tl.where(low, 1.0 - wide, wide) - 1.0
    inner = tl.minimum(z, 200.0)
    t = inner + 7.5
    gamma = tl.exp((inner + 0.5) * tl.log(t) - t) * 2.5066282746310002 * _lanczos(inner)
    sine = libdevice_sinpi(wide)
    whole = low & (sine == 0.0)
    mirrored = 3.141592653589793 / (tl.where(whole, 1.0, sine) * gamma)
    result = tl.where(low, mirrored, gamma).to(tl.float32)
    zero = libdevice_copysign(0.0 * result + float("inf"), x)
    result = tl.where(whole, tl.where(x == 0.0, zero, float("nan")), result)
    return tl.where(x == float("inf"), x, tl.where(x != x, x, result))
)py";

} // namespace tessera::semantics
