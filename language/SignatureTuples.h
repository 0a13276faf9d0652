// language/SignatureTuples.h - expands parameters that are tuples to leaves.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel parameter whose annotation is a class of typing.NamedTuple, or
// tuple[...], has a leaf in the signature for each of its values:
//
//   def k(Q: Rows, n)   ->   Q.ptr, Q.token, Q.head, n
//
// A parameter with the annotation tl.tensor_descriptor[RANK] has the leaves
//
//   base, shape.0 ..., strides.0 ..., block_shape.0 ..., padding="zero",
//   round_f32_to_tf32=False
//
// of which the last stride, which is 1, and all after it are constexprs.
// Launches, keys, cases and tables contain only the leaves. The compiler binds
// the parameter to the tuple of its leaves.
#pragma once

#include "language/Program.h"
#include "language/Signature.h"

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace tessera::language {

// Limit on the parameters of a kernel with tuples; each leaf counts.
inline constexpr size_t mostLeaves = 256;

// Returns the expression in an annotation that is a string, because Triton's
// compiler requires quotes: "tuple[tl.tensor, tl.tensor]". Returns null for any
// other annotation.
ExprPtr quotedAnnotation(const Expr &annotation);

// Appends a parameter of the function to the signature, or the leaves of its
// tuple. A parameter whose default is None is not a tuple. Throws CompileError.
void addParameter(const Program &program, const FunctionDef &function,
                  const Parameter &node, Signature &signature);

// Returns the names of the descriptors that a parameter of the function is or
// contains: "Q", "X.0".
std::vector<std::string> descriptorsOf(const Program &program,
                                       const FunctionDef &function,
                                       const Parameter &node);

// Adds the value of each leaf of a tuple to `leaves`, by name. Trailing leaves
// that have defaults may be missing. Throws Error for a value that is not a
// tuple, a wrong number of values and an unknown field.
void addLeaves(const Signature &signature, const TupleParameter &tuple,
               const Value &value, std::map<std::string, Value> &leaves);

// Returns the tuple of the values that `leaf` returns for its leaves.
Value tupleOfLeaves(const Signature &signature, const TupleParameter &tuple,
                    const std::function<Value(const std::string &)> &leaf);

// Returns the form of a tuple for messages: "Rows(ptr, token, head)".
std::string formOf(const TupleParameter &tuple);

} // namespace tessera::language
