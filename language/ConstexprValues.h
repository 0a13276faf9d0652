// language/ConstexprValues.h - converts between the constexpr values of
// launches and those that the evaluator of kernel files computes with.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Constexprs.h"
#include "language/Value.h"

#include <string>

namespace tessera::language {

// Returns the evaluator's value. Throws Error for an EncodedConstexpr whose
// JSON does not encode a value.
Value toValue(const ConstexprValue &value);
// Returns the value as a launch passes it. Throws Error, which names the
// constexpr, for a value that ConstexprValue cannot hold, such as a function.
ConstexprValue fromValue(const std::string &name, const Value &value);

} // namespace tessera::language
