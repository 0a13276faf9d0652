// language/Signature.h - parameters of a kernel and classes of its arguments.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Value.h"
#include "support/Diagnostics.h"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera::language {

struct FunctionDef;

// The class of a run-time argument, written as Triton does: "*fp32:16", "*i1",
// "i32:16", "i64", "fp32". Equal classes share compiled code.
struct ArgClass {
  bool pointer = false;
  std::string element;    // "fp32", "bf16", "i32", "i1", "u8" ...
  bool divisible = false; // ":16": integer or address divisible by 16

  static std::optional<ArgClass> parse(std::string_view text);
  std::string str() const;
  bool operator==(const ArgClass &) const = default;
};

// Returns the short names of all element types of arguments.
const std::vector<std::string> &elementTypeNames();
// Returns the bits of an element type, 1 for i1; 0 for an unknown name.
unsigned elementBits(std::string_view element);
bool isFloatElement(std::string_view element);
// True for i8, i16, i32 and i64; i1 is unsigned, as in Triton.
bool isSignedElement(std::string_view element);

enum class ArgKind { Pointer, Int, Float, Constexpr };
const char *argKindName(ArgKind kind); // "pointer", "int", ...

// One argument of a specialization, in signature order.
struct Argument {
  std::string name;
  ArgKind kind = ArgKind::Constexpr;
  // The ArgClass text of a run-time argument; "" for a constexpr.
  std::string type;
  // Of a constexpr: None, bool, int, float, str, dtype, function or tuple.
  Value value;

  bool isConstexpr() const { return kind == ArgKind::Constexpr; }
};

struct KernelParameter {
  std::string name;
  bool isConstexpr = false;
  bool hasDefault = false;
  Value defaultValue;
  bool doNotSpecialize = false;          // no constexpr 1, no ":16"
  bool doNotSpecializeAlignment = false; // no ":16"
  // The element type that the annotation of a number names, "i64" for tl.int64;
  // empty for another annotation.
  std::string declared;
  SourceRange range;
};

// A parameter, or a value of one, that is a tuple. Its values are parameters of
// the signature, called leaves: `Q.ptr` is the field ptr of Q, `X.0` the first
// value of a plain tuple X.
struct TupleParameter {
  std::string name;                // "Q"; "P.rows" for a tuple in a tuple
  std::string type;                // of a NamedTuple "Rows", else empty
  std::vector<std::string> fields; // "ptr", or "0", "1" ...
  bool isDescriptor = false;       // of the kernel, a tensor descriptor
};

struct Signature {
  std::string kernel;
  std::vector<KernelParameter> parameters;
  std::vector<TupleParameter> tuples; // outer ones before those in them

  // Returns the index of a parameter, or -1.
  int find(std::string_view name) const;
  // Returns the tuple parameter, or null if `name` does not name a tuple.
  const TupleParameter *findTuple(std::string_view name) const;
};

// A pointer argument of a launch.
struct PointerValue {
  std::string element; // "fp32" ...
  uint64_t address = 0;
};
// The argument that a caller passes for one parameter.
using Actual = std::variant<PointerValue, Value>;

// Returns the specialized argument of an actual value, by Triton's rules: the
// integer 1 and None become constexprs; an integer has the first of i32, i64
// and u64 that holds it; integers divisible by 16 and pointers to 16-byte
// boundaries get ":16"; bool is i1 and float fp32. A number whose parameter is
// annotated with a type has this type and never becomes a constexpr. Throws
// Error for values that cannot be passed.
Argument specialize(const KernelParameter &parameter, const Actual &actual);

// Returns the arguments of a launch in positional order; missing ones take
// their defaults. Throws Error for a wrong number of arguments.
std::vector<Argument> specialize(const Signature &signature,
                                 const std::vector<Actual> &actuals);

// Returns the element type that an annotation such as `int64`, the last name of
// tl.int64, or `i64` declares; empty for another name. Python's int, float and
// bool declare none.
std::string declaredElement(std::string_view annotation);

// Returns the argument for a value from an instance hint or a command line: a
// class ("*bf16:16") for a run-time parameter, a value for a constexpr. A
// number for a run-time parameter makes it a constexpr. Throws Error.
Argument argumentFromValue(const KernelParameter &parameter,
                           const Value &value);

} // namespace tessera::language
