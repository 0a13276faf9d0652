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

// Returns f.operator()<rounding>() for the rounding of the instruction.
template <class F>
Exec withRounding(const Match &m, F f) {
  if (m.has("rz"))
    return f.template operator()<Rounding::Zero>();
  if (m.has("rm"))
    return f.template operator()<Rounding::Down>();
  if (m.has("rp"))
    return f.template operator()<Rounding::Up>();
  return f.template operator()<Rounding::Nearest>();
}
template <class F>
Exec withMode(const Match &m, F f) {
  return withRounding(m, [&]<Rounding R>() {
    return withFlags(
        [&]<bool Ftz, bool Sat>() {
          return f.template operator()<FloatMode{R, Ftz, Sat}>();
        },
        m.has("ftz"), m.has("sat"));
  });
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
  return withFlags(
      []<bool Ftz, bool Nan, bool XorSign>() {
        return lanes2<U32, U32, U32,
                      minMaxF32<Max, MinMaxMode{Ftz, Nan, XorSign}>>;
      },
      m.has("ftz"), m.has("NaN"), m.has("xorsign"));
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

// Computes ex2 or tanh in 16 bits, scalar or packed.
template <Half H, bool Ftz, bool Tanh>
uint16_t special16(uint16_t a) {
  return Tanh ? tanhHalf<H>(a) : ex2Half<H, Ftz>(a);
}
template <Half H>
Exec approx16(const Match &m) {
  Type type = m.type();
  return withFlags(
      []<bool Ftz, bool Tanh, bool IsPacked>() {
        if (IsPacked)
          return lanes1<U32, U32, [](U32 a) {
            return packed(a, special16<H, Ftz, Tanh>);
          }>;
        return lanes1<U32, U32, [](U32 a) {
          return U32{special16<H, Ftz, Tanh>(static_cast<uint16_t>(a))};
        }>;
      },
      H == Half::Bf16 || m.has("ftz"), m.row->sem == Sem::Tanh,
      type == Type::F16x2 || type == Type::Bf16x2);
}

template <class Bits, bool (*Test)(TestProperty, Bits), TestProperty P>
void testLanes(Warp &w, const Inst &i, uint32_t mask) {
  U32 truth[Lanes];
  for (U32 l = 0; l < Lanes; ++l)
    truth[l] = Test(P, w.lanes<Bits>(i.op[1])[l]);
  w.setPredicate(i.op[0], mask, packMask(truth));
  w.setTaint(i.op[0], mask, w.taint[i.op[1]] & PoisonBits);
}
template <TestProperty P>
Exec testOf(bool wide) {
  return wide ? testLanes<U64, testPropertyF64, P>
              : testLanes<U32, testPropertyF32, P>;
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
  return withRounding(m, [&]<Rounding R>() { return double64<R>(m.row->sem); });
}

} // namespace

Exec selectFloat(const Match &m, Inst &inst) {
  Sem sem = m.row->sem;
  if (sem < Sem::FloatAdd || sem > Sem::Tanh)
    return nullptr;
  bool ftz = m.has("ftz");
  if (sem == Sem::Testp) {
    return testpOf(m);
  }
  if (m.type() == Type::F64) {
    return selectDouble(m);
  }
  switch (sem) {
  case Sem::FloatAdd:
  case Sem::FloatSub:
  case Sem::FloatMul:
  case Sem::FloatFma:
    return withMode(m, [&]<FloatMode M>() { return arithmetic32<M>(sem); });
  case Sem::FloatDiv:
  case Sem::FloatRcp:
  case Sem::FloatSqrt:
    return withMode(m, [&]<FloatMode M>() { return quotient32<M>(sem); });
  case Sem::FloatAbs:
    return ftz ? lanes1<U32, U32, absF32<true>>
               : lanes1<U32, U32, absF32<false>>;
  case Sem::FloatNeg:
    return ftz ? lanes1<U32, U32, negF32<true>>
               : lanes1<U32, U32, negF32<false>>;
  case Sem::FloatMin:
    return minMax32<false>(m);
  case Sem::FloatMax:
    return minMax32<true>(m);
  case Sem::Copysign:
    return lanes2<U32, U32, U32, copysignF32>;
  case Sem::Ex2:
  case Sem::Tanh:
    if (m.type() != Type::F32) {
      return m.type() == Type::F16 || m.type() == Type::F16x2
                 ? approx16<Half::F16>(m)
                 : approx16<Half::Bf16>(m);
    }
    [[fallthrough]];
  default:
    return ftz ? approx32<true>(sem) : approx32<false>(sem);
  }
}

} // namespace tessera::sim
