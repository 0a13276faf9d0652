// compiler/semantics/Quote.h - quotes the user's source text in hints.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A hint says what to write in terms of what stands there: not "convert x" but
// "a.to(tl.float32)". Code that reports errors sees values, not text, so it
// leaves a mark in the hint; Lowering::report replaces the marks, knowing the
// file and the expression that is being evaluated.
#pragma once

#include "support/Diagnostics.h"

#include <string>
#include <string_view>

namespace tessera::language {
struct Expr;
struct FunctionDef;
} // namespace tessera::language

namespace tessera::semantics {

/// An operator or a function's name in backquotes.
inline std::string quoted(std::string_view op) {
  return "`" + std::string(op) + "`";
}

/// The text of a range; `otherwise` where it is too long to repeat. As an
/// operand, it gets parentheses where a method call or `*` behind it needs
/// them. A keyword's name is left out: `mask=m` gives `m`.
std::string quote(const SourceRange &range, std::string_view otherwise = "x");
std::string quoteOperand(const SourceRange &range,
                         std::string_view otherwise = "x");
/// The sides of the binary operation or comparison that is being evaluated,
/// as operands, or as they go between other brackets; "a" and "b" where there
/// is none.
std::string quoteLeft(bool asOperand = true);
std::string quoteRight(bool asOperand = true);
/// What to do so that the expression of a range is known at compile time.
std::string quoteConstexprHint(const SourceRange &range);

/// Replaces the marks. `current` and `function` may be null.
std::string expandQuotes(const std::string &text, const SourceFile &file,
                         const language::Expr *current,
                         const language::FunctionDef *function);

} // namespace tessera::semantics
