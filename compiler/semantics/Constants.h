// compiler/semantics/Constants.h - Python arithmetic on compile-time values.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/semantics/Value.h"
#include "language/Arithmetic.h"

namespace tessera::semantics {

using language::BinaryOp;
using language::CompareOp;
using language::UnaryOp;

/// The result of an operator as in Python: `//` and `%` round down, `/` returns
/// a float. If Python rejects the operands or the result exceeds 128 bits,
/// `value` is None and `why` is the reason.
struct Folded {
  Const value;
  std::string why;
};
Folded foldBinary(BinaryOp op, const Const &a, const Const &b);
Folded foldUnary(UnaryOp op, const Const &a);
Folded foldCompare(CompareOp op, const Const &a, const Const &b);

/// Limit on the bytes of a compile-time string. Otherwise a loop that doubles a
/// string would exhaust memory.
inline constexpr size_t kMaxTextBytes = language::maxItems;

using language::printFloat;
using language::printInt;
/// Parses like Python's float("..."): digits, inf, infinity and nan in any
/// case, signs, spaces.
std::optional<double> parseFloat(std::string_view text);

} // namespace tessera::semantics
