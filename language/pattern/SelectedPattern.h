// language/pattern/SelectedPattern.h - what a pattern with select(...) may
// contain.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/pattern/Pattern.h"

namespace tessera::language {

// True if the pattern has one stream of selected blocks and a `sees` other than
// `pos <= t` or a `modify`: its kernels are derived then.
bool hasListKernels(const Pattern &pattern);

// Appends a diagnostic for everything that the kernels of selected attention,
// or those derived from the pattern, do not compute: several streams with a
// `sees` that is not causal or a `modify`, parameters that no derived kernel
// takes, a window of a derived kernel, values of a sequence, and learned
// numbers that neither `modify` nor the softmax takes. `pattern.selection` has
// a value.
void checkSelectedPattern(const Pattern &pattern,
                          std::vector<Diagnostic> &diagnostics);

} // namespace tessera::language
