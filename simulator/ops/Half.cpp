// simulator/ops/Half.cpp - f16 and bf16 arithmetic, scalar and packed, over the
// lanes of a warp.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Half.h"
#include "simulator/machine/Lanes.h"
#include "simulator/machine/Select.h"

namespace tessera::sim {
namespace {

using U32 = uint32_t;
using U16 = uint16_t;

template <auto F, class... Sources>
Exec both(bool isPacked) {
  return isPacked ? lanesOf<U32, [](Sources... x) { return packed(x..., F); },
                            false, Sources...>
                  : lanesOf<U32,
                            [](Sources... x) {
                              return U32{F(static_cast<U16>(x)...)};
                            },
                            false, Sources...>;
}
template <auto F>
Exec both1(bool isPacked) {
  return both<F, U32>(isPacked);
}
template <auto F>
Exec both2(bool isPacked) {
  return both<F, U32, U32>(isPacked);
}

template <Half H, HalfMode M>
Exec arithmetic(const Match &m, bool isPacked) {
  if (m.row->mnemonic == "add")
    return both2<addHalf<H, M>>(isPacked);
  if (m.row->mnemonic == "sub")
    return both2<subHalf<H, M>>(isPacked);
  if (m.row->mnemonic == "mul")
    return both2<mulHalf<H, M>>(isPacked);
  return both<fmaHalf<H, M>, U32, U32, U32>(isPacked);
}

template <Half H>
Exec withMode(const Match &m, bool isPacked) {
  return withFlags(
      [&]<bool Ftz, bool Sat, bool Relu>() {
        return arithmetic<H, HalfMode{Ftz, Sat, Relu}>(m, isPacked);
      },
      m.has("ftz"), m.has("sat"), m.has("relu"));
}

template <Half H, bool Max>
Exec minMax(const Match &m, bool isPacked) {
  return withFlags(
      [&]<bool Ftz, bool Nan, bool XorSign>() {
        return both2<minMaxHalf<H, Max, MinMaxMode{Ftz, Nan, XorSign}>>(
            isPacked);
      },
      m.has("ftz"), m.has("NaN"), m.has("xorsign"));
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

Exec selectHalf(const Match &m, Inst &inst) {
  switch (m.row->sem) {
  case Sem::HalfBinary:
  case Sem::HalfFma:
  case Sem::HalfUnary:
    break;
  default:
    return nullptr;
  }
  Type type = m.type();
  bool isPacked = type == Type::F16x2 || type == Type::Bf16x2;
  return type == Type::F16 || type == Type::F16x2
             ? selectOf<Half::F16>(m, isPacked)
             : selectOf<Half::Bf16>(m, isPacked);
}

} // namespace tessera::sim
