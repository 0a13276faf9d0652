// compiler/semantics/Promotion.cpp - the promotion table.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Promotion.h"

#include <cmath>

namespace tessera::semantics {
namespace {

bool isHalf(DType type) { return type == DType::Fp16 || type == DType::Bf16; }

bool either(DType a, DType b, DType type) { return a == type || b == type; }

} // namespace

DType promoteInts(DType a, DType b) {
  if (bitWidth(a) != bitWidth(b))
    if (isSigned(a) == isSigned(b))
      return bitWidth(a) > bitWidth(b) ? a : b;
  if (isSigned(a) == isSigned(b))
    return b;
  // Mixed signs: the unsigned side wins unless the signed one is wider.
  DType unsignedSide = isSigned(a) ? b : a, signedSide = isSigned(a) ? a : b;
  return bitWidth(unsignedSide) >= bitWidth(signedSide) ? unsignedSide
                                                        : signedSide;
}

Promoted promote(Side a, Side b, bool divides) {
  if (a.weak != b.weak) {
    DType weak = a.weak ? a.dtype : b.dtype,
          strong = a.weak ? b.dtype : a.dtype;
    if (kindOf(weak) <= kindOf(strong))
      return {divides && isHalf(strong) ? DType::Fp32 : strong, ""};
  }
  if (either(a.dtype, b.dtype, DType::Fp64))
    return {DType::Fp64, ""};
  if (either(a.dtype, b.dtype, DType::Fp32))
    return {DType::Fp32, ""};
  if (either(a.dtype, b.dtype, DType::Fp16))
    return {divides ? DType::Fp32 : DType::Fp16, ""};
  if (a.dtype == DType::Bf16 && b.dtype == DType::Bf16)
    return {divides ? DType::Fp32 : DType::Bf16, ""};
  if (either(a.dtype, b.dtype, DType::Bf16))
    return {DType::Fp32, ""};
  if (isFp8(a.dtype) && isFp8(b.dtype))
    return {a.dtype == b.dtype ? a.dtype : DType::Fp16, ""};
  if (isFp8(a.dtype) || isFp8(b.dtype))
    return {std::nullopt, "`" + std::string(nameOf(a.dtype)) + "` and `" +
                              std::string(nameOf(b.dtype)) +
                              "` have no common type"};
  if (divides && isSigned(a.dtype) != isSigned(b.dtype))
    return {std::nullopt, "cannot divide " + std::string(nameOf(a.dtype)) +
                              " and " + std::string(nameOf(b.dtype)) +
                              ": one is signed, the other is not"};
  return {promoteInts(a.dtype, b.dtype), ""};
}

std::optional<DType> dtypeOfInt(__int128 value) {
  for (DType type : {DType::Int32, DType::UInt32, DType::Int64, DType::UInt64})
    if (minOf(type) <= value && value <= maxOf(type))
      return type;
  return std::nullopt;
}

DType dtypeOfFloat(double value) {
  double size = std::fabs(value);
  bool fits = std::isnan(size) || std::isinf(size) || size == 0.0 ||
              (size >= 0x1p-126 && size <= 0x1.fffffep127);
  return fits ? DType::Fp32 : DType::Fp64;
}

DType sumDType(DType type) {
  if (!isInt(type) || bitWidth(type) >= 32)
    return type;
  return isSigned(type) ? DType::Int32 : DType::UInt32;
}

} // namespace tessera::semantics
