// compiler/semantics/Value.h - what an expression of a kernel evaluates to.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/semantics/Types.h"

#include "mlir/IR/Value.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace tessera::language {
struct FunctionDef;
} // namespace tessera::language

namespace tessera::semantics {

struct Builtin;
class Value;

/// A number or block known at run time only.
struct Tensor {
  mlir::Value handle;
  Type type;
};

/// A value known while compiling: None, bool, int, float, str or a type.
/// Integers are Python's as far as 128 bits reach.
class Const {
public:
  using Int = __int128;
  struct None {
    bool operator==(const None &) const = default;
  };

  Const() = default;
  explicit Const(bool value) : data(value) {}
  explicit Const(Int value) : data(value) {}
  explicit Const(double value) : data(value) {}
  explicit Const(std::string value) : data(std::move(value)) {}
  explicit Const(Type value) : data(std::move(value)) {}

  bool isNone() const { return std::holds_alternative<None>(data); }
  bool isBool() const { return std::holds_alternative<bool>(data); }
  /// True integers only; bool is also an integer in Python, see asInt.
  bool isInt() const { return std::holds_alternative<Int>(data); }
  bool isFloat() const { return std::holds_alternative<double>(data); }
  bool isString() const { return std::holds_alternative<std::string>(data); }
  bool isType() const { return std::holds_alternative<Type>(data); }
  bool isNumber() const { return isBool() || isInt() || isFloat(); }

  /// The integer behind an int or a bool.
  std::optional<Int> asInt() const;
  /// The number behind a float, int or bool.
  std::optional<double> asFloat() const;
  const std::string &string() const { return std::get<std::string>(data); }
  const Type &type() const { return std::get<Type>(data); }

  /// Python's truth value.
  bool truth() const;
  /// Python's == (1 == 1.0 == True; unlike kinds are unequal).
  bool equals(const Const &other) const;
  /// Same kind and same value: the test of `is`.
  bool identical(const Const &other) const { return data == other.data; }
  /// As Python prints it; strings without quotes.
  std::string str() const;
  /// "int", "float", "bool", "str", "None", "dtype".
  std::string kindName() const;

private:
  std::variant<None, bool, Int, double, std::string, Type> data;
};

/// `tl`, `tl.math`, `triton` ... as a name prefix of the registry.
struct ModuleRef {
  std::string path;
};

/// A kernel helper, to be inlined where it is called.
struct FunctionRef {
  const language::FunctionDef *def = nullptr;
  std::shared_ptr<Value> self; // of a method; else null
};

struct BuiltinRef {
  const Builtin *builtin = nullptr;
  std::shared_ptr<Value> self; // of a method; else null
};

/// The result of tl.make_block_ptr. Only its members are values of the IR.
struct BlockPointer {
  Tensor base;
  std::vector<Tensor> shape, strides, offsets; // int64 each
  Shape block;
};

/// tl.make_tensor_descriptor: a strided array that is read and written in
/// blocks. Like a block pointer only its parts are values of the IR.
struct Descriptor {
  Tensor base;
  std::vector<Tensor> shape;   // int32 each
  std::vector<Tensor> strides; // int64 each
  Shape block;
  bool padsNan = false;    // outside elements read as NaN, else as 0
  bool roundsTf32 = false; // loads round float32 to TF32
};

// The values of a tuple, or of the fields of an aggregate.
struct Tuple {
  std::vector<Value> values;
  size_t size = 0;                               // Value::size() of the whole
  const language::FunctionDef *fields = nullptr; // the class, if it has one
};

/// A dict constant of a module. Its keys and values are compile-time values.
struct Dict {
  std::vector<std::pair<Value, Value>> items; // in order of insertion

  /// Returns the value of the key, or null.
  const Value *find(const Value &key) const;
};

/// Limit on the values of a tuple, nested ones included. Otherwise a loop that
/// doubles a tuple would exhaust memory.
inline constexpr size_t kMaxTupleSize = 100000;

/// range / tl.range / tl.static_range, legal only after `in` of a `for`.
struct Range {
  std::shared_ptr<Value> start, stop, step;
  bool unroll = false;
  std::vector<std::pair<std::string, Const>> options;
};

class Value {
public:
  using Data =
      std::variant<Const, Tensor, std::shared_ptr<Tuple>,
                   std::shared_ptr<BlockPointer>, std::shared_ptr<Descriptor>,
                   ModuleRef, FunctionRef, BuiltinRef, std::shared_ptr<Range>,
                   std::shared_ptr<Dict>>;

