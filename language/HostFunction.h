// language/HostFunction.h - runs Python functions that decorators call.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Arithmetic.h"
#include "language/Evaluate.h"

#include <functional>

namespace tessera::language {

// Evaluates an expression of the function in its scope.
using EvaluateIn =
    std::function<Value(const Expr &, const std::shared_ptr<const Scope> &)>;

// Interprets a Python function that computes configurations or heuristics with
// arithmetic, tests, loops and lists. For a NamedTuple class, returns its
// tuple. `outside` holds the names of the function's module.
// Throws ValueProblem for wrong arguments and for unsupported statements.
Value runHostFunction(const FunctionDef &function,
                      const std::shared_ptr<const Scope> &outside,
                      const std::vector<Value> &arguments,
                      const KeywordValues &keywords,
                      const EvaluateIn &evaluate);

} // namespace tessera::language
