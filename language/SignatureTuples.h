// language/SignatureTuples.h - parameters that are tuples, as their leaves.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel's parameter whose annotation is a class of typing.NamedTuple, or
// tuple[...], is a leaf for each of its values in the signature:
//
//   def k(Q: Rows, n)   ->   Q.ptr, Q.token, Q.head, n
//
// Launches, keys, cases and tables know the leaves alone; the compiler binds
// the parameter to the tuple of them.
#pragma once

#include "language/Program.h"
#include "language/Signature.h"

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace tessera::language {

// Most parameters of a kernel that has tuples, leaves counted one by one.
inline constexpr size_t mostLeaves = 256;

// The expression in an annotation that is a string: Triton's compiler wants
// "tuple[tl.tensor, tl.tensor]" in quotes. Null for any other annotation.
ExprPtr quotedAnnotation(const Expr &annotation);

// Appends a parameter of the function to the signature: as it is, or as the
// leaves of its tuple. A parameter whose default is None is not a tuple. Throws
// CompileError.
void addParameter(const Program &program, const FunctionDef &function,
                  const Parameter &node, Signature &signature);

// Adds the value of each leaf of a tuple to `leaves`, by name. Trailing leaves
// that have defaults may be missing. Throws Error for a value that is not a
// tuple, a wrong number of values and an unknown field.
void addLeaves(const Signature &signature, const TupleParameter &tuple,
               const Value &value, std::map<std::string, Value> &leaves);

// Returns the tuple of the values that `leaf` returns for its leaves.
Value tupleOfLeaves(const Signature &signature, const TupleParameter &tuple,
                    const std::function<Value(const std::string &)> &leaf);

// "Rows(ptr, token, head)", for messages.
std::string formOf(const TupleParameter &tuple);

} // namespace tessera::language
