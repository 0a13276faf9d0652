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

/// What Python computes: `//` and `%` round down, `/` gives a float. On a
/// combination that Python refuses, or that leaves 128 bits, returns None in
/// `value` and the reason in `why`.
struct Folded {
  Const value;
  std::string why;
};
Folded foldBinary(BinaryOp op, const Const &a, const Const &b);
Folded foldUnary(UnaryOp op, const Const &a);
Folded foldCompare(CompareOp op, const Const &a, const Const &b);

/// Texts that are known while compiling have at most so many bytes: one that a
/// loop doubles would take all memory.
inline constexpr size_t kMaxTextBytes = language::maxItems;

using language::printFloat;
using language::printInt;
/// Python's float("..."): digits, inf, infinity, nan, any case, signs, spaces.
std::optional<double> parseFloat(std::string_view text);

} // namespace tessera::semantics
