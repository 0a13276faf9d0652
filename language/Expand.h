// language/Expand.h - a kernel with all it needs: callees, constants, files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Constexprs.h"
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

// The same with the functions among the arguments, and which argument is which
// function. Throws Error for one that does not exist.
Expansion expand(const Program &program, const FunctionDef &kernel,
                 const std::vector<Argument> &arguments);

// A request for the kernel with file, kernel, text and sources filled in.
CompileRequest makeRequest(const Program &program, std::string_view kernel);

// Adds text and sources of the functions among request.args. Nothing changes
// without any. Throws as expand() does.
void addFunctions(const Program &program, CompileRequest &request);

// The text of makeRequest() with the functions among the constexprs. Throws as
// expand() does.
std::string textWith(const Program &program, std::string_view kernel,
                     const Constexprs &constexprs);

// Whether the value is a function or a tuple that holds one.
bool holdsFunction(const Value &value);

} // namespace tessera::language
