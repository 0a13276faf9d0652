// simulator/ops/Half.cpp - f16 and bf16, single and packed, over a warp's
// lanes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Half.h"
#include "simulator/machine/Lanes.h"
#include "simulator/machine/Select.h"

namespace tessera::sim {
namespace {

using U32 = uint32_t;
using U16 = uint16_t;

template <auto F>
Exec both2(bool isPacked) {
  return isPacked ? lanes2<U32, U32, U32,
                           [](U32 a, U32 b) { return packed(a, b, F); }>
                  : lanes2<U32, U32, U32, [](U32 a, U32 b) {
                      return U32{F(static_cast<U16>(a), static_cast<U16>(b))};
                    }>;
}
template <auto F>
Exec both3(bool isPacked) {
  return isPacked
             ? lanes3<U32, U32, U32, U32,
                      [](U32 a, U32 b, U32 c) { return packed(a, b, c, F); }>
             : lanes3<U32, U32, U32, U32, [](U32 a, U32 b, U32 c) {
                 return U32{F(static_cast<U16>(a), static_cast<U16>(b),
                              static_cast<U16>(c))};
               }>;
}
template <auto F>
Exec both1(bool isPacked) {
  return isPacked ? lanes1<U32, U32, [](U32 a) { return packed(a, F); }>
                  : lanes1<U32, U32,
                           [](U32 a) { return U32{F(static_cast<U16>(a))}; }>;
}

template <Half H, HalfMode M>
Exec arithmetic(const Match &m, bool isPacked) {
  if (m.row->mnemonic == "add")
    return both2<addHalf<H, M>>(isPacked);
  if (m.row->mnemonic == "sub")
    return both2<subHalf<H, M>>(isPacked);
  if (m.row->mnemonic == "mul")
    return both2<mulHalf<H, M>>(isPacked);
  return both3<fmaHalf<H, M>>(isPacked);
}

template <Half H>
Exec withMode(const Match &m, bool isPacked) {
  bool ftz = m.has("ftz"), sat = m.has("sat");
  if (m.has("relu"))
    return ftz ? arithmetic<H, {true, false, true}>(m, isPacked)
               : arithmetic<H, {false, false, true}>(m, isPacked);
  if (sat)
    return ftz ? arithmetic<H, {true, true, false}>(m, isPacked)
               : arithmetic<H, {false, true, false}>(m, isPacked);
  return ftz ? arithmetic<H, {true, false, false}>(m, isPacked)
             : arithmetic<H, {false, false, false}>(m, isPacked);
}

template <Half H, bool Max>
Exec minMax(const Match &m, bool isPacked) {
  bool nan = m.has("NaN"), ftz = m.has("ftz");
  if (m.has("xorsign"))
    return nan ? both2<minMaxHalf<H, Max, {false, true, true}>>(isPacked)
               : both2<minMaxHalf<H, Max, {false, false, true}>>(isPacked);
  if (ftz)
    return nan ? both2<minMaxHalf<H, Max, {true, true, false}>>(isPacked)
               : both2<minMaxHalf<H, Max, {true, false, false}>>(isPacked);
  return nan ? both2<minMaxHalf<H, Max, {false, true, false}>>(isPacked)
             : both2<minMaxHalf<H, Max, {false, false, false}>>(isPacked);
}

template <Half H>
Exec selectOf(const Match &m, bool isPacked) {
  if (m.row->sem == Sem::HalfUnary)
    return m.row->mnemonic == "abs" ? both1<absHalf>(isPacked)
                                    : both1<negHalf>(isPacked);
  if (m.row->mnemonic == "min")
    return minMax<H, false>(m, isPacked);
  if (m.row->mnemonic == "max")
    return minMax<H, true>(m, isPacked);
  return withMode<H>(m, isPacked);
}

} // namespace

bool selectHalf(const Match &m, Inst &inst) {
  switch (m.row->sem) {
  case Sem::HalfBinary:
  case Sem::HalfFma:
  case Sem::HalfUnary:
    break;
  default:
    return false;
  }
  Type type = m.type();
  bool isPacked = type == Type::F16x2 || type == Type::Bf16x2;
  inst.exec = type == Type::F16 || type == Type::F16x2
                  ? selectOf<Half::F16>(m, isPacked)
                  : selectOf<Half::Bf16>(m, isPacked);
  return true;
}

} // namespace tessera::sim
