// compiler/semantics/Promotion.h - the common type of two operands.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Defines the type promotion rules. Arithmetic, comparisons, `where`, `minimum`
// and every builtin with two numbers use this file.
#pragma once

#include "compiler/semantics/Types.h"

#include <string>

namespace tessera::semantics {

/// One side of an operator. A Python number ("weak") does not widen a value of
/// the same or a higher kind: bool < integer < float.
struct Side {
  DType dtype;
  bool weak = false;
};

/// The common dtype, or the reason why the operands do not have one. Division
/// and modulo ("divides") promote 16-bit floats and reject mixed signs.
struct Promoted {
  std::optional<DType> dtype;
  std::string why;
};
Promoted promote(Side a, Side b, bool divides);

/// Returns the wider of two integers; for equal widths, the unsigned one.
DType promoteInts(DType a, DType b);

/// Returns the dtype of a Python integer: the first of i32, u32, i64 and u64
/// that holds it; nullopt if none does.
std::optional<DType> dtypeOfInt(__int128 value);

/// Returns the dtype of a Python float: fp32, or fp64 if the value is outside
/// fp32's normal range.
DType dtypeOfFloat(double value);

/// Returns the dtype in which `sum` accumulates: it widens integers below 32
/// bits.
DType sumDType(DType type);

} // namespace tessera::semantics
