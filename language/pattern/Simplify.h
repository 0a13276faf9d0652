// language/pattern/Simplify.h - sums, products and quotients of real numbers,
// simplified.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The rules are those of real numbers: x * 0 is 0, a * b / a is b. A result may
// therefore be finite where the operations as written give inf or nan.
#pragma once

#include "language/pattern/Symbol.h"

namespace tessera::language {

SymbolPtr realNumber(double value);
bool isNumber(const SymbolPtr &symbol, double value);

SymbolPtr sumOf(const SymbolPtr &a, const SymbolPtr &b);
SymbolPtr differenceOf(const SymbolPtr &a, const SymbolPtr &b);
SymbolPtr negativeOf(const SymbolPtr &a);
SymbolPtr productOf(const SymbolPtr &a, const SymbolPtr &b);
SymbolPtr quotientOf(const SymbolPtr &a, const SymbolPtr &b);

} // namespace tessera::language
