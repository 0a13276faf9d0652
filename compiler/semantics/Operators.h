// compiler/semantics/Operators.h - the operators of the language.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tessera::semantics {

enum class BinaryOp {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  LShift,
  RShift,
  And,
  Or,
  Xor,
};

enum class UnaryOp { Neg, Pos, Not, Invert };

enum class CompareOp { Eq, Ne, Lt, Le, Gt, Ge };

/// As written in source: "+", "//", "<<".
constexpr std::string_view spelling(BinaryOp op) {
  constexpr std::string_view kText[] = {"+",  "-",  "*",  "/", "//", "%",
                                        "**", "<<", ">>", "&", "|",  "^"};
  return kText[int(op)];
}
constexpr std::string_view spelling(UnaryOp op) {
  constexpr std::string_view kText[] = {"-", "+", "not", "~"};
  return kText[int(op)];
}
constexpr std::string_view spelling(CompareOp op) {
  constexpr std::string_view kText[] = {"==", "!=", "<", "<=", ">", ">="};
  return kText[int(op)];
}

} // namespace tessera::semantics
