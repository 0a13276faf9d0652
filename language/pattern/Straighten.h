// language/pattern/Straighten.h - a function as expressions, one for each
// combination of its compile-time conditions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/pattern/Symbol.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tessera::language {

// A tree of compile-time conditions, whose leaves are results.
struct StraightPath {
  SymbolPtr condition;                   // null for a leaf
  std::unique_ptr<StraightPath> yes, no; // of a condition
  SymbolPtr result;                      // of a leaf
};

// Limit on the leaves of a function.
inline constexpr size_t maxStraightPaths = 32;

struct StraightenOptions {
  // `sees`: a call of an unknown function is an error, and a run-time `if`
  // makes the result opaque. Otherwise an unknown function is kept as a call
  // without a name, and a run-time `if` is an error.
  bool isPredicate = false;
  std::string remedy; // "write sees_tile, key_range and query_range"
  // Names of parameters that are bools.
  std::vector<std::string> bools;
  // Values of parameters, which decide each compile-time `if`; null: the values
  // are not known.
  const std::map<std::string, Value> *values = nullptr;
};

// Evaluates a function symbolically: substitutes assigned values and the
// results of functions of the same module, and follows each compile-time `if`.
// Throws CompileError.
StraightPath straighten(const Module &module, const FunctionDef &function,
                        const StraightenOptions &options);

// Returns the names that the module binds.
std::vector<std::string> moduleNames(const Module &module);

// True if the module binds `name` to something other than a function.
bool isModuleConstant(const Module &module, std::string_view name);
// Returns the value of `name = EXPRESSION` at module level; null if there is
// none.
const Expr *moduleConstant(const Module &module, std::string_view name);

} // namespace tessera::language
