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

bool scalarOf(Type type, Scalar &scalar) {
  switch (type) {
  case Type::U8:
    scalar = Scalar::U8;
    return true;
  case Type::U16:
    scalar = Scalar::U16;
    return true;
  case Type::U32:
    scalar = Scalar::U32;
    return true;
  case Type::U64:
    scalar = Scalar::U64;
    return true;
  case Type::S8:
    scalar = Scalar::S8;
    return true;
  case Type::S16:
    scalar = Scalar::S16;
    return true;
  case Type::S32:
    scalar = Scalar::S32;
    return true;
  case Type::S64:
    scalar = Scalar::S64;
    return true;
  case Type::F16:
    scalar = Scalar::F16;
    return true;
  case Type::Bf16:
    scalar = Scalar::Bf16;
    return true;
  case Type::F32:
    scalar = Scalar::F32;
    return true;
  case Type::F64:
    scalar = Scalar::F64;
    return true;
  case Type::Tf32:
    scalar = Scalar::Tf32;
    return true;
  default:
    return false;
  }
}

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

// Any pair: mode is the destination's Scalar, mode2 the source's, imm the
// ConvertMode's bits. The registers may be wider than the types (count: bits of
// the source register, bytes: of the destination's).
U64 packMode(const ConvertMode &mode) {
  return static_cast<U64>(mode.rounding) | U64{mode.integral} << 8 |
         U64{mode.ftz} << 9 | U64{mode.sat} << 10 | U64{mode.relu} << 11 |
         U64{mode.satfinite} << 12;
}
ConvertMode unpackMode(U64 bits) {
  return {static_cast<Rounding>(bits & 0xff),
          (bits >> 8 & 1) != 0,
          (bits >> 9 & 1) != 0,
          (bits >> 10 & 1) != 0,
          (bits >> 11 & 1) != 0,
          (bits >> 12 & 1) != 0};
}

