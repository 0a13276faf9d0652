// codegen/math/MathOther.cpp - sin, cos, tanh, erf and the float remainder.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/math/MathEmitter.h"

using mlir::Value;

namespace tessera::codegen {
namespace {

// (sin r - r) / r^3 and (cos r - 1 + r^2/2) / r^4 in powers of r^2 on
// [-pi/4, pi/4]: 2^-27.9 and 2^-33 relative (f32), 2^-57.9 and 2^-63.9 (f64).
constexpr double sinF32[] = {-0x1.555546p-3, 0x1.110778p-7, -0x1.9953f8p-13};
constexpr double cosF32[] = {0x1.55554ap-5, -0x1.6c0c2ap-10, 0x1.99e91p-16};
constexpr double sinF64[] = {-0x1.5555555555548p-3,  0x1.111111110f755p-7,
                             -0x1.a01a019bf0c8dp-13, 0x1.71de355dba26ep-19,
                             -0x1.ae5e53669780ep-26, 0x1.5d8de78b55d54p-33};
constexpr double cosF64[] = {0x1.555555555554bp-5,  -0x1.6c16c16c15016p-10,
                             0x1.a01a019c8f3eap-16, -0x1.27e4f7f19a495p-22,
                             0x1.1ee9dbcb733a3p-29, -0x1.8fa67cf3547cdp-37};

// (tanh x - x) / x^3 in powers of x^2 on [0, 0.625]: 2^-27.7 relative.
constexpr double tanhF32[] = {-0x1.555532p-2, 0x1.1106fep-3, -0x1.b83792p-5,
                              0x1.520a3ap-6, -0x1.756d1ap-8};
// erf x / x - 1 in powers of x^2 on [0, 0.96]: 2^-30 relative.
constexpr double erfNear[] = {0x1.06eba8p-3,  -0x1.81274p-2, 0x1.ce2d66p-4,
                              -0x1.b80176p-6, 0x1.544f56p-8, -0x1.a6463p-11,
                              0x1.5053bap-14};
// -ln(1 - erf x) in powers of x on [0.95, 4]: 2^-34.9 of erf x.
constexpr double erfFar[] = {-0x1.7ea938p-13, 0x1.212a54p+0,  0x1.443c3ep-1,
                             0x1.bbd9dcp-4,   -0x1.9c6c32p-6, 0x1.12aafap-8,
                             -0x1.cbe6bap-12, 0x1.67eb82p-16};

// The same in f64. (tanh x - x) / x^3 on [0, 0.55]: 2^-51.4 relative to a term
// that is below a tenth of x.
constexpr double tanhF64[] = {-0x1.555555555554fp-2,  0x1.111111110f277p-3,
                              -0x1.ba1ba1b6ea9fdp-5,  0x1.664f47799ddd9p-6,
                              -0x1.226e098552d15p-7,  0x1.d6cb71fcb7aebp-9,
                              -0x1.7d25f0ec86ab1p-10, 0x1.30bd96a0f5808p-11,
                              -0x1.bfe40f37772a0p-13, 0x1.bdf36ac9d5f9bp-15};
// erf x / x - 1 on [0, 1]: 2^-56.9 absolute.
constexpr double erfNearF64[] = {
    0x1.06eba8214db68p-3,   -0x1.812746b0379c1p-2,  0x1.ce2f21a040f66p-4,
    -0x1.b82ce31203772p-6,  0x1.565bccfa44156p-8,   -0x1.c02db0665e53dp-11,
    0x1.f9a2be4f731a1p-14,  -0x1.f4ca838adb73bp-17, 0x1.b981d78881a5dp-20,
    -0x1.5c131500d3f88p-23, 0x1.d76af6ca49787p-27,  -0x1.ac9585a44fe29p-31};
// -ln(1 - erf x) in powers of x - 1.75 on [1, 2.5] and of x - 4.25 on [2.5, 6]:
// 2^-54.4 and 2^-45.5 of 1 - erf x, which is below 2^-2.6 and 2^-11.
constexpr double erfMidF64[] = {
    0x1.1457e04194ecdp+2,   0x1.fad487adf079ep+1,   0x1.d1e3ad70d72a5p-1,
    0x1.508223ef296cap-6,   -0x1.2f19753cd8d44p-8,  0x1.f97721575eafep-11,
    -0x1.6e005becedd0fp-13, 0x1.8e50ce86ac3dfp-16,  -0x1.bc415ead2b005p-21,
    -0x1.de46b41cd2e8ep-21, 0x1.af72db876c220p-22,  -0x1.e5cfddb95efc8p-24,
    0x1.90703d102ea61p-26,  -0x1.884cd07296505p-29, -0x1.0e24910c92547p-31,
    0x1.7538e2e381723p-32};
constexpr double erfFarF64[] = {
    0x1.41b96ceea4e34p+4,   0x1.17292bb079c86p+3,   0x1.f3c15b8b83a33p-1,
    0x1.abc915e21c29ap-9,   -0x1.f7def4f8aa96fp-12, 0x1.2f9541c27ecb8p-14,
    -0x1.6d0bf8dc5ce28p-17, 0x1.af4da3644d618p-20,  -0x1.ee5f5b0c9fd60p-23,
    0x1.0efd1b046cb72p-25,  -0x1.15c6949708396p-28, 0x1.0136460cfaf11p-31,
    -0x1.a5f418e62352fp-35, 0x1.9088da5e537b5p-39,  0x1.18b678ae800fbp-40,
    -0x1.39cc5af259e15p-42};

// x = n * pi/2 + r with |r| <= pi/4 as good as; the low bits of `quadrant`
// count n.
struct Reduced {
  Value r, quadrant;
};

Reduced reduce(MathEmitter &e, Value x) {
  mlir::Type wideType = e.shaped(e.builder.getF64Type());
  MathEmitter wide(e.builder, e.loc, wideType);
  if (!e.isF64())
    x = mlir::arith::ExtFOp::create(e.builder, e.loc, wideType, x);
  Value rounding = wide.number(0x1.8p52);
  Value shifted = wide.fma(x, wide.number(0x1.45f306dc9c883p-1), rounding);
  Value n = wide.sub(shifted, rounding);
  // pi/2 in three parts of 53 bits: what an f32 needs up to 2^48.
  Value r = wide.fma(n, wide.number(-0x1.921fb54442d18p+0), x);
  r = wide.fma(n, wide.number(-0x1.1a62633145c07p-54), r);
  if (e.isF64())
    r = wide.fma(n, wide.number(0x1.f1976b7ed8fbcp-110), r);
  // Where x is too large for this, at least the result is a sine of something.
  r = wide.atMost(wide.atLeast(r, -1), 1);
  Value quadrant = wide.bits(shifted);
  if (!e.isF64()) {
    r = mlir::arith::TruncFOp::create(e.builder, e.loc, e.floats, r);
    quadrant = mlir::arith::TruncIOp::create(
        e.builder, e.loc, e.shaped(e.builder.getI32Type()), quadrant);
  }
  return {r, quadrant};
}

Value sineOf(MathEmitter &e, const Reduced &reduced) {
  Value r = reduced.r;
  Value z = e.mul(r, r);
  Value s = e.isF64() ? e.polynomial(z, sinF64) : e.polynomial(z, sinF32);
  Value c = e.isF64() ? e.polynomial(z, cosF64) : e.polynomial(z, cosF32);
  Value sine = e.fma(e.mul(r, z), s, r);
  // 1 - z/2 is not exact; what its rounding loses is added to the tail.
  Value head = e.fma(z, e.number(-0.5), e.number(1));
  Value lost = e.fma(z, e.number(-0.5), e.sub(e.number(1), head));
  Value cosine = e.add(head, e.fma(e.mul(z, z), c, lost));
  Value odd = e.isNotZero(e.andi(reduced.quadrant, e.integer(1)));
  Value result = e.select(odd, cosine, sine);
  Value sign =
      e.shl(e.andi(reduced.quadrant, e.integer(2)), e.isF64() ? 62 : 30);
  return e.fromBits(e.xori(e.bits(result), sign));
}

} // namespace

Value emitSin(MathEmitter &e, Value x) { return sineOf(e, reduce(e, x)); }

Value emitCos(MathEmitter &e, Value x) {
  Reduced reduced = reduce(e, x);
  reduced.quadrant = e.addi(reduced.quadrant, e.integer(1));
  return sineOf(e, reduced);
}

Value emitTanh(MathEmitter &e, Value x) {
  Value size = e.abs(x);
  Value z = e.mul(x, x);
  Value tail = e.isF64() ? e.polynomial(z, tanhF64) : e.polynomial(z, tanhF32);
  Value near = e.fma(e.mul(x, z), tail, x);
  Value power = emitExp(e, e.add(size, size));
  Value far = e.sub(e.number(1), e.div(e.number(2), e.add(power, e.number(1))));
  Value limit = e.number(e.isF64() ? 0.55 : 0.625);
  return e.select(e.less(size, limit), near, e.copySign(far, x));
}

static Value emitErfF64(MathEmitter &e, Value x) {
  Value size = e.abs(x);
  Value z = e.mul(x, x);
  Value near = e.fma(x, e.polynomial(z, erfNearF64), x);
  // 1 - erf(6) is below half an ulp of 1.
  Value bounded = e.atMost(size, 6);
  Value mid = e.polynomial(e.sub(bounded, e.number(1.75)), erfMidF64);
  Value far = e.polynomial(e.sub(bounded, e.number(4.25)), erfFarF64);
  Value log = e.select(e.less(bounded, e.number(2.5)), mid, far);
  Value result = e.sub(e.number(1), emitExp(e, e.neg(log)));
  return e.select(e.less(size, e.number(1)), near, e.copySign(result, x));
}

Value emitErf(MathEmitter &e, Value x) {
  if (e.isF64())
    return emitErfF64(e, x);
  Value size = e.abs(x);
  Value z = e.mul(x, x);
  Value near = e.fma(x, e.polynomial(z, erfNear), x);
  // 1 - erf(4) is below half an ulp of 1.
  Value bounded = e.atMost(size, 4);
  Value complement = emitExp(e, e.neg(e.polynomial(bounded, erfFar)));
  Value far = e.sub(e.number(1), complement);
  return e.select(e.less(size, e.number(0.953125)), near, e.copySign(far, x));
}

Value emitRemainder(MathEmitter &e, Value x, Value y) {
  // In f64 the product with a quotient below 2^53 is exact in the fma, and so
  // is the difference: only the quotient may be one too large or small.
  mlir::Type wideType = e.shaped(e.builder.getF64Type());
  MathEmitter wide(e.builder, e.loc, wideType);
  auto extend = [&](Value v) -> Value {
    if (!e.isF64())
      v = mlir::arith::ExtFOp::create(e.builder, e.loc, wideType, v);
    return wide.abs(v);
  };
  Value a = extend(x), b = extend(y);
  Value inf = wide.number(std::numeric_limits<double>::infinity());
  Value nan = wide.number(std::numeric_limits<double>::quiet_NaN());
  Value quotient = wide.trunc(wide.div(a, b));
  Value r = wide.fma(wide.neg(quotient), b, a);
  r = wide.select(wide.less(r, wide.number(0)), wide.add(r, b), r);
  r = wide.select(wide.less(r, b), r, wide.sub(r, b));
  r = wide.select(wide.less(quotient, wide.number(0x1p53)), r, nan);
  // Finite % infinite is the finite one.
  Value finite = wide.less(a, inf);
  r = wide.select(wide.equal(b, inf), wide.select(finite, a, nan), r);
  if (!e.isF64())
    r = mlir::arith::TruncFOp::create(e.builder, e.loc, e.floats, r);
  return e.copySign(r, x);
}

} // namespace tessera::codegen
