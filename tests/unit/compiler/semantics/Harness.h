// tests/unit/compiler/semantics/Harness.h - kernels as text, lowered in a test.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"
#include "support/Diagnostics.h"

#include <string>
#include <vector>

namespace tessera::semantics::test {

using Arguments = std::vector<language::Argument>;

/// Run-time argument of a class such as "*fp32:16", or "i32".
language::Argument arg(std::string name, std::string type);
/// Compile-time argument.
language::Argument constant(std::string name, language::Value value);

/// What lowering gave: the printed module, or the diagnostics of the error.
struct Lowered {
  std::string ir;
  std::vector<Diagnostic> errors;
  std::string message; // of an error that is not a diagnostic
  std::vector<Diagnostic> notes;
};

/// Lowers `kernel` of a file that holds two import lines and then `text`.
Lowered lower(const std::string &text, const std::string &kernel,
              Arguments arguments, const std::string &f32Default = "tf32");

/// The first of `lines` that does not occur in `ir` after the ones before it,
/// each as a part of one line; empty if all do. "no x": x must not occur at
/// all.
std::string missing(const std::string &ir,
                    const std::vector<std::string> &lines);

} // namespace tessera::semantics::test
