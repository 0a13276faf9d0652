// compiler/semantics/Builtins.h - the registry of functions a kernel may call.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A builtin is a signature, written as Python writes it, and one C++ function:
//
//   registry.add("load", "pointer, mask=None, other=None", emitLoad);
//
// The signature determines the binding of positional and keyword arguments,
// defaults and errors. Names: "load" is tl.load, "math.exp" tl.math.exp,
// "triton.cdiv" triton.cdiv, "python.len" len, "dtype.is_fp16" x.dtype.is_fp16,
// "method.logical_and" x.logical_and of blocks, "descriptor.load" d.load.
#pragma once

#include "compiler/semantics/Emitter.h"
#include "compiler/semantics/Quote.h"

#include <map>

namespace tessera::semantics {

class BuiltinCall;
using BuiltinEmit = Value (*)(BuiltinCall &);

struct Parameter {
  std::string name;
  bool required = true;
  bool variadic = false; // *name: all further positional arguments, a tuple
  Value byDefault;
};

struct Builtin {
  std::string name;
  std::string signature;
  std::vector<Parameter> parameters;
  BuiltinEmit emit = nullptr;
  bool isMethod = false; // x.name(...) too, with x as the first argument
};

/// An argument of a call before binding.
struct Argument {
  std::string keyword; // empty: positional
  Value value;
  SourceRange range;
};

/// A call with its arguments bound to the parameters, and typed access to them.
class BuiltinCall {
public:
  /// Binds the arguments. Fails for a missing, unknown, duplicate or surplus
  /// argument.
  BuiltinCall(Emitter &emit, const Builtin &builtin,
              std::vector<Argument> arguments);

  Emitter &emit;
  const Builtin &builtin;

  const Value &operator[](size_t index) const { return values[index]; }
  bool isNone(size_t index) const { return values[index].isNone(); }
  const std::string &name(size_t index) const {
    return builtin.parameters[index].name;
  }
  /// Returns the start of a message: "tl.load: `mask`".
  std::string what(size_t index) const;

  /// The accessors below return argument `index` as the type, or fail. tensor:
  /// a number or block; Python numbers become scalars.
  Tensor tensor(size_t index) const;
  /// A block or scalar of numbers that are floats (or integers).
  Tensor floats(size_t index) const;
  Tensor pointer(size_t index) const;
  bool boolean(size_t index) const;
  int64_t integer(size_t index) const;
  std::string string(size_t index) const;
  Element element(size_t index) const;
  /// A tuple or list of compile-time integers; a single one counts as one.
  std::vector<int64_t> integers(size_t index) const;
  /// The same, as a checked block shape.
  Shape shape(size_t index) const;
  /// An axis in [-rank, rank), counted from the front.
  int64_t axis(size_t index, int64_t rank) const;

  /// Return the source text of an argument, for hints. operandText adds the
  /// parentheses that an operand of a method or operator needs.
  std::string text(size_t index) const { return quote(ranges[index]); }
  std::string operandText(size_t index) const {
    return quoteOperand(ranges[index]);
  }

  [[noreturn]] void fail(size_t index, DiagnosticId id, std::string message,
                         std::string hint = "") const;

private:
  std::vector<Value> values;
  std::vector<SourceRange> ranges;
};

/// Returns the name in kernels: "tl.load" for "load", "len" for "python.len",
/// "triton.cdiv" unchanged.
std::string displayName(const Builtin &builtin);

class Registry {
public:
  /// Returns the registry, which the first call fills.
  static const Registry &get();

  void add(std::string name, std::string signature, BuiltinEmit emit);
  /// Adds a builtin that is also a method of its first argument.
  void addMethod(std::string name, std::string signature, BuiltinEmit emit);

  const Builtin *find(std::string_view name) const;
  /// Returns the known name closest to `name` among those with the same prefix,
  /// without the prefix.
  std::string nearest(std::string_view name) const;
  const std::map<std::string, Builtin, std::less<>> &all() const {
    return builtins;
  }

private:
  std::map<std::string, Builtin, std::less<>> builtins;
};

// Each function registers one family, in a separate file under builtins/.
void registerCreation(Registry &registry);
void registerMemory(Registry &registry);
void registerDescriptors(Registry &registry);
void registerAtomics(Registry &registry);
void registerMath(Registry &registry);
void registerShape(Registry &registry);
void registerReduce(Registry &registry);
void registerCombine(Registry &registry);
void registerMapElementwise(Registry &registry);
void registerAssembly(Registry &registry);
void registerDot(Registry &registry);
void registerCasts(Registry &registry);
void registerQuestions(Registry &registry);
void registerProgram(Registry &registry);
void registerPython(Registry &registry);

// Functions that a family shares with others.
Value emitMaximum(Emitter &emit, const Value &x, const Value &y, bool isMax,
                  bool propagateNan);
Tensor emitExp(Emitter &emit, Tensor x);
Tensor emitReduction(Emitter &emit, Tensor x, std::optional<int64_t> axis,
                     std::string_view kind, bool keepDims);
Value emitCdiv(Emitter &emit, const Value &x, const Value &y);

} // namespace tessera::semantics
