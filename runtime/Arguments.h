// runtime/Arguments.h - the arguments of a launch, given by name.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tessera {

// Holds the value of a parameter: a pointer, a number, None (nullptr), or a
// tuple of such values.
class ArgumentValue {
public:
  struct Tuple;

  ArgumentValue(std::nullptr_t) : data(Arg(nullptr)) {}
  ArgumentValue(const Pointer &value) : data(Arg(value)) {}
  ArgumentValue(bool value) : data(Arg(value)) {}
  template <std::integral T>
  ArgumentValue(T value) : data(integer(value)) {}
  template <std::floating_point T>
  ArgumentValue(T value) : data(Arg(double(value))) {}
  // Makes a tuple from values in the order of its fields.
  ArgumentValue(std::initializer_list<ArgumentValue> values);
  // Makes a NamedTuple from pairs of a field's name and its value.
  static ArgumentValue
  fields(std::vector<std::pair<std::string, ArgumentValue>> values);

  // Returns the single value, or null for a tuple.
  const Arg *value() const { return std::get_if<Arg>(&data); }
  // Returns the tuple, or null for a single value.
  const Tuple *tuple() const;

private:
  template <typename T>
  static Arg integer(T value) {
    if constexpr (std::unsigned_integral<T>)
      if (value > uint64_t(INT64_MAX))
        return Arg(uint64_t(value));
    return Arg(int64_t(value));
  }

  std::variant<Arg, std::shared_ptr<const Tuple>> data;
};

struct ArgumentValue::Tuple {
  std::vector<std::string> names; // empty: by position
  std::vector<ArgumentValue> values;
};

// Collects the arguments of one launch by name:
//
//   Arguments arguments(kernel);
//   arguments.set("q", {Pointer{q}, 128, 64}).set("scale", 0.125);
//   kernel.launch(grid, arguments.list(), arguments.constexprs());
class Arguments {
public:
  explicit Arguments(Kernel kernel);

  // Sets a parameter, or a field of a tuple: "q.ptr". A compile-time field of a
  // tuple goes to constexprs(). Throws Error if the kernel does not have the
  // name (the message suggests the nearest one), if the name is already set, if
  // a tuple's fields differ from the parameter's, and if a tuple is given for a
  // single value.
  Arguments &set(std::string_view name, const ArgumentValue &value);

  // Returns all arguments in the order of Kernel::parameters(); arguments that
  // are not set have their defaults. Throws Error that names the missing
  // arguments.
  std::vector<Arg> list() const;
  const Constexprs &constexprs() const { return known; }

private:
  void setLeaf(const std::string &name, const ArgumentValue &value);

  Kernel kernel;
  std::vector<std::optional<Arg>> given; // of Kernel::parameters()
  Constexprs known;
};

} // namespace tessera
