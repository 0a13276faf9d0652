// language/pattern/UniformType.h - types of values that are equal for all
// elements of a tile.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/pattern/Pattern.h"
#include "language/pattern/Symbol.h"

namespace tessera::language {

// Other: a float, a string, or a type that is not known.
enum class UniformType { Integer, Truth, Other };

// Returns the type of a symbol that uses neither t, pos nor head.
UniformType typeOfUniform(const Pattern &pattern, const Symbol &symbol);

// Returns the names of the parameters that are bools.
std::vector<std::string> boolParameters(const Pattern &pattern);

// True for i32 and i64, which hold every position.
bool isWideInteger(const std::string &type);
// True for a call of min or max, in any spelling, with two operands.
bool isMinimum(const Symbol &symbol);
bool isMaximum(const Symbol &symbol);

} // namespace tessera::language