void convertAny(Warp &w, const Inst &i, uint32_t mask) {
  auto to = static_cast<Scalar>(i.mode), from = static_cast<Scalar>(i.mode2);
  ConvertMode mode = unpackMode(static_cast<U64>(i.imm));
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
// To: the lane type; From: the source type.
template <class To, class From>
Exec extend(unsigned registerBits) {
  using A = std::conditional_t<sizeof(From) == 8, U64, U32>;
  if (registerBits == 64 && sizeof(From) < 8)
    return lanes1<To, U64,
                  [](U64 a) {
                    return static_cast<To>(static_cast<std::make_signed_t<To>>(
                        static_cast<From>(a)));
                  },
                  true>;
  return lanes1<To, A,
                [](A a) {
                  return static_cast<To>(static_cast<std::make_signed_t<To>>(
                      static_cast<From>(a)));
                },
                true>;
}
template <class To>
Exec extendFrom(Scalar from, unsigned registerBits) {
  switch (from) {
  case Scalar::U8:
    return extend<To, uint8_t>(registerBits);
  case Scalar::U16:
    return extend<To, uint16_t>(registerBits);
  case Scalar::U32:
    return extend<To, uint32_t>(registerBits);
  case Scalar::U64:
    return extend<To, uint64_t>(registerBits);
  case Scalar::S8:
    return extend<To, int8_t>(registerBits);
  case Scalar::S16:
    return extend<To, int16_t>(registerBits);
  case Scalar::S32:
    return extend<To, int32_t>(registerBits);
  default:
    return extend<To, int64_t>(registerBits);
  }
}

// The pairs that kernels use for every element.
Exec fastPath(Scalar to, Scalar from, const ConvertMode &mode) {
  bool plain = !mode.sat && !mode.relu && !mode.satfinite && !mode.integral &&
               mode.rounding == Rounding::Nearest;
  if (!plain) {
    if (to == Scalar::S32 && from == Scalar::F32 && mode.integral &&
        mode.rounding == Rounding::Zero && !mode.ftz && !mode.sat)
      return lanes1<U32, U32, f32ToS32>;
    if (to == Scalar::Tf32 && mode.rounding == Rounding::NearestAway &&
        !mode.relu && !mode.satfinite)
      return lanes1<U32, U32, f32ToTf32>;
    return nullptr;
  }
  if (to == Scalar::F32 && from == Scalar::F16)
    return mode.ftz ? lanes1<U32, U32,
                             [](U32 a) {
                               return f16ToF32<true>(static_cast<uint16_t>(a));
                             }>
                    : lanes1<U32, U32, [](U32 a) {
                        return f16ToF32<false>(static_cast<uint16_t>(a));
                      }>;
  if (mode.ftz)
    return nullptr;
  if (to == Scalar::F32 && from == Scalar::Bf16)
    return lanes1<U32, U32,
                  [](U32 a) { return bf16ToF32(static_cast<uint16_t>(a)); }>;
  if (to == Scalar::Bf16 && from == Scalar::F32)
    return lanes1<U32, U32, [](U32 a) { return U32{floatToBf16(asFloat(a))}; }>;
  if (to == Scalar::F16 && from == Scalar::F32)
    return lanes1<U32, U32, [](U32 a) { return U32{floatToF16(asFloat(a))}; }>;
  if (to == Scalar::F32 && from == Scalar::S32)
    return lanes1<U32, U32, s32ToF32>;
  if (to == Scalar::F32 && from == Scalar::U32)
    return lanes1<U32, U32, u32ToF32>;
  return nullptr;
}

template <Float8 F>
Exec packFloat8Of(bool relu) {
  return relu ? lanes2<U32, U32, U32,
                       [](U32 a, U32 b) { return packFloat8(F, a, b, true); }>
              : lanes2<U32, U32, U32,
                       [](U32 a, U32 b) { return packFloat8(F, a, b, false); }>;
}
// From f16x2: both halves widened first.
template <Float8 F, bool Relu>
U32 narrowHalves(U32 a) {
  return packFloat8(F, bitsOf(f16ToFloat(static_cast<uint16_t>(a >> 16))),
                    bitsOf(f16ToFloat(static_cast<uint16_t>(a))), Relu);
}
template <Float8 F>
Exec packFloat8Halves(bool relu) {
  return relu ? lanes1<U32, U32, narrowHalves<F, true>>
              : lanes1<U32, U32, narrowHalves<F, false>>;
}

template <Scalar To>
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

// inst.count and inst.bytes come in as bits of the source and bytes of the
// destination register.
bool selectConvert(const Match &m, Inst &inst) {
  ConvertMode mode = modeOf(m);
  Type type = m.type();
  switch (m.row->sem) {
  case Sem::Cvt:
    break;
  case Sem::CvtPackHalf:
    if (mode.rounding != Rounding::Nearest || mode.satfinite)
      return false;
    inst.exec =
        type == Type::F16x2
            ? (mode.relu ? lanes2<U32, U32, U32, packF32<Half::F16, true>>
                         : lanes2<U32, U32, U32, packF32<Half::F16>>)
            : (mode.relu ? lanes2<U32, U32, U32, packF32<Half::Bf16, true>>
                         : lanes2<U32, U32, U32, packF32<Half::Bf16>>);
    return true;
  case Sem::CvtPackFloat8:
    if (m.type(1) == Type::F32)
      inst.exec = type == Type::E4m3x2 ? packFloat8Of<Float8::E4m3>(mode.relu)
                                       : packFloat8Of<Float8::E5m2>(mode.relu);
    else
      inst.exec = type == Type::E4m3x2
                      ? packFloat8Halves<Float8::E4m3>(mode.relu)
                      : packFloat8Halves<Float8::E5m2>(mode.relu);
    return true;
  case Sem::CvtUnpackFloat8:
    if (mode.relu)
      return false;
    inst.exec =
        m.type(1) == Type::E4m3x2
            ? lanes1<U32, U32,
                     [](U32 a) {
                       return unpackFloat8(Float8::E4m3,
                                           static_cast<uint16_t>(a));
                     }>
            : lanes1<U32, U32, [](U32 a) {
                return unpackFloat8(Float8::E5m2, static_cast<uint16_t>(a));
              }>;
    return true;
  case Sem::CvtPackInteger:
    inst.exec = type == Type::U16   ? packIntegers<Scalar::U16>(false)
                : type == Type::S16 ? packIntegers<Scalar::S16>(false)
                : type == Type::U8  ? packIntegers<Scalar::U8>(true)
                                    : packIntegers<Scalar::S8>(true);
    return true;
  default:
    return false;
  }
  Scalar to, from;
  if (!scalarOf(type, to) || !scalarOf(m.type(1), from))
    return false;
  if (!isFloat(to) && !isFloat(from) && !mode.sat) {
    if (bitWidth(to) == 64)
      inst.exec = extendFrom<U64>(from, inst.count);
    else if (bitWidth(to) == 32 && inst.bytes == 4)
      inst.exec = extendFrom<U32>(from, inst.count);
    if (inst.exec)
      return true;
  }
  if (inst.count != 64 && inst.bytes <= 4)
    inst.exec = fastPath(to, from, mode);
  if (inst.exec)
    return true;
  inst.mode = static_cast<uint8_t>(to);
  inst.mode2 = static_cast<uint8_t>(from);
  inst.imm = static_cast<int64_t>(packMode(mode));
  inst.exec = convertAny;
  return true;
}

} // namespace tessera::sim
