// language/Arithmetic.h - Python's operators on compile-time values.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Tree.h"
#include "language/Value.h"

#include <string>
#include <utility>

namespace tessera::language {

// Thrown by the functions below; the evaluator adds the place.
struct ValueProblem {
  std::string message, hint;
};

Value applyBinary(BinaryOp op, const Value &a, const Value &b);
Value applyUnary(UnaryOp op, const Value &a);
bool applyCompare(CompareOp op, const Value &a, const Value &b);

// A function of Python, math or triton by its dotted name ("min",
// "math.sqrt", "triton.cdiv"). Whether there is one:
bool isCallable(const std::string &path);
using KeywordValues = std::vector<std::pair<std::string, Value>>;
Value callNamed(const std::string &path, const std::vector<Value> &arguments,
                const KeywordValues &keywords);
// Python's own names that need no import.
std::optional<Value> pythonName(std::string_view name);
// A value for a dotted name: dtypes, math.pi; else Named.
Value namedValue(const std::string &path);

// No list of an evaluation may hold more items, counted in depth, and no text
// more bytes.
inline constexpr size_t maxItems = 100000;
// Items of a value in depth: 1 of a number; a long text counts for more.
size_t itemsIn(const Value &value);

} // namespace tessera::language
