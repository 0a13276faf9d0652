// language/pattern/PatternNames.h - names that a pattern cannot use, and values
// that its functions cannot have.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/pattern/Pattern.h"

#include <vector>

namespace tessera::language {

// Appends a diagnostic for each name of the file, a parameter or a function
// that the kernels of the pattern use for themselves, for learned parameters
// that no kernel can take, and for a `sees` that returns a number.
void checkNames(const Pattern &pattern, std::vector<Diagnostic> &diagnostics);

} // namespace tessera::language
