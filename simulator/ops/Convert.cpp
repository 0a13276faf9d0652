// simulator/ops/Convert.cpp - cvt over the lanes of a warp.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Convert.h"
#include "simulator/machine/Lanes.h"
#include "simulator/machine/Select.h"

namespace tessera::sim {
namespace {

using U32 = uint32_t;
using U64 = uint64_t;

ConvertMode modeOf(const Match &m) {
  ConvertMode mode;
  for (std::string_view name : m.modifiers) {
    mode.integral |=
        name == "rni" || name == "rzi" || name == "rmi" || name == "rpi";
    if (name == "rz" || name == "rzi")
      mode.rounding = Rounding::Zero;
    else if (name == "rm" || name == "rmi")
      mode.rounding = Rounding::Down;
    else if (name == "rp" || name == "rpi")
      mode.rounding = Rounding::Up;
    else if (name == "rna")
      mode.rounding = Rounding::NearestAway;
    mode.ftz |= name == "ftz";
    mode.sat |= name == "sat";
    mode.relu |= name == "relu";
    mode.satfinite |= name == "satfinite";
  }
  return mode;
}

// Encoding for any pair of types: mode is the destination's Type, mode2 the
// source's, imm the bits of the ConvertMode. The registers may be wider than
// the types (count: bits of the source register; bytes: of the destination's).
int64_t packMode(const ConvertMode &mode) {
  int64_t bits = 0;
  static_assert(sizeof(mode) <= sizeof(bits));
  std::memcpy(&bits, &mode, sizeof(mode));
  return bits;
}
ConvertMode unpackMode(int64_t bits) {
  ConvertMode mode;
  std::memcpy(static_cast<void *>(&mode), &bits, sizeof(mode));
  return mode;
}

void convertAny(Warp &w, const Inst &i, uint32_t mask) {
  auto to = static_cast<Type>(i.mode), from = static_cast<Type>(i.mode2);
  ConvertMode mode = unpackMode(i.imm);
  U64 wide[Lanes];
  for (U32 l = 0; l < Lanes; ++l) {
    U64 value = i.count == 64 ? w.row64(i.op[1])[l] : w.row32(i.op[1])[l];
    wide[l] = (mask >> l) & 1 ? convert(to, from, mode, value) : 0;
  }
  if (i.bytes == 8) {
    putLanes(w, i.op[0], mask, wide);
  } else {
    U32 keep = i.bytes == 2 ? 0xffff : ~0u;
    U32 narrow[Lanes];
    for (U32 l = 0; l < Lanes; ++l)
      narrow[l] = static_cast<U32>(wide[l]) & keep;
    putLanes(w, i.op[0], mask, narrow);
  }
  w.setTaint(i.op[0], mask, w.taint[i.op[1]] & PoisonBits);
}

// Integer to integer without .sat: sign or zero extension of the source's bits.
// To: the lane type. From: the source type.
template <class To, class From>
Exec extend(unsigned registerBits) {
  return withFlags(
      []<bool Wide>() {
        using A = std::conditional_t<Wide, U64, U32>;
        return lanes1<To, A,
                      [](A a) {
                        return static_cast<To>(
                            static_cast<std::make_signed_t<To>>(
                                static_cast<From>(a)));
                      },
                      true>;
      },
      registerBits == 64 || sizeof(From) == 8);
}
template <class To>
Exec extendFrom(Type from, unsigned registerBits) {
  if (from == Type::U8)
    return extend<To, uint8_t>(registerBits);
  if (from == Type::S8)
    return extend<To, int8_t>(registerBits);
  return withInteger(from, [&](auto number) {
    return extend<To, decltype(number)>(registerBits);
  });
}

// Returns fast code for the pairs that kernels convert for every element.
Exec fastPath(Type to, Type from, const ConvertMode &mode) {
  bool plain = !mode.sat && !mode.relu && !mode.satfinite && !mode.integral &&
               mode.rounding == Rounding::Nearest;
  if (!plain) {
    if (to == Type::S32 && from == Type::F32 && mode.integral &&
        mode.rounding == Rounding::Zero && !mode.ftz && !mode.sat)
      return lanes1<U32, U32, f32ToS32>;
    if (to == Type::Tf32 && mode.rounding == Rounding::NearestAway &&
        !mode.relu && !mode.satfinite)
      return lanes1<U32, U32, f32ToTf32>;
    return nullptr;
  }
  if (to == Type::F32 && from == Type::F16)
    return withFlags(
        []<bool Ftz>() {
          return lanes1<U32, U32, [](U32 a) {
            return f16ToF32<Ftz>(static_cast<uint16_t>(a));
          }>;
        },
        mode.ftz);
  if (mode.ftz)
    return nullptr;
  if (to == Type::F32 && from == Type::Bf16)
    return lanes1<U32, U32,
                  [](U32 a) { return bf16ToF32(static_cast<uint16_t>(a)); }>;
  if (to == Type::Bf16 && from == Type::F32)
    return lanes1<U32, U32, [](U32 a) { return U32{floatToBf16(asFloat(a))}; }>;
  if (to == Type::F16 && from == Type::F32)
    return lanes1<U32, U32, [](U32 a) { return U32{floatToF16(asFloat(a))}; }>;
  if (to == Type::F32 && from == Type::S32)
    return lanes1<U32, U32, s32ToF32>;
  if (to == Type::F32 && from == Type::U32)
    return lanes1<U32, U32, u32ToF32>;
  return nullptr;
}

// Converts from f16x2: widens both halves first.
template <Float8 F, bool Relu>
U32 narrowHalves(U32 a) {
  return packFloat8(F, bitsOf(f16ToFloat(static_cast<uint16_t>(a >> 16))),
                    bitsOf(f16ToFloat(static_cast<uint16_t>(a))), Relu);
}
template <Float8 F>
Exec packFloat8Of(Type from, bool withRelu) {
  return withFlags(
      []<bool IsFloat, bool Relu>() {
        if (IsFloat)
          return lanes2<U32, U32, U32,
                        [](U32 a, U32 b) { return packFloat8(F, a, b, Relu); }>;
        return lanes1<U32, U32, narrowHalves<F, Relu>>;
      },
      from == Type::F32, withRelu);
}

template <Type To>
Exec packIntegers(bool withThird) {
  return withThird ? lanes3<U32, U32, U32, U32,
                            [](U32 a, U32 b, U32 c) {
                              return convertPack(To, a, b, c);
                            }>
                   : lanes2<U32, U32, U32, [](U32 a, U32 b) {
                       return convertPack(To, a, b, 0);
                     }>;
}

} // namespace

// On entry, inst.count has the bits of the source register and inst.bytes the
// bytes of the destination register.
Exec selectConvert(const Match &m, Inst &inst) {
  ConvertMode mode = modeOf(m);
  Type type = m.type();
  switch (m.row->sem) {
  case Sem::Cvt:
    break;
  case Sem::CvtPackHalf:
    if (mode.rounding != Rounding::Nearest || mode.satfinite)
      return nullptr;
    return withFlags(
        []<bool IsF16, bool Relu>() {
          return lanes2<U32, U32, U32,
                        packF32<IsF16 ? Half::F16 : Half::Bf16, Relu>>;
        },
        type == Type::F16x2, mode.relu);
  case Sem::CvtPackFloat8:
    return type == Type::E4m3x2
               ? packFloat8Of<Float8::E4m3>(m.type(1), mode.relu)
               : packFloat8Of<Float8::E5m2>(m.type(1), mode.relu);
  case Sem::CvtUnpackFloat8:
    if (mode.relu)
      return nullptr;
    return withFlags(
        []<bool IsE4m3>() {
          return lanes1<U32, U32, [](U32 a) {
            return unpackFloat8(IsE4m3 ? Float8::E4m3 : Float8::E5m2,
                                static_cast<uint16_t>(a));
          }>;
        },
        m.type(1) == Type::E4m3x2);
  case Sem::CvtPackInteger:
    return type == Type::U16   ? packIntegers<Type::U16>(false)
           : type == Type::S16 ? packIntegers<Type::S16>(false)
           : type == Type::U8  ? packIntegers<Type::U8>(true)
                               : packIntegers<Type::S8>(true);
  default:
    return nullptr;
  }
  const Type to = type, from = m.type(1);
  if (!isScalar(to) || !isScalar(from))
    return nullptr;
  Exec exec = nullptr;
  if (!isFloat(to) && !isFloat(from) && !mode.sat) {
    if (bitWidth(to) == 64)
      exec = extendFrom<U64>(from, inst.count);
    else if (bitWidth(to) == 32 && inst.bytes == 4)
      exec = extendFrom<U32>(from, inst.count);
  }
  if (!exec && inst.count != 64 && inst.bytes <= 4)
    exec = fastPath(to, from, mode);
  if (exec)
    return exec;
  inst.mode = static_cast<uint8_t>(to);
  inst.mode2 = static_cast<uint8_t>(from);
  inst.imm = packMode(mode);
  return convertAny;
}

} // namespace tessera::sim
