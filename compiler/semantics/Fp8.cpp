// compiler/semantics/Fp8.cpp - converts 8-bit floats, which the IR holds as
// bits.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// tl.float8e4nv has 4 bits of exponent (bias 7), 3 of fraction, no infinity and
// one NaN, 0x7f. tl.float8e5 is the upper half of a float16. The IR holds both
// as i8. Conversions are integer arithmetic, so every target supports them.
#include "compiler/semantics/Emitter.h"

#include "llvm/ADT/APFloat.h"

#include <bit>
#include <limits>

namespace tessera::semantics {
namespace {

struct Format {
  unsigned fraction;     // bits
  int64_t least;         // least normal number, as bits of a float32
  int64_t largest;       // finite, as bits of the format
  double unit;           // distance of subnormal numbers
  double subnormalRound; // 2^23 units: added to a float32, it rounds to units
};

constexpr Format kE4M3{3, 0x3C800000, 0x7E, 0x1p-9, 0x1p14};
constexpr Format kE5M2{2, 0x38800000, 0x7B, 0x1p-16, 0x1p7};

constexpr Element kInt8{DType::Int8, false}, kInt16{DType::Int16, false},
    kInt32{DType::Int32, false}, kFp16{DType::Fp16, false},
    kInt64{DType::Int64, false}, kFp64{DType::Fp64, false};

const Format &formatOf(DType type) {
  return type == DType::Fp8E5 ? kE5M2 : kE4M3;
}

Value bitsOf(int64_t value) { return Value::integer(value); }

} // namespace

uint8_t fp8Bits(double value, DType type) {
  llvm::APFloat number(value);
  bool lost;
  number.convert(type == DType::Fp8E5 ? llvm::APFloat::Float8E5M2()
                                      : llvm::APFloat::Float8E4M3FN(),
                 llvm::APFloat::rmNearestTiesToEven, &lost);
  const uint64_t bits = number.bitcastToAPInt().getZExtValue();
  if (value != value)
    return 0x7F;
  const uint64_t most = uint64_t(formatOf(type).largest);
  return uint8_t((bits & 0x7F) > most ? (bits & 0x80) | most : bits);
}

Tensor Emitter::fromFp8(Tensor value) {
  const bool isE5 = value.type.element.dtype == DType::Fp8E5;
  Tensor bits = bitcast(value, kInt8);
  if (isE5) {
    Tensor wide = cast(bits, kInt16);
    return bitcast(*binary(BinaryOp::LShift, wide, bitsOf(8)).tensor(), kFp16);
  }
  // The bits as a float32 whose exponent is too small by 120.
  Tensor wide = cast(bits, kInt32);
  Value size = binary(BinaryOp::And, wide, bitsOf(0x7F));
  Value sign = binary(BinaryOp::And, wide, bitsOf(-0x80000000ll));
  Value moved = binary(BinaryOp::LShift, size, bitsOf(20));
  Tensor number = bitcast(*binary(BinaryOp::Or, moved, sign).tensor(), kFp32);
  Value scaled = binary(BinaryOp::Mul, number, Const(0x1p120));
  Tensor isNan = *compare(CompareOp::Eq, size, bitsOf(0x7F)).tensor();
  return select(isNan, Const(std::numeric_limits<double>::quiet_NaN()), scaled);
}

// Converts float64 to the float32 from which toFp8 rounds as from the exact
// value: truncated, with the last bit set if that is inexact. The conversion to
// nearest moves inexact values away from zero or towards it; the bits of the
// former are one too large.
Tensor Emitter::roundToOdd(Tensor value) {
  Tensor near = cast(value, kFp32), back = cast(near, kFp64);
  auto size = [&](Tensor number) {
    Tensor bits = bitcast(number, kInt64);
    return binary(BinaryOp::And, bits, bitsOf(0x7FFFFFFFFFFFFFFFll));
  };
  Tensor away = *compare(CompareOp::Gt, size(back), size(value)).tensor();
  Tensor inexact = *compare(CompareOp::Ne, back, value).tensor();
  Value bits = binary(BinaryOp::Sub, bitcast(near, kInt32), cast(away, kInt32));
  return bitcast(*binary(BinaryOp::Or, bits, cast(inexact, kInt32)).tensor(),
                 kFp32);
}

// Rounds to nearest even or toward zero. A value out of range becomes the
// largest number (cvt.rn.satfinite of PTX), NaN the positive NaN.
Tensor Emitter::toFp8(Tensor value, DType type, bool towardZero) {
  const Format &format = formatOf(type);
  const int64_t shift = 23 - format.fraction;
  Tensor bits = bitcast(value, kInt32);
  Tensor size = *binary(BinaryOp::And, bits, bitsOf(0x7FFFFFFF)).tensor();

  // Normal: rounds the bits, then subtracts the difference of the biases.
  Value rounded = size;
  if (!towardZero) {
    Value odd =
        binary(BinaryOp::And, binary(BinaryOp::RShift, size, bitsOf(shift)),
               bitsOf(1));
    Value half = binary(BinaryOp::Add, odd, bitsOf((1ll << (shift - 1)) - 1));
    rounded = binary(BinaryOp::Add, size, half);
  }
  const int64_t bias = (format.least >> shift) - (1ll << format.fraction);
  Value normal =
      binary(BinaryOp::Sub, binary(BinaryOp::RShift, rounded, bitsOf(shift)),
             bitsOf(bias));
  Tensor tooLarge =
      *compare(CompareOp::Gt, normal, bitsOf(format.largest)).tensor();
  normal = select(tooLarge, bitsOf(format.largest), normal);

  // Subnormal: computes the multiple of the format's unit.
  Tensor magnitude = bitcast(size, kFp32);
  Value small;
  if (towardZero) {
    Tensor isSmall =
        *compare(CompareOp::Lt, size, bitsOf(format.least)).tensor();
    Tensor units =
        *binary(BinaryOp::Mul, magnitude, Const(1 / format.unit)).tensor();
    small = cast(select(isSmall, units, Const(0.0)), kInt32);
  } else {
    Tensor sum = *binary(BinaryOp::Add, magnitude, Const(format.subnormalRound))
                      .tensor();
    const int64_t base = std::bit_cast<int32_t>(float(format.subnormalRound));
    small = binary(BinaryOp::Sub, bitcast(sum, kInt32), bitsOf(base));
  }
  Tensor isNormal =
      *compare(CompareOp::Ge, size, bitsOf(format.least)).tensor();
  Value result = select(isNormal, normal, small);

  Value sign = binary(BinaryOp::And, binary(BinaryOp::RShift, bits, bitsOf(24)),
                      bitsOf(0x80));
  result = binary(BinaryOp::Or, result, sign);
  Tensor isNan = *compare(CompareOp::Gt, size, bitsOf(0x7F800000)).tensor();
  result = select(isNan, bitsOf(0x7F), result);
  Tensor narrow = cast(*result.tensor(), kInt8);
  return {narrow.handle, narrow.type.with(Element{type, false})};
}

} // namespace tessera::semantics
