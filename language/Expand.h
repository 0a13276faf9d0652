// language/Expand.h - a kernel with all it needs: callees, constants, files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Program.h"
#include "language/Request.h"

#include <string>
#include <string_view>
#include <vector>

namespace tessera::language {

struct Expansion {
  // Callees first, the kernel last; each once.
  std::vector<const FunctionDef *> functions;
  // Imports, constants and functions as one module in canonical form: what
  // names them, comments, blank lines and unrelated code do not change it.
  std::string text;
};

// Throws CompileError when a constant or callee cannot be had.
Expansion expand(const Program &program, const FunctionDef &kernel);

// A request for the kernel with file, kernel, text and sources filled in.
CompileRequest makeRequest(const Program &program, std::string_view kernel);

} // namespace tessera::language
