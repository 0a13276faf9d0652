// language/Parser.h - parses a kernel file into its syntax tree.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Tree.h"
#include "support/Diagnostics.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::language {

// At most this many errors of one file are reported.
inline constexpr size_t maxDiagnostics = 20;

struct ParseResult {
  std::unique_ptr<Module> module; // what could be parsed; never null
  std::vector<Diagnostic> diagnostics;
  // The diagnostics without FunctionDef::problems.
  std::vector<Diagnostic> fileDiagnostics;
  // True if the file has Python code around the kernels, which may define more
  // names.
  bool hasHostCode = false;

  bool ok() const { return diagnostics.empty(); }
};

// Returns the tree and diagnostics of a file; does not throw for any text.
ParseResult parse(std::shared_ptr<const SourceFile> file);

// Parses a single expression, for tools ("D=64") and tests. Throws
// CompileError.
ExprPtr parseExpression(std::shared_ptr<const SourceFile> file);

} // namespace tessera::language
