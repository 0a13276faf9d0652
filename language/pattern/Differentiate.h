// language/pattern/Differentiate.h - derivatives of symbols.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/pattern/Symbol.h"

#include <map>
#include <string>

namespace tessera::language {

// Differentiates expressions of one function by one of its parameters.
class Differentiator {
public:
  // `remedy` is the hint of errors.
  Differentiator(const FunctionDef &function, std::string variable,
                 std::string remedy)
      : function(function), variable(std::move(variable)),
        remedy(std::move(remedy)) {}

  // Returns the derivative; at a kink of abs, minimum, maximum or where, that
  // of one side. Throws CompileError for an expression without a known
  // derivative.
  SymbolPtr derivative(const SymbolPtr &symbol);

private:
  [[noreturn]] void fail(const Symbol &symbol) const;
  SymbolPtr ofVarying(const SymbolPtr &symbol);
  SymbolPtr ofBinary(const Symbol &symbol);
  SymbolPtr ofCall(const Symbol &call);
  SymbolPtr slope(const Symbol &call, const SymbolPtr &y, const SymbolPtr &x);

  const FunctionDef &function;
  const std::string variable, remedy;
  std::map<const Symbol *, SymbolPtr> results;
};

} // namespace tessera::language
