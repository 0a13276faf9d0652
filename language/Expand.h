// language/Expand.h - collects the callees, constants and files of a kernel.
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
  // The callees in order, then the kernel; each function once.
  std::vector<const FunctionDef *> functions;
  // Imports, constants and functions as one module in canonical form. It does
  // not depend on their names in the file, comments, blank lines or unrelated
  // code.
  std::string text;
};

// Returns the expansion of a kernel. Throws CompileError if a constant cannot
// be evaluated or a callee cannot be found.
Expansion expand(const Program &program, const FunctionDef &kernel);

// The same, with the functions that `arguments` pass, and the assignment of
// functions to arguments. Throws Error for a function that does not exist.
Expansion expand(const Program &program, const FunctionDef &kernel,
                 const std::vector<Argument> &arguments);

// Returns a request for the kernel with its file, kernel, text and sources.
CompileRequest makeRequest(const Program &program, std::string_view kernel);

// Adds the text and sources of the functions among request.args, if there are
// any. Throws as expand() does.
void addFunctions(const Program &program, CompileRequest &request);

// Returns the text of makeRequest() with the functions among the constexprs.
// Throws as expand() does.
std::string textWith(const Program &program, std::string_view kernel,
                     const Constexprs &constexprs);

// True if the value is a function or a tuple that contains one.
bool holdsFunction(const Value &value);

} // namespace tessera::language
