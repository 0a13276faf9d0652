// language/Arithmetic.h - Python's operators on compile-time values.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Tree.h"
#include "language/Value.h"

#include <string>
#include <utility>

namespace tessera::language {

// Thrown by the functions below; the evaluator adds the source location.
struct ValueProblem {
  std::string message, hint;
};

Value applyBinary(BinaryOp op, const Value &a, const Value &b);
Value applyUnary(UnaryOp op, const Value &a);
bool applyCompare(CompareOp op, const Value &a, const Value &b);

// True if a function of Python, math or triton with this dotted name ("min",
// "math.sqrt", "triton.cdiv") can be called.
bool isCallable(const std::string &path);
using KeywordValues = std::vector<std::pair<std::string, Value>>;
Value callNamed(const std::string &path, const std::vector<Value> &arguments,
                const KeywordValues &keywords);
// Returns the value of a Python builtin, which needs no import; nullopt for
// other names.
std::optional<Value> pythonName(std::string_view name);
// Returns the value of a dotted name: a dtype, math.pi, or else a Named.
Value namedValue(const std::string &path);

// Limit on the items of a list, nested ones included, and on the bytes of a
// string during evaluation.
inline constexpr size_t maxItems = 100000;
// Returns the number of items of a value, nested ones included: 1 for a number,
// more for a long string.
size_t itemsIn(const Value &value);

} // namespace tessera::language