  Value() = default; // None
  Value(Const value) : data(std::move(value)) {}
  Value(Tensor value) : data(std::move(value)) {}
  Value(BlockPointer value)
      : data(std::make_shared<BlockPointer>(std::move(value))) {}
  Value(Descriptor value)
      : data(std::make_shared<Descriptor>(std::move(value))) {}
  Value(ModuleRef value) : data(std::move(value)) {}
  Value(FunctionRef value) : data(value) {}
  Value(BuiltinRef value) : data(std::move(value)) {}
  Value(Range value) : data(std::make_shared<Range>(std::move(value))) {}
  Value(Dict value) : data(std::make_shared<Dict>(std::move(value))) {}

  static Value none() { return Value(); }
  static Value boolean(bool value) { return Const(value); }
  static Value integer(__int128 value) { return Const(Const::Int(value)); }
  static Value type(Type value) { return Const(std::move(value)); }
  static Value tuple(std::vector<Value> values);
  /// A tuple with the names of `like`, if it has any.
  static Value tupleLike(const Value &like, std::vector<Value> values);
  /// Returns a tuple whose values have the names of the class's fields.
  static Value namedTuple(const language::FunctionDef &fields,
                          std::vector<Value> values);
  const language::FunctionDef *tupleFields() const;
  /// The class under @triton.aggregate of whose objects the value is one; null
  /// for tuples and all other values.
  const language::FunctionDef *aggregate() const;

  template <typename T>
  const T *as() const {
    return std::get_if<T>(&data);
  }
  const Const *constant() const { return as<Const>(); }
  const Tensor *tensor() const { return as<Tensor>(); }
  /// The values of a tuple; null for an aggregate, which is not a tuple.
  const std::vector<Value> *tupleValues() const {
    return aggregate() ? nullptr : members();
  }
  /// The values of a tuple, or of the fields of an aggregate; else null.
  const std::vector<Value> *members() const {
    auto *held = as<std::shared_ptr<Tuple>>();
    return held ? &(*held)->values : nullptr;
  }
  const BlockPointer *blockPointer() const {
    auto *held = as<std::shared_ptr<BlockPointer>>();
    return held ? held->get() : nullptr;
  }
  const Descriptor *descriptor() const {
    auto *held = as<std::shared_ptr<Descriptor>>();
    return held ? held->get() : nullptr;
  }
  const Dict *dict() const {
    auto *held = as<std::shared_ptr<Dict>>();
    return held ? held->get() : nullptr;
  }
  const Range *range() const {
    auto *held = as<std::shared_ptr<Range>>();
    return held ? held->get() : nullptr;
  }
  bool isNone() const { return constant() && constant()->isNone(); }
  /// True if the value contains at least one run-time value.
  bool isDynamic() const;

  /// 1, and of a tuple that of all it holds: what walking over it costs.
  size_t size() const;

  /// For messages: "fp32[16]", "constexpr 3", "a tuple of 2", "aggregate
  /// Line", "function f".
  std::string describe() const;

private:
  Data data;
};

/// A hint to name a field, or the fields, of an aggregate; `text` is the
/// expression that has this value.
std::string fieldHint(const Value &value, const std::string &text);
std::string fieldsHint(const Value &value, const std::string &text);

/// Appends the run-time parts of `value` in a fixed order.
void flatten(const Value &value, std::vector<mlir::Value> &parts);

/// `like` with its run-time parts replaced by parts[next...]; advances `next`.
Value rebuild(const Value &like, const std::vector<mlir::Value> &parts,
              size_t &next);

/// True for the same structure, types and constants: values of two paths can
/// then merge.
bool sameType(const Value &a, const Value &b);

/// True for the same value: the run-time parts are equal, too.
bool sameParts(const Value &a, const Value &b);

} // namespace tessera::semantics
