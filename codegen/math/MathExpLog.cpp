// codegen/math/MathExpLog.cpp - exponentials and logarithms as polynomials.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Coefficients are minimax fits on the reduced range, computed in 160 bits and
// rounded from the lowest degree up, each refitted to the ones rounded before.
// Comments give the error of the polynomial alone; docs/numerics.md has the
// measured error of the functions.
#include "codegen/math/MathEmitter.h"

using mlir::Value;

namespace tessera::codegen {
namespace {

// 2^f on [-0.5, 0.5]: 2^-28.3 relative (f32), 2^-59.7 (f64).
constexpr double exp2F32[] = {0x1p+0,        0x1.62e43p-1,  0x1.ebfbdcp-3,
                              0x1.c6af7ap-5, 0x1.3b2dd4p-7, 0x1.5f0952p-10,
                              0x1.417872p-13};
constexpr double exp2F64[] = {0x1p+0,
                              0x1.62e42fefa39efp-1,
                              0x1.ebfbdff82c58ep-3,
                              0x1.c6b08d704a1d5p-5,
                              0x1.3b2ab6fba5199p-7,
                              0x1.5d87fe7874082p-10,
                              0x1.430912f7595b1p-13,
                              0x1.ffcbfd4abdb39p-17,
                              0x1.62c0271987766p-20,
                              0x1.b5232eb643899p-24,
                              0x1.e4bbd859fd958p-28,
                              0x1.ec76e5a0de08cp-32,
                              0x1.e075f7067839ap-36};

// (e^r - 1 - r) / r^2 on [-ln2/2, ln2/2]: 2^-28.3 of e^r (f32), 2^-63.8 (f64).
constexpr double expF32[] = {0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558bp-5,
                             0x1.123992p-7, 0x1.6a4db8p-10};
constexpr double expF64[] = {0x1p-1,
                             0x1.555555555555ap-3,
                             0x1.555555555553p-5,
                             0x1.111111110f15bp-7,
                             0x1.6c16c16c2763ap-10,
                             0x1.a01a01b1eb55p-13,
                             0x1.a01a014ff30fap-16,
                             0x1.71ddf37354d3cp-19,
                             0x1.27e59314c4469p-22,
                             0x1.af66e31eca055p-26,
                             0x1.1e5cfa25e15bdp-29};

// (ln(1+f) - f + f^2/2) / f^3 on [sqrt(1/2)-1, sqrt(2)-1]: 2^-30.3 of ln(1+f).
constexpr double logF32[] = {0x1.555548p-2,  -0x1.000006p-2, 0x1.99a476p-3,
                             -0x1.555c4cp-3, 0x1.233bb8p-3,  -0x1.fc277ap-4,
                             0x1.e6bc8ep-4,  -0x1.de0848p-4, 0x1.1483eap-4};
// (log2(1+f) - f*log2(e)) / f^2 on the same range: 2^-30.3 of log2(1+f).
constexpr double log2F32[] = {-0x1.715476p-1, 0x1.ec708cp-2,  -0x1.7154acp-2,
                              0x1.277e66p-2,  -0x1.ec71d8p-3, 0x1.a42aaap-3,
                              -0x1.6eee8cp-3, 0x1.5f5a82p-3,  -0x1.574fe2p-3,
                              0x1.8affacp-4};
// (ln((1+s)/(1-s)) / s - 2) / s^2 in powers of s^2, s = f/(2+f): 2^-59.5.
constexpr double logF64[] = {0x1.5555555555592p-1, 0x1.999999997fedcp-2,
                             0x1.24924941e6b29p-2, 0x1.c71c520f032b8p-3,
                             0x1.74663e2014a73p-3, 0x1.39a1c863a9a69p-3,
                             0x1.2f0507460ba5ap-3};

constexpr double log2OfE = 0x1.71547652b82fep+0;

// Adding this rounds to an integer and leaves that in the low bits.
double roundingConstant(MathEmitter &e) {
  return e.isF64() ? 0x1.8p52 : 0x1.8p23;
}

// p * 2^n for the integer in the low bits of `shifted`. Without an instruction
// for it in two factors, so that the only rounding is the last one, where the
// result is subnormal: the same bits either way.
Value scale(MathEmitter &e, Value p, Value shifted) {
  if (e.hasScalef())
    return e.scalef(p, e.sub(shifted, e.number(roundingConstant(e))));
  int64_t mantissa = e.isF64() ? 52 : 23;
  Value bias = e.integer(e.isF64() ? 1023 : 127);
  Value n = e.subi(e.bits(shifted), e.bits(e.number(roundingConstant(e))));
  Value half = e.shr(n, 1);
  Value rest = e.subi(n, half);
  Value first = e.fromBits(e.shl(e.addi(half, bias), mantissa));
  Value second = e.fromBits(e.shl(e.addi(rest, bias), mantissa));
  return e.mul(e.mul(p, first), second);
}

// x = m * 2^k with m in [sqrt(1/2), sqrt(2)); f = m - 1, exactly.
struct Split {
  Value f, k;
};

Split split(MathEmitter &e, Value x) {
  int64_t mantissa = e.isF64() ? 52 : 23;
  double tiny = e.isF64() ? 0x1p-1022 : 0x1p-126;
  double up = e.isF64() ? 0x1p52 : 0x1p23;
  int64_t sqrtHalf = e.isF64() ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  Value subnormal = e.less(x, e.number(tiny));
  Value normal = e.select(subnormal, e.mul(x, e.number(up)), x);
  Value bits = e.bits(normal);
  Value k = e.shr(e.subi(bits, e.integer(sqrtHalf)), mantissa);
  Value m = e.fromBits(e.subi(bits, e.shl(k, mantissa)));
  Value adjust = e.select(subnormal, e.number(-double(mantissa)), e.number(0));
  return {e.sub(m, e.number(1)), e.add(e.toFloat(k), adjust)};
}

// What no formula gives: log(0) = -inf, log(<0) = nan, log(inf) = inf,
// log(nan) = nan.
Value logLimits(MathEmitter &e, Value x, Value result) {
  double inf = std::numeric_limits<double>::infinity();
  double nan = std::numeric_limits<double>::quiet_NaN();
  Value zero = e.number(0);
  result = e.select(e.less(x, e.number(inf)), result, x);
  result = e.select(e.equal(x, zero), e.number(-inf), result);
  return e.select(e.less(x, zero), e.number(nan), result);
}

// ln(1+f) in f64.
Value log1pF64(MathEmitter &e, Value f, Value tail) {
  Value s = e.div(f, e.add(f, e.number(2)));
  Value z = e.mul(s, s);
  Value r = e.mul(z, e.polynomial(z, logF64));
  Value halfSquare = e.mul(e.mul(f, f), e.number(0.5));
  Value correction = e.fma(s, e.add(halfSquare, r), tail);
  return e.sub(f, e.sub(halfSquare, correction));
}

} // namespace

Value emitExp2(MathEmitter &e, Value x) {
  // Beyond these the result is 0 or infinite for good.
  x = e.atLeast(x, e.isF64() ? -1080 : -152);
  x = e.atMost(x, e.isF64() ? 1025 : 129);
  Value rounding = e.number(roundingConstant(e));
  Value shifted = e.add(x, rounding);
  Value f = e.sub(x, e.sub(shifted, rounding));
  Value p = e.isF64() ? e.polynomial(f, exp2F64) : e.polynomial(f, exp2F32);
  return scale(e, p, shifted);
}

Value emitExp(MathEmitter &e, Value x) {
  x = e.atLeast(x, e.isF64() ? -750 : -105);
  x = e.atMost(x, e.isF64() ? 710 : 89);
  Value rounding = e.number(roundingConstant(e));
  Value shifted = e.fma(x, e.number(log2OfE), rounding);
  Value n = e.sub(shifted, rounding);
  // ln 2 in two parts; n times the first is exact.
  double high = e.isF64() ? 0x1.62e42fefa38p-1 : 0x1.62e4p-1;
  double low = e.isF64() ? 0x1.ef35793c7673p-45 : 0x1.7f7d1cp-20;
  Value r = e.fma(n, e.number(-high), x);
  r = e.fma(n, e.number(-low), r);
  Value q = e.isF64() ? e.polynomial(r, expF64) : e.polynomial(r, expF32);
  Value p = e.add(e.fma(e.mul(r, r), q, r), e.number(1));
  return scale(e, p, shifted);
}

Value emitLogistic(MathEmitter &e, Value x) {
  Value one = e.number(1);
  Value power = emitExp(e, x);
  Value sum = e.add(power, one);
  Value q = e.div(one, sum);
  // What the sum lost (exact: the larger summand is known), then one step of
  // Newton with it. An infinite sum stays as it is.
  Value oneIsLess = e.less(one, power);
  Value large = e.select(oneIsLess, power, one);
  Value small = e.select(oneIsLess, one, power);
  Value lost = e.sub(small, e.sub(sum, large));
  Value residual = e.fma(e.neg(q), sum, one);
  residual = e.fma(e.neg(q), lost, residual);
  Value better = e.fma(residual, q, q);
  double most = e.isF64() ? 0x1p1000 : 0x1p126;
  return e.select(e.less(sum, e.number(most)), better, q);
}

Value emitLog(MathEmitter &e, Value x) {
  auto [f, k] = split(e, x);
  Value result;
  if (e.isF64()) {
    Value tail = e.mul(k, e.number(0x1.ef35793c7673p-45));
    result = e.fma(k, e.number(0x1.62e42fefa38p-1), log1pF64(e, f, tail));
  } else {
    Value square = e.mul(f, f);
    Value inner = e.fma(f, e.polynomial(f, logF32), e.number(-0.5));
    Value low = e.mul(k, e.number(0x1.7f7d1cp-20));
    Value y = e.add(f, e.fma(square, inner, low));
    result = e.fma(k, e.number(0x1.62e4p-1), y);
  }
  return logLimits(e, x, result);
}

Value emitLog2(MathEmitter &e, Value x) {
  auto [f, k] = split(e, x);
  // log2(e) in two parts, the product with f or ln(m) as well.
  Value argument = e.isF64() ? log1pF64(e, f, e.number(0)) : f;
  Value c = e.number(e.isF64() ? log2OfE : double(float(log2OfE)));
  Value cLow = e.number(e.isF64() ? 0x1.777d0ffda0d24p-56
                                  : log2OfE - double(float(log2OfE)));
  Value high = e.mul(argument, c);
  Value low = e.fma(argument, cLow, e.fma(argument, c, e.neg(high)));
  if (!e.isF64())
    low = e.fma(e.mul(f, f), e.polynomial(f, log2F32), low);
  Value result = e.add(k, e.add(high, low));
  return logLimits(e, x, result);
}

} // namespace tessera::codegen
