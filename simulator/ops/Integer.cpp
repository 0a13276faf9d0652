// simulator/ops/Integer.cpp - integer arithmetic over the lanes of a warp.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Integer.h"
#include "simulator/machine/Block.h"
#include "simulator/machine/Lanes.h"
#include "simulator/machine/Select.h"

#include <bit>

namespace tessera::sim {
namespace {

// Lane type that holds T; T's bits are zero-extended in it.
template <class T>
using Lane = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T>
Lane<T> pack(T value) {
  return static_cast<Lane<T>>(static_cast<std::make_unsigned_t<T>>(value));
}

template <class T, auto F, bool Keep = false>
Exec binary() {
  return lanes2<Lane<T>, Lane<T>, Lane<T>,
                [](Lane<T> a, Lane<T> b) {
                  return pack<T>(F(static_cast<T>(a), static_cast<T>(b)));
                },
                Keep>;
}
template <class T, auto F, bool Keep = false>
Exec unary() {
  return lanes1<Lane<T>, Lane<T>,
                [](Lane<T> a) { return pack<T>(F(static_cast<T>(a))); }, Keep>;
}
template <class T, auto F, bool Keep = false>
Exec ternary() {
  return lanes3<Lane<T>, Lane<T>, Lane<T>, Lane<T>,
                [](Lane<T> a, Lane<T> b, Lane<T> c) {
                  return pack<T>(F(static_cast<T>(a), static_cast<T>(b),
                                   static_cast<T>(c)));
                },
                Keep>;
}

// div and rem. The result of a division by zero is undefined, so it is marked.
template <class T, auto F>
void divided(Warp &w, const Inst &i, uint32_t mask) {
  const Lane<T> *b = w.lanes<Lane<T>>(i.op[2]);
  uint32_t zero = 0;
  for (uint32_t l = 0; l < Lanes; ++l)
    zero |= uint32_t{static_cast<T>(b[l]) == 0} << l;
  // An uninitialized divisor is not known to be zero.
  zero &= mask & ~static_cast<uint32_t>(w.taint[i.op[2]]);
  const Taint sources = w.taint[i.op[1]] | w.taint[i.op[2]];
  binary<T, F>()(w, i, mask);
  if (!zero || !w.block->launch.options->uninitialized)
    return;
  w.setTaint(i.op[0], mask, kept<false>(sources | zero));
  if (w.block->zeroDivision.empty())
    w.block->zeroDivision = "divided by " + w.block->describe(i.index) +
                            " in lane " +
                            std::to_string(std::countr_zero(zero)) +
                            " of warp " + std::to_string(w.id);
}

// add, sub, mul.lo and mad.lo of s32; also marks signed overflow in the taint.
template <auto Wide, unsigned Sources>
void checked(Warp &w, const Inst &i, uint32_t mask) {
  const uint32_t *a = w.row32(i.op[1]), *b = w.row32(i.op[2]);
  const uint32_t *c = Sources == 3 ? w.row32(i.op[3]) : b;
  alignas(64) uint32_t result[Lanes];
  uint32_t overflow = 0;
  alignas(64) uint32_t over[Lanes];
  for (uint32_t l = 0; l < Lanes; ++l) {
    int64_t wide = Wide(static_cast<int64_t>(static_cast<int32_t>(a[l])),
                        static_cast<int64_t>(static_cast<int32_t>(b[l])),
                        static_cast<int64_t>(static_cast<int32_t>(c[l])));
    result[l] = static_cast<uint32_t>(wide);
    over[l] = wide != static_cast<int32_t>(wide);
  }
  for (uint32_t l = 0; l < Lanes; ++l)
    overflow |= over[l] << l;
  Taint taint = w.taint[i.op[1]] | w.taint[i.op[2]];
  if constexpr (Sources == 3)
    taint |= w.taint[i.op[3]];
  putLanes(w, i.op[0], mask, result);
  w.setTaint(i.op[0], mask, taint | static_cast<Taint>(overflow) << 32);
}

constexpr auto WideAdd = [](int64_t a, int64_t b, int64_t) { return a + b; };
constexpr auto WideSub = [](int64_t a, int64_t b, int64_t) { return a - b; };
constexpr auto WideMul = [](int64_t a, int64_t b, int64_t) { return a * b; };
constexpr auto WideMad = [](int64_t a, int64_t b, int64_t c) {
  return a * b + c;
};

template <class T>
Exec selectTyped(const Match &m, Inst &inst) {
  switch (m.row->sem) {
  case Sem::Add:
    if (m.has("sat"))
      return binary<int32_t, [](int32_t a, int32_t b) {
        return saturateS32(int64_t{a} + b);
      }>();
    return binary<T, [](T a, T b) { return wrapAdd<T>(a, b); }, true>();
  case Sem::Sub:
    if (m.has("sat"))
      return binary<int32_t, [](int32_t a, int32_t b) {
        return saturateS32(int64_t{a} - b);
      }>();
    return binary<T, [](T a, T b) { return wrapSub<T>(a, b); }, true>();
  case Sem::MulLo:
    return binary<T, [](T a, T b) { return mulLo<T>(a, b); }, true>();
  case Sem::MulHi:
    return binary<T, [](T a, T b) { return mulHi<T>(a, b); }>();
  case Sem::MadLo:
    return ternary<
        T, [](T a, T b, T c) { return wrapAdd<T>(mulLo<T>(a, b), c); }, true>();
  case Sem::MadHi:
    if (m.has("sat"))
      return ternary<int32_t, [](int32_t a, int32_t b, int32_t c) {
        return saturateS32(int64_t{mulHi<int32_t>(a, b)} + c);
      }>();
    return ternary<T, [](T a, T b, T c) {
      return wrapAdd<T>(mulHi<T>(a, b), c);
    }>();
  case Sem::Sad:
    return ternary<T, [](T a, T b, T c) {
      return sumAbsDifference<T>(a, b, c);
    }>();
  case Sem::Div:
    return divided<T, [](T a, T b) { return divInt<T>(a, b); }>;
  case Sem::Rem:
    return divided<T, [](T a, T b) { return remInt<T>(a, b); }>;
  case Sem::Abs:
    return unary<T, [](T a) { return absInt<T>(a); }>();
  case Sem::Neg:
    return unary<T, [](T a) { return negInt<T>(a); }, true>();
  case Sem::Min:
    if (m.has("relu"))
      return binary<T, [](T a, T b) { return reluInt<T>(minInt<T>(a, b)); }>();
    return binary<T, [](T a, T b) { return minInt<T>(a, b); }, true>();
  case Sem::Max:
    if (m.has("relu"))
      return binary<T, [](T a, T b) { return reluInt<T>(maxInt<T>(a, b)); }>();
    return binary<T, [](T a, T b) { return maxInt<T>(a, b); }, true>();
  default:
    return nullptr;
  }
}

// mul.wide and mad.wide: T is the narrow type.
template <class T>
Exec selectWide(const Match &m) {
  using W = Wider<T>;
  using L = Lane<T>;
  if (m.row->sem == Sem::MulWide)
    return lanes2<Lane<W>, L, L,
                  [](L a, L b) {
                    return pack<W>(
                        mulWide<T>(static_cast<T>(a), static_cast<T>(b)));
                  },
                  true>;
  return lanes3<Lane<W>, L, L, Lane<W>,
                [](L a, L b, Lane<W> c) {
                  return pack<W>(wrapAdd<W>(
                      mulWide<T>(static_cast<T>(a), static_cast<T>(b)),
                      static_cast<W>(c)));
                },
                true>;
}

template <bool Signed>
Exec select24(const Match &m) {
  bool high = m.has("hi");
  if (m.row->sem == Sem::Mul24)
    return high ? binary<uint32_t, mul24<Signed, true>>()
                : binary<uint32_t, mul24<Signed, false>>();
  return high ? ternary<uint32_t,
                        [](uint32_t a, uint32_t b, uint32_t c) {
                          return mul24<Signed, true>(a, b) + c;
                        }>()
              : ternary<uint32_t, [](uint32_t a, uint32_t b, uint32_t c) {
                  return mul24<Signed, false>(a, b) + c;
                }>();
}

// add, min and max of two packed 16-bit halves.
template <class T, auto F>
Exec packedBinary() {
  return lanes2<uint32_t, uint32_t, uint32_t, [](uint32_t a, uint32_t b) {
    auto low = static_cast<uint16_t>(
        F(static_cast<T>(a & 0xffff), static_cast<T>(b & 0xffff)));
    auto high = static_cast<uint16_t>(
        F(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
    return static_cast<uint32_t>(high) << 16 | low;
  }>;
}
template <class T>
Exec selectPacked(const Match &m) {
  bool relu = m.has("relu");
  if (m.row->mnemonic == "add")
    return packedBinary<T, wrapAdd<T>>();
  if (m.row->mnemonic == "min")
    return relu ? packedBinary<
                      T, [](T a, T b) { return reluInt<T>(minInt<T>(a, b)); }>()
                : packedBinary<T, minInt<T>>();
  return relu ? packedBinary<
                    T, [](T a, T b) { return reluInt<T>(maxInt<T>(a, b)); }>()
              : packedBinary<T, maxInt<T>>();
}

// add.cc, addc, sub.cc, subc, mad.cc, madc. mode: CarryKind. mode2: bit 0 if
// the carry is read, bit 1 if it is written. imm: nonzero for the upper half of
// the product.
enum CarryKind : uint8_t { CarryAdd, CarrySub, CarryMad };

template <class T>
void carryOp(Warp &w, const Inst &i, uint32_t mask) {
  using U = std::make_unsigned_t<T>;
  const U *a = w.lanes<U>(i.op[1]), *b = w.lanes<U>(i.op[2]);
  const U *c = w.lanes<U>(i.mode == CarryMad ? i.op[3] : i.op[2]);
  U result[Lanes];
  uint32_t carry = 0;
  for (uint32_t l = 0; l < Lanes; ++l) {
    bool in = (i.mode2 & 1) && ((w.carry >> l) & 1), out = false;
    if (i.mode == CarrySub) {
      result[l] = subBorrow<U>(a[l], b[l], in, out);
    } else {
      U x = a[l], y = b[l];
      if (i.mode == CarryMad) {
        T s = static_cast<T>(a[l]), t = static_cast<T>(b[l]);
        x = static_cast<U>(i.imm ? mulHi<T>(s, t) : mulLo<T>(s, t));
        y = c[l];
      }
      result[l] = addCarry<U>(x, y, in, out);
    }
    carry |= static_cast<uint32_t>(out) << l;
  }
  Taint taint = w.taint[i.op[1]] | w.taint[i.op[2]];
  if (i.mode == CarryMad)
    taint |= w.taint[i.op[3]];
  if (i.mode2 & 1)
    taint |= w.carryTaint;
  taint &= PoisonBits;
  putLanes(w, i.op[0], mask, result);
  w.setTaint(i.op[0], mask, taint);
  if (i.mode2 & 2) {
    w.carry = (w.carry & ~mask) | (carry & mask);
    w.carryTaint =
        (w.carryTaint & ~bothHalves(mask)) | (taint & bothHalves(mask));
  }
}

} // namespace

Exec selectInteger(const Match &m, Inst &inst) {
  Type type = m.type();
  switch (m.row->sem) {
  case Sem::Add:
  case Sem::Sub:
  case Sem::MulLo:
  case Sem::MadLo:
    if (type == Type::S32 && !m.has("sat"))
      return m.row->sem == Sem::Add     ? checked<WideAdd, 2>
             : m.row->sem == Sem::Sub   ? checked<WideSub, 2>
             : m.row->sem == Sem::MulLo ? checked<WideMul, 2>
                                        : checked<WideMad, 3>;
    [[fallthrough]];
  case Sem::MulHi:
  case Sem::MadHi:
  case Sem::Sad:
  case Sem::Div:
  case Sem::Rem:
  case Sem::Abs:
  case Sem::Neg:
  case Sem::Min:
  case Sem::Max:
    return withInteger(type, [&](auto number) {
      return selectTyped<decltype(number)>(m, inst);
    });
  case Sem::MulWide:
  case Sem::MadWide:
    return type == Type::U16   ? selectWide<uint16_t>(m)
           : type == Type::S16 ? selectWide<int16_t>(m)
           : type == Type::U32 ? selectWide<uint32_t>(m)
                               : selectWide<int32_t>(m);
  case Sem::Mul24:
  case Sem::Mad24:
    return isSignedType(type) ? select24<true>(m) : select24<false>(m);
  case Sem::PackedInteger:
    return isSignedType(type) ? selectPacked<int16_t>(m)
                              : selectPacked<uint16_t>(m);
  case Sem::Carry: {
    std::string_view name = m.row->mnemonic;
    inst.mode = name.substr(0, 3) == "add"   ? CarryAdd
                : name.substr(0, 3) == "sub" ? CarrySub
                                             : CarryMad;
    inst.mode2 = (name.back() == 'c' ? 1 : 0) | (m.has("cc") ? 2 : 0);
    inst.imm = m.has("hi");
    return type == Type::U32   ? carryOp<uint32_t>
           : type == Type::S32 ? carryOp<int32_t>
           : type == Type::U64 ? carryOp<uint64_t>
                               : carryOp<int64_t>;
  }
  default:
    return nullptr;
  }
}

} // namespace tessera::sim
