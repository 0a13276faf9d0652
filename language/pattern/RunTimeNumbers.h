// language/pattern/RunTimeNumbers.h - divisions of compile-time values that
// became numbers of the run time.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// `x = near - 7` makes x a run-time number: `x // 2` truncates toward zero in
// the kernel. The derived text substitutes `near - 7` for x, where `//` would
// round down as Python does.
#pragma once

#include "language/pattern/Symbol.h"

namespace tessera::language {

// True if the text of the symbol has a compile-time value: it has neither a
// name of `runTime` nor a call of a function of tl.
bool hasCompileTimeText(const Symbol &symbol,
                        const std::vector<std::string> &runTime);

// True if the value is a bool; `bools` are the names that have one.
bool isTruthValue(const Symbol &symbol, const std::vector<std::string> &bools);

// Returns a // b or a % b (`op`) of compile-time texts, truncated toward zero.
SymbolPtr truncatedDivision(BinaryOp op, const SymbolPtr &a, const SymbolPtr &b,
                            SourceRange range);

} // namespace tessera::language
