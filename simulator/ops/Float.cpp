// simulator/ops/Float.cpp - f32 and f64 over the lanes of a warp.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Float.h"
#include "simulator/arith/Approx.h"
#include "simulator/arith/Compare.h"
#include "simulator/machine/Lanes.h"
#include "simulator/machine/Select.h"

namespace tessera::sim {
namespace {

using U32 = uint32_t;
using U64 = uint64_t;

template <FloatMode M>
Exec arithmetic32(Sem sem) {
  switch (sem) {
  case Sem::FloatAdd:
    return lanes2<U32, U32, U32, addF32<M>>;
  case Sem::FloatSub:
    return lanes2<U32, U32, U32, subF32<M>>;
  case Sem::FloatMul:
    return lanes2<U32, U32, U32, mulF32<M>>;
  default:
    return lanes3<U32, U32, U32, U32, fmaF32<M>>;
  }
}
template <FloatMode M>
Exec quotient32(Sem sem) {
  switch (sem) {
  case Sem::FloatDiv:
    return lanes2<U32, U32, U32, divF32<M>>;
  case Sem::FloatRcp:
    return lanes1<U32, U32, rcpF32<M>>;
  default:
    return lanes1<U32, U32, sqrtF32<M>>;
  }
}

// A run-time mode to a template argument.
template <Rounding R, class F>
Exec withFlags(bool ftz, bool sat, F f) {
  if (ftz)
    return sat ? f.template operator()<FloatMode{R, true, true}>()
               : f.template operator()<FloatMode{R, true, false}>();
  return sat ? f.template operator()<FloatMode{R, false, true}>()
             : f.template operator()<FloatMode{R, false, false}>();
}
template <class F>
Exec withMode(const Match &m, F f) {
  bool ftz = m.has("ftz"), sat = m.has("sat");
  if (m.has("rz"))
    return withFlags<Rounding::Zero>(ftz, sat, f);
  if (m.has("rm"))
    return withFlags<Rounding::Down>(ftz, sat, f);
  if (m.has("rp"))
    return withFlags<Rounding::Up>(ftz, sat, f);
  return withFlags<Rounding::Nearest>(ftz, sat, f);
}

template <Rounding R>
Exec double64(Sem sem) {
  switch (sem) {
  case Sem::FloatAdd:
    return lanes2<U64, U64, U64, addF64<R>>;
  case Sem::FloatSub:
    return lanes2<U64, U64, U64, subF64<R>>;
  case Sem::FloatMul:
    return lanes2<U64, U64, U64, mulF64<R>>;
  case Sem::FloatFma:
    return lanes3<U64, U64, U64, U64, fmaF64<R>>;
  case Sem::FloatDiv:
    return lanes2<U64, U64, U64, divF64<R>>;
  case Sem::FloatRcp:
    return lanes1<U64, U64, rcpF64<R>>;
  default:
    return lanes1<U64, U64, sqrtF64<R>>;
  }
}

template <bool Max>
Exec minMax32(const Match &m) {
  bool ftz = m.has("ftz"), nan = m.has("NaN");
  if (m.has("xorsign")) {
    if (nan)
      return ftz ? lanes2<U32, U32, U32, minMaxF32<Max, {true, true, true}>>
                 : lanes2<U32, U32, U32, minMaxF32<Max, {false, true, true}>>;
    return ftz ? lanes2<U32, U32, U32, minMaxF32<Max, {true, false, true}>>
               : lanes2<U32, U32, U32, minMaxF32<Max, {false, false, true}>>;
  }
  if (nan)
    return ftz ? lanes2<U32, U32, U32, minMaxF32<Max, {true, true, false}>>
               : lanes2<U32, U32, U32, minMaxF32<Max, {false, true, false}>>;
  return ftz ? lanes2<U32, U32, U32, minMaxF32<Max, {true, false, false}>>
             : lanes2<U32, U32, U32, minMaxF32<Max, {false, false, false}>>;
}

template <bool Ftz>
Exec approx32(Sem sem) {
  switch (sem) {
  case Sem::DivApprox:
    return lanes2<U32, U32, U32, divApproxF32<Ftz>>;
  case Sem::DivFull:
    return lanes2<U32, U32, U32, divFullF32<Ftz>>;
  case Sem::RcpApprox:
    return lanes1<U32, U32, rcpApproxF32<Ftz>>;
  case Sem::SqrtApprox:
    return lanes1<U32, U32, sqrtApproxF32<Ftz>>;
  case Sem::Rsqrt:
    return lanes1<U32, U32, rsqrtF32<Ftz>>;
  case Sem::Sin:
    return lanes1<U32, U32, sinF32<Ftz>>;
  case Sem::Cos:
    return lanes1<U32, U32, cosF32<Ftz>>;
  case Sem::Lg2:
    return lanes1<U32, U32, lg2F32<Ftz>>;
  case Sem::Ex2:
    return lanes1<U32, U32, ex2F32<Ftz>>;
  default:
    return lanes1<U32, U32, tanhF32>;
  }
}

// ex2 and tanh in 16 bits, single or packed.
template <Half H, bool Ftz>
uint16_t special16(bool tanh, uint16_t a) {
  return tanh ? tanhHalf<H>(a) : ex2Half<H, Ftz>(a);
}
template <Half H, bool Ftz, bool Tanh>
Exec approx16(bool isPacked) {
  return isPacked
             ? lanes1<U32, U32,
                      [](U32 a) {
                        return packed(a, [](uint16_t x) {
                          return special16<H, Ftz>(Tanh, x);
                        });
                      }>
             : lanes1<U32, U32, [](U32 a) {
                 return U32{special16<H, Ftz>(Tanh, static_cast<uint16_t>(a))};
               }>;
}
Exec approxHalf(const Match &m) {
  Type type = m.type();
  bool isPacked = type == Type::F16x2 || type == Type::Bf16x2;
  bool tanh = m.row->sem == Sem::Tanh;
  if (type == Type::F16 || type == Type::F16x2)
    return tanh           ? approx16<Half::F16, false, true>(isPacked)
           : m.has("ftz") ? approx16<Half::F16, true, false>(isPacked)
                          : approx16<Half::F16, false, false>(isPacked);
  return tanh ? approx16<Half::Bf16, false, true>(isPacked)
              : approx16<Half::Bf16, true, false>(isPacked);
}

template <TestProperty P>
Exec testOf(bool wide) {
  return wide ? Exec([](Warp &w, const Inst &i, uint32_t mask) {
    U32 truth[Lanes];
    for (U32 l = 0; l < Lanes; ++l)
      truth[l] = testPropertyF64(P, w.row64(i.op[1])[l]);
    w.setPredicate(i.op[0], mask, packMask(truth));
    w.setTaint(i.op[0], mask, w.taint[i.op[1]] & PoisonBits);
  })
              : Exec([](Warp &w, const Inst &i, uint32_t mask) {
                  U32 truth[Lanes];
                  for (U32 l = 0; l < Lanes; ++l)
                    truth[l] = testPropertyF32(P, w.row32(i.op[1])[l]);
                  w.setPredicate(i.op[0], mask, packMask(truth));
                  w.setTaint(i.op[0], mask, w.taint[i.op[1]] & PoisonBits);
                });
}

Exec testpOf(const Match &m) {
  bool wide = m.type() == Type::F64;
  if (m.has("finite"))
    return testOf<TestProperty::Finite>(wide);
  if (m.has("infinite"))
    return testOf<TestProperty::Infinite>(wide);
  if (m.has("number"))
    return testOf<TestProperty::Number>(wide);
  if (m.has("notanumber"))
    return testOf<TestProperty::NotANumber>(wide);
  if (m.has("normal"))
    return testOf<TestProperty::Normal>(wide);
  return testOf<TestProperty::Subnormal>(wide);
}

Exec selectDouble(const Match &m) {
  switch (m.row->sem) {
  case Sem::FloatAbs:
    return lanes1<U64, U64, absF64>;
  case Sem::FloatNeg:
    return lanes1<U64, U64, negF64>;
  case Sem::FloatMin:
    return lanes2<U64, U64, U64, minF64>;
  case Sem::FloatMax:
    return lanes2<U64, U64, U64, maxF64>;
  case Sem::Copysign:
    return lanes2<U64, U64, U64, copysignF64>;
  case Sem::RcpApprox:
    return lanes1<U64, U64, rcpApproxF64>;
  case Sem::Rsqrt:
    return m.has("ftz")
               ? lanes1<U64, U64, [](U64 a) { return rsqrtApproxF64(a, true); }>
               : lanes1<U64, U64,
                        [](U64 a) { return rsqrtApproxF64(a, false); }>;
  default:
    break;
  }
  if (m.has("rz"))
    return double64<Rounding::Zero>(m.row->sem);
  if (m.has("rm"))
    return double64<Rounding::Down>(m.row->sem);
  if (m.has("rp"))
    return double64<Rounding::Up>(m.row->sem);
  return double64<Rounding::Nearest>(m.row->sem);
}

} // namespace

bool selectFloat(const Match &m, Inst &inst) {
  Sem sem = m.row->sem;
  if (sem < Sem::FloatAdd || sem > Sem::Tanh)
    return false;
  bool ftz = m.has("ftz");
  if (sem == Sem::Testp) {
    inst.exec = testpOf(m);
    return true;
  }
  if (m.type() == Type::F64) {
    inst.exec = selectDouble(m);
    return true;
  }
  switch (sem) {
  case Sem::FloatAdd:
  case Sem::FloatSub:
  case Sem::FloatMul:
  case Sem::FloatFma:
    inst.exec =
        withMode(m, [&]<FloatMode M>() { return arithmetic32<M>(sem); });
    return true;
  case Sem::FloatDiv:
  case Sem::FloatRcp:
  case Sem::FloatSqrt:
    inst.exec = withMode(m, [&]<FloatMode M>() { return quotient32<M>(sem); });
    return true;
  case Sem::FloatAbs:
    inst.exec =
        ftz ? lanes1<U32, U32, absF32<true>> : lanes1<U32, U32, absF32<false>>;
    return true;
  case Sem::FloatNeg:
    inst.exec =
        ftz ? lanes1<U32, U32, negF32<true>> : lanes1<U32, U32, negF32<false>>;
    return true;
  case Sem::FloatMin:
    inst.exec = minMax32<false>(m);
    return true;
  case Sem::FloatMax:
    inst.exec = minMax32<true>(m);
    return true;
  case Sem::Copysign:
    inst.exec = lanes2<U32, U32, U32, copysignF32>;
    return true;
  case Sem::Ex2:
  case Sem::Tanh:
    if (m.type() != Type::F32) {
      inst.exec = approxHalf(m);
      return true;
    }
    [[fallthrough]];
  default:
    inst.exec = ftz ? approx32<true>(sem) : approx32<false>(sem);
    return true;
  }
}

} // namespace tessera::sim
