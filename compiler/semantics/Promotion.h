// compiler/semantics/Promotion.h - which type two operands meet in.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The one place where promotion is decided. Arithmetic, comparisons, `where`,
// `minimum` and every builtin that takes two numbers ask here.
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

/// The common dtype, or why there is none. Division and modulo ("divides")
/// leave the 16-bit floats and refuse mixed signs.
struct Promoted {
  std::optional<DType> dtype;
  std::string why;
};
Promoted promote(Side a, Side b, bool divides);

/// The wider of two integers; of equal widths the unsigned one.
DType promoteInts(DType a, DType b);

/// The dtype of a Python integer: the first of i32 u32 i64 u64 that holds it.
std::optional<DType> dtypeOfInt(__int128 value);

/// The dtype of a Python float: fp32, or fp64 when out of fp32's normal range.
DType dtypeOfFloat(double value);

/// The dtype that `sum` accumulates and returns: integers below 32 bits widen.
DType sumDType(DType type);

} // namespace tessera::semantics
