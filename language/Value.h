// language/Value.h - compile-time values: literals, module constants,
// constexprs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tessera::language {

struct FunctionDef;
struct Lambda;
class Scope;

// Python's integers are unbounded; 128 bits hold all that i64 and u64
// arithmetic needs, and leaving them is an error, never a wrap.
using Int = __int128;

std::string printInt(Int value);
// Python's repr(): the shortest text that reads back as the same double.
std::string printFloat(double value);

// The value of an expression in a decorator, of a module constant or of a
// constexpr argument.
class Value {
public:
  struct None {
    bool operator==(const None &) const = default;
  };
  // A Triton dtype by its short name: "fp32", "bf16", "i32", "i1".
  struct DType {
    std::string name;
    bool operator==(const DType &) const = default;
  };
  struct List {
    std::vector<Value> items;
  };
  struct Tuple {
    std::vector<Value> items;
    // Of a typing.NamedTuple: a name for each item. Else empty.
    std::vector<std::string> names = {};

    // Returns the item of that name, or null.
    const Value *find(std::string_view name) const;
  };
  struct Dict {
    std::vector<std::pair<Value, Value>> items; // in order of insertion
  };
  // A lambda, or a function of Python, and the names around it. Both live as
  // long as the module.
  struct Function {
    const Lambda *lambda = nullptr;
    std::shared_ptr<const Scope> scope;
    const FunctionDef *def = nullptr; // set instead of `lambda` for a function
  };
  // A function that kernels call, such as a @triton.jit function, by its name
  // at module level of a file.
  struct KernelFunction {
    std::string name;
    std::string file; // empty: the kernel's own file
    bool operator==(const KernelFunction &) const = default;
  };
  // A call of triton.Config: the only object decorators make.
  struct Config {
    std::vector<std::pair<std::string, Value>> constexprs;
    std::optional<int64_t> numWarps, numStages;
    bool operator==(const Config &) const;
  };
  // A library, a type or a function by its dotted name ("math.sqrt").
  struct Named {
    std::string path;
    bool operator==(const Named &) const = default;
  };
  using Data =
      std::variant<None, bool, Int, double, std::string, DType, List, Tuple,
                   Dict, Function, Config, Named, KernelFunction>;

  Value() = default;
  Value(None) {}
  Value(bool value) : data(value) {}
  Value(int value) : data(Int(value)) {}
  Value(int64_t value) : data(Int(value)) {}
  Value(uint64_t value) : data(Int(value)) {}
  Value(Int value) : data(value) {}
  Value(double value) : data(value) {}
  Value(std::string value) : data(std::move(value)) {}
  Value(const char *value) : data(std::string(value)) {}
  Value(DType value) : data(std::move(value)) {}
  Value(List value) : data(std::move(value)) {}
  Value(Tuple value) : data(std::move(value)) {}
  Value(Dict value) : data(std::move(value)) {}
  Value(Function value) : data(std::move(value)) {}
  Value(Config value) : data(std::move(value)) {}
  Value(Named value) : data(std::move(value)) {}
  Value(KernelFunction value) : data(std::move(value)) {}

  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(data);
  }
  // Returns the value as T, or null if it is of another kind.
  template <typename T>
  const T *get() const {
    return std::get_if<T>(&data);
  }
  bool isNone() const { return is<None>(); }

  // bool and int, as Python treats both as numbers.
  std::optional<Int> asInt() const;
  // bool, int and float.
  std::optional<double> asFloat() const;
  // The items of a list or tuple, else null.
  const std::vector<Value> *sequence() const;

  bool truth() const;
  // Python's ==: 1 == 1.0 == True; a list is not a tuple.
  bool equals(const Value &other) const;
  // True for the same kind and value. Cache keys distinguish values that are
  // not identical.
  bool identical(const Value &other) const;
  // Python's repr(); dtypes as "tl.float32".
  std::string repr() const;
  // "int", "str", "NoneType", "list", "dtype" ...
  std::string kindName() const;

  Data data;
};

// Returns "fp32" for "float32" or "fp32", and so on; nullopt for a name that is
// not a dtype.
std::optional<std::string> dtypeFromName(std::string_view name);
// "float32" for "fp32": the name in triton.language.
std::string dtypeLongName(std::string_view shortName);

} // namespace tessera::language
