// language/HostFunction.h - functions of Python that decorators call.
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

// Runs a function that is arithmetic, tests, loops and lists: what computes
// configurations and heuristics. Makes the tuple of a NamedTuple class.
// `outside` holds the names of its module.
// Throws ValueProblem for wrong arguments and for what it does not run.
Value runHostFunction(const FunctionDef &function,
                      const std::shared_ptr<const Scope> &outside,
                      const std::vector<Value> &arguments,
                      const KeywordValues &keywords,
                      const EvaluateIn &evaluate);

} // namespace tessera::language
