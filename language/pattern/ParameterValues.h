// language/pattern/ParameterValues.h - values with which the functions of a
// pattern have a result.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/pattern/Pattern.h"

#include <map>
#include <string>
#include <vector>

namespace tessera::language {

// The largest integer of a parameter, and the smallest with a minus sign: sums
// of a parameter and a position fit int32.
inline constexpr Int largestParameter = Int(1) << 30;

// Values of parameters by their names.
using ParameterValues = std::map<std::string, Value>;

// Returns the values that the file gives.
ParameterValues defaultValues(const Pattern &pattern);

// Appends a diagnostic for an integer beyond largestParameter, and for the
// first division by 0 and the first shift by fewer than 0 or more than 31 bits
// of `sees` and of `modify`, with these values. An arm of a compile-time `if`
// that is not taken may contain them.
void checkValues(const Pattern &pattern, const ParameterValues &values,
                 std::vector<Diagnostic> &diagnostics);

} // namespace tessera::language
