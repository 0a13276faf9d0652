// language/pattern/SelectedPattern.h - what a pattern with select(...) may
// contain.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/pattern/Pattern.h"

namespace tessera::language {

// Appends a diagnostic for everything that the kernels of selected attention do
// not compute: a `sees` that is not causal, a function `modify`, parameters
// outside select(...), values of a sequence and learned numbers other than
// `sink`. `pattern.selection` has a value.
void checkSelectedPattern(const Pattern &pattern,
                          std::vector<Diagnostic> &diagnostics);

} // namespace tessera::language
