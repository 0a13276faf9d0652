// simulator/ops/Bits.cpp - logic, shifts and bit fields over the lanes of a
// warp.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Integer.h"
#include "simulator/machine/ByteTaint.h"
#include "simulator/machine/Lanes.h"
#include "simulator/machine/Select.h"

namespace tessera::sim {
namespace {

using U32 = uint32_t;
using U64 = uint64_t;

// True if only some bytes of one of the first `values` sources are
// uninitialized. byBytes() then marks the result; otherwise a lanesN() function
// does.
bool isByBytes(const Warp &w, const Inst &i, uint32_t mask, uint32_t values) {
  for (uint32_t k = 1; k <= values; ++k)
    if (hasBytesTainted(w, i.op[k], mask))
      return true;
  return false;
}

// Executes `exec`, whose first one or two sources are values and whose other
// sources (`others`: their taint) are positions. A byte of the result is
// uninitialized if it depends on the uninitialized bytes of a value:
// `eval(lane, a, b)` returns the result with these bytes filled with zeros or
// ones.
template <class L, class Eval>
void byBytes(Warp &w, const Inst &i, uint32_t mask, uint32_t values,
             Taint others, Exec exec, Eval eval) {
  L value[2][Lanes] = {}, unknown[2][Lanes] = {};
  for (uint32_t k = 0; k < values; ++k) {
    const BytesTainted from = bytesTainted(w, i.op[1 + k], sizeof(L));
    for (uint32_t l = 0; l < Lanes; ++l) {
      value[k][l] = w.lanes<L>(i.op[1 + k])[l];
      for (uint32_t byte = 0; byte < sizeof(L); ++byte)
        if (from[byte] >> l & 1)
          unknown[k][l] |= L{0xff} << (8 * byte);
    }
  }
  BytesTainted tainted = {};
  for (uint32_t l = 0; l < Lanes; ++l) {
    const auto filled = [&](uint32_t k, bool ones) {
      return L(ones ? value[k][l] | unknown[k][l]
                    : value[k][l] & ~unknown[k][l]);
    };
    const L base = eval(l, filled(0, false), filled(1, false));
    L changes = 0;
    for (uint32_t which = 1; which < 4; ++which)
      changes |= base ^ eval(l, filled(0, which & 1), filled(1, which & 2));
    for (uint32_t byte = 0; byte < sizeof(L); ++byte)
      tainted[byte] |= uint32_t((changes >> (8 * byte) & 0xff) != 0) << l;
  }
  for (uint32_t byte = 0; byte < sizeof(L); ++byte)
    tainted[byte] |= uint32_t(others & PoisonBits);
  exec(w, i, mask);
  setBytesTainted(w, i.op[0], mask, sizeof(L), tainted);
}

template <class L, auto F, bool Keep = false>
void logicLanes(Warp &w, const Inst &i, uint32_t mask) {
  const Exec exec = lanes2<L, L, L, F, Keep>;
  if (!isByBytes(w, i, mask, 2))
    return exec(w, i, mask);
  byBytes<L>(w, i, mask, 2, 0, exec,
             [](uint32_t, L a, L b) { return L(F(a, b)); });
}

template <class L, auto F, bool Keep = false>
void shiftLanes(Warp &w, const Inst &i, uint32_t mask) {
  const Exec exec = lanes2<L, L, U32, F, Keep>;
  if (!isByBytes(w, i, mask, 1))
    return exec(w, i, mask);
  U32 by[Lanes];
  std::memcpy(by, w.row32(i.op[2]), sizeof(by));
  byBytes<L>(w, i, mask, 1, w.taint[i.op[2]], exec,
             [&](uint32_t l, L a, L) { return L(F(a, by[l])); });
}

template <class L, auto F>
void insertLanes(Warp &w, const Inst &i, uint32_t mask) {
  const Exec exec = lanes4<L, L, U32, F>;
  if (!isByBytes(w, i, mask, 2))
    return exec(w, i, mask);
  U32 start[Lanes], length[Lanes];
  std::memcpy(start, w.row32(i.op[3]), sizeof(start));
  std::memcpy(length, w.row32(i.op[4]), sizeof(length));
  byBytes<L>(
      w, i, mask, 2, w.taint[i.op[3]] | w.taint[i.op[4]], exec,
      [&](uint32_t l, L a, L b) { return L(F(a, b, start[l], length[l])); });
}

template <auto F32, auto F64, bool Keep = false>
Exec two(bool wide) {
  return wide ? logicLanes<U64, F64, Keep> : logicLanes<U32, F32, Keep>;
}

// An `and` with zero or an `or` with one hides the uninitialized bytes of a
// register whose other bytes are known. A register that is uninitialized as a
// unit stays marked.
Exec logic(Sem sem, unsigned bits) {
  bool wide = bits == 64;
  switch (sem) {
  case Sem::And:
    return two<[](U32 a, U32 b) { return a & b; },
               [](U64 a, U64 b) { return a & b; }>(wide);
  case Sem::Or:
    return two<[](U32 a, U32 b) { return a | b; },
               [](U64 a, U64 b) { return a | b; }, true>(wide);
  case Sem::Xor:
    return two<[](U32 a, U32 b) { return a ^ b; },
               [](U64 a, U64 b) { return a ^ b; }>(wide);
  case Sem::Not:
    if (bits == 16)
      return lanes1<U32, U32, [](U32 a) { return ~a & 0xffff; }>;
    return wide ? lanes1<U64, U64, [](U64 a) { return ~a; }>
                : lanes1<U32, U32, [](U32 a) { return ~a; }>;
  default:
    return wide ? lanes1<U64, U64, [](U64 a) { return U64{a == 0}; }>
                : lanes1<U32, U32, [](U32 a) { return U32{a == 0}; }>;
  }
}

template <class T>
Exec shiftRightOf() {
  using U = std::make_unsigned_t<T>;
  using L = std::conditional_t<sizeof(T) == 8, U64, U32>;
  return shiftLanes<L, [](L a, U32 n) {
    return static_cast<L>(static_cast<U>(shiftRight<T>(static_cast<T>(a), n)));
  }>;
}

Exec shiftLeftOf(unsigned bits) {
  if (bits == 16)
    return shiftLanes<U32,
                      [](U32 a, U32 n) {
                        return static_cast<U32>(
                            shiftLeft<uint16_t>(static_cast<uint16_t>(a), n));
                      },
                      true>;
  return bits == 64
             ? shiftLanes<
                   U64, [](U64 a, U32 n) { return shiftLeft<U64>(a, n); }, true>
             : shiftLanes<U32,
                          [](U32 a, U32 n) { return shiftLeft<U32>(a, n); },
                          true>;
}

template <class T>
Exec extract() {
  using L = std::conditional_t<sizeof(T) == 8, U64, U32>;
  return lanes3<L, L, U32, U32, [](L a, U32 start, U32 length) {
    return static_cast<L>(bitFieldExtract<T>(static_cast<T>(a), start, length));
  }>;
}

template <class T>
Exec findBit(bool shiftAmount) {
  using L = std::conditional_t<sizeof(T) == 8, U64, U32>;
  return shiftAmount
             ? lanes1<U32, L,
                      [](L a) { return bfind<T>(static_cast<T>(a), true); }>
             : lanes1<U32, L,
                      [](L a) { return bfind<T>(static_cast<T>(a), false); }>;
}

void lop3Op(Warp &w, const Inst &i, uint32_t mask) {
  const U32 *a = w.row32(i.op[1]), *b = w.row32(i.op[2]), *c = w.row32(i.op[3]);
  alignas(64) U32 result[Lanes] = {};
  for (uint32_t bit = 0; bit < 8; ++bit) {
    if (!((i.imm >> bit) & 1))
      continue;
    U32 x = bit & 4 ? 0 : ~0u, y = bit & 2 ? 0 : ~0u, z = bit & 1 ? 0 : ~0u;
    for (uint32_t l = 0; l < Lanes; ++l)
      result[l] |= (a[l] ^ x) & (b[l] ^ y) & (c[l] ^ z);
  }
  putLanes(w, i.op[0], mask, result);
  w.setTaint(
      i.op[0], mask,
      kept<false>(w.taint[i.op[1]] | w.taint[i.op[2]] | w.taint[i.op[3]]));
}

template <Permute Mode>
void permuteLanes(Warp &w, const Inst &i, uint32_t mask) {
  const Taint taint = w.taint[i.op[1]] | w.taint[i.op[2]] | w.taint[i.op[3]];
  const U32 unknown = U32(w.taint[i.op[3]] & PoisonBits); // selectors
  BytesTainted from[2];
  U32 selector[Lanes];
  if (taint & mask) {
    from[0] = bytesTainted(w, i.op[1], 4);
    from[1] = bytesTainted(w, i.op[2], 4);
    std::memcpy(selector, w.row32(i.op[3]), sizeof(selector));
  }
  lanes3<U32, U32, U32, U32, [](U32 a, U32 b, U32 c) {
    return permute(a, b, permuteSelector(Mode, c));
  }>(w, i, mask);
  if (!(taint & mask))
    return;
  BytesTainted tainted = {};
  for (U32 l = 0; l < Lanes; ++l)
    for (U32 k = 0; k < 4; ++k) {
      const U32 byte = permuteSelector(Mode, selector[l]) >> (4 * k) & 7;
      tainted[k] |= (from[byte / 4][byte % 4] | unknown) & 1u << l;
    }
  setBytesTainted(w, i.op[0], mask, 4, tainted);
}

void predicateLogic(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t a = w.predicate(i, 1);
  Taint taint = w.taint[i.op[1]];
  uint32_t result = ~a;
  if (i.mode != 3) {
    uint32_t b = w.predicate(i, 2);
    Taint other = w.taint[i.op[2]];
    result = i.mode == 0 ? a & b : i.mode == 1 ? a | b : a ^ b;
    // A known false decides an `and`, and a known true an `or`, for any other
    // operand.
    Taint decided = 0;
    if (i.mode == 0)
      decided = (~a & ~taint) | (~b & ~other);
    else if (i.mode == 1)
      decided = (a & ~taint) | (b & ~other);
    taint = (taint | other) & ~decided;
  }
  w.setPredicate(i.op[0], mask, result);
  w.setTaint(i.op[0], mask, taint & PoisonBits);
}

} // namespace

Exec selectBits(const Match &m, Inst &inst) {
  Type type = m.type();
  unsigned bits = typeBits(type);
  bool wide = bits == 64;
  switch (m.row->sem) {
  case Sem::And:
  case Sem::Or:
  case Sem::Xor:
  case Sem::Not:
  case Sem::Cnot:
    return logic(m.row->sem, bits);
  case Sem::PredicateLogic:
    inst.mode = m.row->mnemonic == "and"   ? 0
                : m.row->mnemonic == "or"  ? 1
                : m.row->mnemonic == "xor" ? 2
                                           : 3;
    return predicateLogic;
  case Sem::Lop3:
    return lop3Op;
  case Sem::Shl:
    return shiftLeftOf(bits);
  case Sem::Shr:
    return withInteger(
        type, [](auto number) { return shiftRightOf<decltype(number)>(); });
  case Sem::Shf:
    return withFlags(
        []<bool Left, bool Clamp>() {
          return lanes3<U32, U32, U32, U32, funnelShift<Left, Clamp>>;
        },
        m.has("l"), m.has("clamp"));
  case Sem::Popc:
    return wide ? lanes1<U32, U64, [](U64 a) { return popc(a); }>
                : lanes1<U32, U32, [](U32 a) { return popc(a); }>;
  case Sem::Clz:
    return wide ? lanes1<U32, U64, [](U64 a) { return clz(a); }>
                : lanes1<U32, U32, [](U32 a) { return clz(a); }>;
  case Sem::Brev:
    return wide ? lanes1<U64, U64, [](U64 a) { return brev(a); }>
                : lanes1<U32, U32, [](U32 a) { return brev(a); }>;
  case Sem::Bfind: {
    bool amount = m.has("shiftamt");
    return type == Type::U32   ? findBit<uint32_t>(amount)
           : type == Type::S32 ? findBit<int32_t>(amount)
           : type == Type::U64 ? findBit<uint64_t>(amount)
                               : findBit<int64_t>(amount);
  }
  case Sem::Fns:
    return lanes3<U32, U32, U32, U32, [](U32 a, U32 b, U32 c) {
      return findNthSet(a, b, static_cast<int32_t>(c));
    }>;
  case Sem::Bfe:
    return type == Type::U32   ? extract<uint32_t>()
           : type == Type::S32 ? extract<int32_t>()
           : type == Type::U64 ? extract<uint64_t>()
                               : extract<int64_t>();
  case Sem::Bfi:
    return wide ? insertLanes<U64, bitFieldInsert<U64>>
                : insertLanes<U32, bitFieldInsert<U32>>;
  case Sem::Szext:
    return withFlags(
        []<bool Signed, bool Clamp>() {
          return lanes2<U32, U32, U32, szext<Signed, Clamp>>;
        },
        isSignedType(type), m.has("clamp"));
  case Sem::Bmsk:
    return m.has("clamp") ? lanes2<U32, U32, U32, bitMask<true>>
                          : lanes2<U32, U32, U32, bitMask<false>>;
  case Sem::Dp4a:
  case Sem::Dp2a:
    return withFlags(
        [&]<bool A, bool B, bool High>() {
          return m.row->sem == Sem::Dp4a
                     ? lanes3<U32, U32, U32, U32, dp4a<A, B>>
                     : lanes3<U32, U32, U32, U32, dp2a<A, B, High>>;
        },
        isSignedType(m.type(0)), isSignedType(m.type(1)), m.has("hi"));
  case Sem::Prmt:
    return m.has("f4e")    ? permuteLanes<Permute::F4e>
           : m.has("b4e")  ? permuteLanes<Permute::B4e>
           : m.has("rc8")  ? permuteLanes<Permute::Rc8>
           : m.has("ecl")  ? permuteLanes<Permute::Ecl>
           : m.has("ecr")  ? permuteLanes<Permute::Ecr>
           : m.has("rc16") ? permuteLanes<Permute::Rc16>
                           : permuteLanes<Permute::Default>;
  default:
    return nullptr;
  }
}

} // namespace tessera::sim
