// compiler/semantics/Builtins.h - the registry of functions a kernel may call.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A builtin is a signature, written as Python writes it, and one C++ function:
//
//   registry.add("load", "pointer, mask=None, other=None", emitLoad);
//
// Binding of positional and keyword arguments, defaults and their errors come
// from the signature. Names: "load" is tl.load, "math.exp" tl.math.exp,
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

/// One argument as the call wrote it.
struct Argument {
  std::string keyword; // empty: positional
  Value value;
  SourceRange range;
};

/// A call with its arguments bound to the parameters, and typed access to them.
class BuiltinCall {
public:
  /// Binds, or fails with what is missing, unknown, given twice or too much.
  BuiltinCall(Emitter &emit, const Builtin &builtin,
              std::vector<Argument> arguments);

  Emitter &emit;
  const Builtin &builtin;

  const Value &operator[](size_t index) const { return values[index]; }
  bool isNone(size_t index) const { return values[index].isNone(); }
  const std::string &name(size_t index) const {
    return builtin.parameters[index].name;
  }
  /// "tl.load: `mask`", to start a message with.
  std::string what(size_t index) const;

  /// A number or block; Python numbers become scalars.
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

  /// An argument as the user wrote it, for hints; as the operand of a method
  /// or operator.
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

/// "tl.load" for "load", "len" for "python.len", "triton.cdiv" as it is.
std::string displayName(const Builtin &builtin);

class Registry {
public:
  /// The registry, filled on first use.
  static const Registry &get();

  void add(std::string name, std::string signature, BuiltinEmit emit);
  /// Also callable as a method of its first argument.
  void addMethod(std::string name, std::string signature, BuiltinEmit emit);

  const Builtin *find(std::string_view name) const;
  /// The known name closest to `name` among those with the same prefix, which
  /// it is given without.
  std::string nearest(std::string_view name) const;
  const std::map<std::string, Builtin, std::less<>> &all() const {
    return builtins;
  }

private:
  std::map<std::string, Builtin, std::less<>> builtins;
};

// One function a family, each in its own file under builtins/.
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

// What one family needs of another.
Value emitMaximum(Emitter &emit, const Value &x, const Value &y, bool isMax,
                  bool propagateNan);
Tensor emitExp(Emitter &emit, Tensor x);
Tensor emitReduction(Emitter &emit, Tensor x, std::optional<int64_t> axis,
                     std::string_view kind, bool keepDims);
Value emitCdiv(Emitter &emit, const Value &x, const Value &y);

} // namespace tessera::semantics
