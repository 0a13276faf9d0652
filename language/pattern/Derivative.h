// language/pattern/Derivative.h - derivatives of the function `modify` of a
// pattern.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// deriveGradients() writes kernel-language text of
//
//   modify_grad(s, t, pos, head, ...)        d modify / d s
//   modify_grad_NAME(s, t, pos, head, ...)   d modify / d NAME
//
// with the parameters of `modify`, the second for each learned parameter that
// `modify` takes. They return fp32 values, which broadcast to the tile of
// scores: the derivative of `s + slope * (pos - t)` by s is the constant 1.0.
//
// `modify` may use + - * / unary minus, exp, exp2, log, log2, sqrt, rsqrt, sin,
// cos, sigmoid, tanh, abs, where, minimum, maximum, casts to float,
// assignments, `if` on constexprs and straight-line functions of the same
// module. Anything else that depends on the variable is an error, whose remedy
// is to write modify_grad.
#pragma once

#include "language/pattern/Pattern.h"

#include <string>
#include <vector>

namespace tessera::language {

struct Gradients {
  // The derived functions, separated by two empty lines; functions that the
  // module defines are left out. They use names of the pattern's module, `tl`
  // and `triton`.
  std::string text;
  // Learned parameters with a function modify_grad_NAME, derived or defined by
  // the module.
  std::vector<std::string> learned;
  // The derivative by s is 1 for all parameters, so a kernel can skip the call.
  bool unitSlope = false;
  // Names of functions that the module defines itself: {"modify_grad"}.
  std::vector<std::string> userDefined;
  std::vector<Diagnostic> diagnostics; // errors; the text is then empty

  bool ok() const { return diagnostics.empty(); }
};

// Derives the gradients. For a pattern without `modify`, the text is empty and
// unitSlope is true.
Gradients deriveGradients(const Pattern &pattern);

} // namespace tessera::language
