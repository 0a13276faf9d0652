// runtime/launch/Configure.cpp - the constexprs of a launch: defaults, tuned
// configuration, given values, heuristics.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/KernelState.h"

#include "language/ConstexprValues.h"
#include "support/ArgumentError.h"
#include "support/Names.h"

#include <algorithm>

namespace tessera {

using language::Value;
using runtime::Configuration;

// Converts an argument to the value that a heuristic's lambda receives. A
// lambda can read a pointer's type and whether it is null.
static Value toHeuristicValue(const Arg &arg) {
  if (const Pointer *pointer = std::get_if<Pointer>(&arg))
    return Value(Value::DType{dtypeName(pointer->type)});
  return std::get<Value>(runtime::toActual(arg));
}

Kernel::State::Defaults
Kernel::State::defaults(const runtime::LaunchDevice &device,
                        const runtime::ChosenConfiguration &chosen) const {
  Defaults result = defaults(device);
  if (!chosen.tuned)
    return result;
  const runtime::TunedConfiguration &use = *chosen.tuned;
  for (const auto &[constexpr_, value] : use.constexprs) {
    const int index = info.signature.find(constexpr_);
    if (index < 0 || !info.signature.parameters[size_t(index)].isConstexpr)
      throw Error("kernel `" + name + "` has no constexpr `" + constexpr_ +
                      "`; " + chosen.origin,
                  "correct the entry, or remove it");
    result.constexprs[constexpr_] = language::toValue(value);
  }
  result.numWarps = use.numWarps.value_or(result.numWarps);
  result.numStages = use.numStages.value_or(result.numStages);
  return result;
}

Kernel::State::Defaults
Kernel::State::defaultsFor(const runtime::LaunchDevice &device,
                           std::span<const Arg> args, const Constexprs &given,
                           const LaunchOptions &options) const {
  return defaults(device, runtime::chooseConfiguration(device, *this, args,
                                                       given, options));
}

Configuration Kernel::State::configure(const runtime::LaunchDevice &device,
                                       std::span<const Arg> args,
                                       const Constexprs &given,
                                       const LaunchOptions &options) const {
  return configure(defaultsFor(device, args, given, options), args, given);
}

Configuration Kernel::State::configure(const Defaults &usual,
                                       std::span<const Arg> args,
                                       const Constexprs &given) const {
  checkCount(args.size());
  Configuration result;
  if (isCuda()) {
    for (const auto &[constexpr_, value] : given)
      result[constexpr_] = language::toValue(value);
    return result;
  }
  std::vector<std::string> known;
  for (const language::KernelParameter &parameter : info.signature.parameters)
    if (parameter.isConstexpr) {
      known.push_back(parameter.name);
      if (parameter.hasDefault)
        result[parameter.name] = parameter.defaultValue;
    }
  for (const auto &[constexpr_, value] : usual.constexprs)
    result[constexpr_] = value;
  for (const auto &[constexpr_, value] : given) {
    if (std::find(known.begin(), known.end(), constexpr_) == known.end())
      throw ArgumentError("kernel `" + name + "` has no constexpr `" +
                              constexpr_ + "`",
                          nearestNameHint(constexpr_, known, "constexprs"));
    result[constexpr_] = language::toValue(value);
  }
  for (const language::Heuristic &heuristic : info.heuristics) {
    // An explicit value of the caller takes precedence.
    if (given.count(heuristic.parameter))
      continue;
    std::vector<std::pair<std::string, Value>> seen;
    for (size_t i = 0; i < args.size(); ++i)
      seen.emplace_back(parameters[i], toHeuristicValue(args[i]));
    for (const auto &[other, value] : result)
      seen.emplace_back(other, value);
    result[heuristic.parameter] =
        language::applyHeuristic(info, heuristic, seen);
  }
  for (const std::string &constexpr_ : known)
    if (!result.count(constexpr_))
      throw ArgumentError(
          "kernel `" + name + "` needs a value for the constexpr `" +
              constexpr_ + "`",
          info.unreadConfigs.empty()
              ? "pass it, or give the kernel a default, a "
                "configuration or a heuristic for it"
              : "pass it: the configurations of @triton.autotune are "
                "computed by code around the kernel, which is not "
                "run (" +
                    info.unreadConfigs + ")");
  return result;
}

} // namespace tessera
