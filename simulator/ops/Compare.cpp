// simulator/ops/Compare.cpp - setp, set, selp and slct over the lanes of a
// warp.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Compare.h"
#include "simulator/machine/ByteTaint.h"
#include "simulator/machine/Lanes.h"
#include "simulator/machine/Select.h"

namespace tessera::sim {
namespace {

using U32 = uint32_t;
using U64 = uint64_t;

// Computes the lane masks of a comparison; `high` is that of the upper halves
// of packed types.
using CompareFn = void (*)(const Warp &w, U32 a, U32 b, U32 &low, U32 &high);

template <class L, auto F>
void compareLanes(const Warp &w, U32 a, U32 b, U32 &low, U32 &high) {
  const L *x = w.lanes<L>(a), *y = w.lanes<L>(b);
  alignas(64) U32 truth[Lanes];
  for (U32 l = 0; l < Lanes; ++l)
    truth[l] = F(x[l], y[l]);
  low = packMask(truth);
  high = ~low;
}
template <auto F>
void comparePacked(const Warp &w, U32 a, U32 b, U32 &low, U32 &high) {
  const U32 *x = w.row32(a), *y = w.row32(b);
  U32 truth[Lanes], upper[Lanes];
  for (U32 l = 0; l < Lanes; ++l) {
    truth[l] = F(static_cast<uint16_t>(x[l]), static_cast<uint16_t>(y[l]));
    upper[l] =
        F(static_cast<uint16_t>(x[l] >> 16), static_cast<uint16_t>(y[l] >> 16));
  }
  low = packMask(truth);
  high = packMask(upper);
}

template <Compare C, class T>
CompareFn integers() {
  using L = std::conditional_t<sizeof(T) == 8, U64, U32>;
  return compareLanes<L, [](L a, L b) {
    return U32{compareInt<C, T>(static_cast<T>(a), static_cast<T>(b))};
  }>;
}

template <Compare C>
CompareFn compareOf(Type type, bool ftz) {
  switch (type) {
  case Type::F32:
    return ftz ? compareLanes<U32, compareF32<C, true>>
               : compareLanes<U32, compareF32<C, false>>;
  case Type::F64:
    return compareLanes<U64, compareF64<C>>;
  case Type::F16:
    return ftz ? compareLanes<U32, compareF16<C, true>>
               : compareLanes<U32, compareF16<C, false>>;
  case Type::Bf16:
    return compareLanes<U32, compareBf16<C>>;
  case Type::F16x2:
    return ftz ? comparePacked<compareF16<C, true>>
               : comparePacked<compareF16<C, false>>;
  case Type::Bf16x2:
    return comparePacked<compareBf16<C>>;
  default:
    return withInteger(
        type, [](auto number) { return integers<C, decltype(number)>(); });
  }
}

struct CompareName {
  std::string_view name;
  CompareFn (*select)(Type type, bool ftz);
};
constexpr CompareName CompareNames[] = {
    {"eq", compareOf<Compare::Eq>},   {"ne", compareOf<Compare::Ne>},
    {"lt", compareOf<Compare::Lt>},   {"le", compareOf<Compare::Le>},
    {"gt", compareOf<Compare::Gt>},   {"ge", compareOf<Compare::Ge>},
    {"lo", compareOf<Compare::Lo>},   {"ls", compareOf<Compare::Ls>},
    {"hi", compareOf<Compare::Hi>},   {"hs", compareOf<Compare::Hs>},
    {"equ", compareOf<Compare::Equ>}, {"neu", compareOf<Compare::Neu>},
    {"ltu", compareOf<Compare::Ltu>}, {"leu", compareOf<Compare::Leu>},
    {"gtu", compareOf<Compare::Gtu>}, {"geu", compareOf<Compare::Geu>},
    {"num", compareOf<Compare::Num>}, {"nan", compareOf<Compare::Nan>},
};

enum Join : uint8_t { NoJoin, JoinAnd, JoinOr, JoinXor };
Join joinOf(const Match &m) {
  return m.has("and")   ? JoinAnd
         : m.has("or")  ? JoinOr
         : m.has("xor") ? JoinXor
                        : NoJoin;
}
U32 joined(uint8_t join, U32 a, U32 b) {
  return join == JoinAnd   ? a & b
         : join == JoinOr  ? a | b
         : join == JoinXor ? a ^ b
                           : a;
}

CompareFn compareFn(const Inst &i) {
  return reinterpret_cast<CompareFn>(i.imm);
}

// op: p, q (or NoRow), a, b, c. The second destination is the negation or, for
// packed types, the comparison of the upper halves.
void setpOp(Warp &w, const Inst &i, uint32_t mask) {
  U32 low, high;
  compareFn(i)(w, i.op[2], i.op[3], low, high);
  Taint taint = (w.taint[i.op[2]] | w.taint[i.op[3]]) & PoisonBits;
  if (i.mode != NoJoin) {
    U32 c = w.predicate(i, 4);
    low = joined(i.mode, low, c);
    high = joined(i.mode, high, c);
    taint |= w.taint[i.op[4]] & PoisonBits;
  }
  if (i.op[0] != NoRow) {
    w.setPredicate(i.op[0], mask, low);
    w.setTaint(i.op[0], mask, taint);
  }
  if (i.op[1] != NoRow) {
    w.setPredicate(i.op[1], mask, high);
    w.setTaint(i.op[1], mask, taint);
  }
}

// op: d, a, b, c. mode2: 1 if true is 1.0 of the destination's type (bytes).
void setOp(Warp &w, const Inst &i, uint32_t mask) {
  U32 low, high;
  compareFn(i)(w, i.op[1], i.op[2], low, high);
  Taint taint = (w.taint[i.op[1]] | w.taint[i.op[2]]) & PoisonBits;
  if (i.mode != NoJoin) {
    low = joined(i.mode, low, w.predicate(i, 3));
    taint |= w.taint[i.op[3]] & PoisonBits;
  }
  U32 yes = i.mode2 == 0   ? ~0u
            : i.mode2 == 1 ? 0x3f800000
            : i.mode2 == 2 ? 0x3c00
            : i.mode2 == 3 ? 0x3f80
                           : 0xffff;
  U32 result[Lanes];
  for (U32 l = 0; l < Lanes; ++l)
    result[l] = (low >> l) & 1 ? yes : 0;
  putLanes(w, i.op[0], mask, result);
  w.setTaint(i.op[0], mask, taint);
}

// The result takes the taint of the chosen side, and always that of the
// predicate.
template <class L>
void selpOp(Warp &w, const Inst &i, uint32_t mask) {
  const L *a = w.lanes<L>(i.op[1]), *b = w.lanes<L>(i.op[2]);
  U32 p = w.predicate(i, 3);
  alignas(64) L result[Lanes];
  for (U32 l = 0; l < Lanes; ++l)
    result[l] = (p >> l) & 1 ? a[l] : b[l];
  Taint chosen =
      (w.taint[i.op[1]] & bothHalves(p)) | (w.taint[i.op[2]] & bothHalves(~p));
  if (hasBytesTainted(w, i.op[1], mask) || hasBytesTainted(w, i.op[2], mask)) {
    const U32 unknown = U32(w.taint[i.op[3]] & PoisonBits);
    const BytesTainted yes = bytesTainted(w, i.op[1], sizeof(L)),
                       no = bytesTainted(w, i.op[2], sizeof(L));
    BytesTainted tainted = {};
    for (U32 k = 0; k < sizeof(L); ++k)
      tainted[k] = (yes[k] & p) | (no[k] & ~p) | unknown;
    putLanes(w, i.op[0], mask, result);
    return setBytesTainted(w, i.op[0], mask, sizeof(L), tainted);
  }
  putLanes(w, i.op[0], mask, result);
  w.setTaint(i.op[0], mask, chosen | (w.taint[i.op[3]] & PoisonBits));
}

template <class L, bool Float>
void slctOp(Warp &w, const Inst &i, uint32_t mask) {
  const L *a = w.lanes<L>(i.op[1]), *b = w.lanes<L>(i.op[2]);
  const U32 *c = w.row32(i.op[3]);
  L result[Lanes];
  for (U32 l = 0; l < Lanes; ++l) {
    U32 bits = i.flag ? flushF32(c[l]) : c[l];
    bool first = Float ? asFloat(bits) >= 0 : static_cast<int32_t>(bits) >= 0;
    result[l] = first ? a[l] : b[l];
  }
  putLanes(w, i.op[0], mask, result);
  w.setTaint(
      i.op[0], mask,
      kept<false>(w.taint[i.op[1]] | w.taint[i.op[2]] | w.taint[i.op[3]]));
}

} // namespace

Exec selectCompare(const Match &m, Inst &inst) {
  bool wide = typeBits(m.type()) == 64;
  switch (m.row->sem) {
  case Sem::Setp:
  case Sem::Set: {
    bool isSet = m.row->sem == Sem::Set;
    Type compared = m.type(isSet ? 1 : 0);
    CompareFn fn = nullptr;
    for (const CompareName &entry : CompareNames)
      if (m.modifiers[0] == entry.name)
        fn = entry.select(compared, m.has("ftz"));
    inst.imm = reinterpret_cast<int64_t>(fn);
    inst.mode = joinOf(m);
    Type to = m.type(0);
    inst.mode2 = to == Type::F32                      ? 1
                 : to == Type::F16                    ? 2
                 : to == Type::Bf16                   ? 3
                 : to == Type::U16 || to == Type::S16 ? 4
                                                      : 0;
    return isSet ? setOp : setpOp;
  }
  case Sem::Selp:
    return wide ? selpOp<U64> : selpOp<U32>;
  case Sem::Slct: {
    bool isFloat = m.type(1) == Type::F32;
    inst.flag = m.has("ftz");
    return wide ? (isFloat ? slctOp<U64, true> : slctOp<U64, false>)
                : (isFloat ? slctOp<U32, true> : slctOp<U32, false>);
  }
  default:
    return nullptr;
  }
}

} // namespace tessera::sim
