// runtime/launch/Arguments.cpp - the arguments of a launch, given by name.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Arguments.h"

#include "language/SignatureTuples.h"
#include "runtime/launch/KernelState.h"
#include "support/ArgumentError.h"
#include "support/Names.h"

#include <algorithm>

namespace tessera {

using language::KernelParameter;
using language::Signature;
using language::TupleParameter;

ArgumentValue::ArgumentValue(std::initializer_list<ArgumentValue> values)
    : data(std::make_shared<const Tuple>(Tuple{{}, values})) {}

ArgumentValue ArgumentValue::fields(
    std::vector<std::pair<std::string, ArgumentValue>> values) {
  Tuple tuple;
  for (auto &[name, value] : values) {
    tuple.names.push_back(name);
    tuple.values.push_back(std::move(value));
  }
  ArgumentValue result(nullptr);
  result.data = std::make_shared<const Tuple>(std::move(tuple));
  return result;
}

const ArgumentValue::Tuple *ArgumentValue::tuple() const {
  const auto *held = std::get_if<std::shared_ptr<const Tuple>>(&data);
  return held ? held->get() : nullptr;
}

Arguments::Arguments(Kernel given)
    : kernel(std::move(given)), given(kernel.parameters().size()) {}

static std::vector<std::string> namesFor(const Signature &signature) {
  std::vector<std::string> names;
  for (const TupleParameter &tuple : signature.tuples)
    names.push_back(tuple.name);
  for (const KernelParameter &parameter : signature.parameters)
    names.push_back(parameter.name);
  return names;
}

static ConstexprValue constexprOf(const std::string &name, const Arg &arg) {
  return std::visit(
      [&](const auto &held) -> ConstexprValue {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, Pointer> || std::is_same_v<T, uint64_t>)
          throw ArgumentError("`" + name + "` is a tl.constexpr, and a " +
                                  (std::is_same_v<T, Pointer>
                                       ? "pointer"
                                       : "number over 63 bits") +
                                  " is given",
                              "pass a number, a bool or None");
        else
          return held;
      },
      arg);
}

Arguments &Arguments::set(std::string_view wanted, const ArgumentValue &value) {
  const Signature &signature = kernel.internals().info.signature;
  const std::string name(wanted);
  const TupleParameter *tuple = signature.findTuple(name);
  if (!tuple) {
    setLeaf(name, value);
    return *this;
  }
  const ArgumentValue::Tuple *values = value.tuple();
  if (!values || values->values.size() != tuple->fields.size())
    throw ArgumentError(
        "`" + name + "` of kernel `" + kernel.name() + "` is a tuple of " +
            std::to_string(tuple->fields.size()) + " values, and " +
            (values ? std::to_string(values->values.size()) + " are given"
             : std::holds_alternative<std::nullptr_t>(*value.value())
                 ? "None is given"
                 : "one value is given"),
        "give the values as " + formOf(*tuple));
  for (size_t i = 0; i < values->values.size(); ++i) {
    const std::string &field =
        values->names.empty() ? tuple->fields[i] : values->names[i];
    if (std::find(tuple->fields.begin(), tuple->fields.end(), field) ==
        tuple->fields.end())
      throw ArgumentError("`" + name + "` of kernel `" + kernel.name() +
                              "` has no field `" + field + "`",
                          nearestNameHint(field, tuple->fields, "fields"));
    set(name + "." + field, values->values[i]);
  }
  return *this;
}

void Arguments::setLeaf(const std::string &name, const ArgumentValue &value) {
  const Kernel::State &state = kernel.internals();
  const int index = state.info.signature.find(name);
  if (index < 0)
    throw ArgumentError(
        "kernel `" + kernel.name() + "` has no argument `" + name + "`",
        nearestNameHint(name, namesFor(state.info.signature), "arguments"));
  if (!value.value())
    throw ArgumentError("`" + name + "` of kernel `" + kernel.name() +
                            "` is one value, and a tuple of " +
                            std::to_string(value.tuple()->values.size()) +
                            " is given",
                        "annotate the parameter with the tuple's type, as in " +
                            name + ": Rows");
  const auto refuseTwice = [&](bool there) {
    if (there)
      throw ArgumentError("`" + name + "` of kernel `" + kernel.name() +
                              "` is given twice",
                          "give each argument once");
  };
  if (state.info.signature.parameters[size_t(index)].isConstexpr) {
    refuseTwice(known.contains(name));
    known[name] = constexprOf(name, *value.value());
    return;
  }
  const auto place =
      std::find(state.parameters.begin(), state.parameters.end(), name);
  std::optional<Arg> &argument =
      given[size_t(place - state.parameters.begin())];
  refuseTwice(argument.has_value());
  argument = *value.value();
}

// Returns the default of a parameter, or nullopt without a default that an Arg
// can hold.
static std::optional<Arg> defaultOf(const KernelParameter &parameter) {
  const language::Value &value = parameter.defaultValue;
  if (!parameter.hasDefault)
    return std::nullopt;
  if (value.isNone())
    return Arg(nullptr);
  if (const bool *flag = value.get<bool>())
    return Arg(*flag);
  if (const double *number = value.get<double>())
    return Arg(*number);
  if (const auto number = value.asInt();
      number && *number >= INT64_MIN && *number <= INT64_MAX)
    return Arg(int64_t(*number));
  return std::nullopt;
}

std::vector<Arg> Arguments::list() const {
  const Kernel::State &state = kernel.internals();
  std::vector<Arg> result;
  std::string missing;
  for (size_t i = 0; i < given.size(); ++i) {
    const std::optional<Arg> value =
        given[i] ? given[i] : defaultOf(*state.runtimeParameters[i]);
    if (value)
      result.push_back(*value);
    else
      missing += (missing.empty() ? "`" : ", `") + state.parameters[i] + "`";
  }
  if (!missing.empty())
    throw ArgumentError("kernel `" + kernel.name() + "` needs " + missing,
                        "give each of them with set()");
  return result;
}

} // namespace tessera
