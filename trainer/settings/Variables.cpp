// trainer/settings/Variables.cpp - which variables count, and which must not be
// set.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/Variables.h"

#include "support/Error.h"
#include "support/Names.h"
#include "support/Text.h"
#include "trainer/settings/Setting.h"

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace tessera::trainer {
namespace {

constexpr const char *prefix = "NSA_";

/// Variables of the Python system with values that ask for what is always so
/// here.
struct Fulfilled {
  const char *name, *value;
};
constexpr Fulfilled fulfilled[] = {
    {"NSA_PREFILL_BATCHED", "1"},   {"NSA_SEL_RANGES_V2", "1"},
    {"NSA_USE_FA2", "0"},           {"NSA_USE_FA2_WIN", "0"},
    {"NSA_USE_FA2_CMP", "0"},       {"NSA_USE_TRITON_SEL", "0"},
    {"NSA_SEL_CUDA", "0"},          {"NSA_NO_GC", "0"},
    {"NSA_FORCE_UNIFORM_GATE", "0"}};

bool isFulfilled(const std::string &name, const std::string &value) {
  return std::any_of(
      std::begin(fulfilled), std::end(fulfilled), [&](const Fulfilled &f) {
        return name == f.name && (value == f.value || value.empty());
      });
}

[[noreturn]] void refuse(const std::string &name, const std::string &value) {
  std::vector<std::string> known = {"NSA_NO_GC"};
  for (const Setting &s : settingsTable())
    if (!s.variable.empty())
      known.push_back(s.variable);
  const std::string nearest = nearestName(name, known);
  throw Error(
      fmt::format("environment: {}={} has no effect here", name, value),
      nearest.empty() || nearest == name
          ? fmt::format("unset {}; docs/settings.md has the variables "
                        "that count",
                        name)
          : fmt::format("did you mean {}? Else unset {}", nearest, name));
}

} // namespace

std::vector<VariableSetting> settingsOf(const Environment &environment) {
  std::vector<VariableSetting> found;
  for (const auto &[name, value] : environment) {
    if (!name.starts_with(prefix))
      continue;
    if (const Setting *twin = findTwin(name))
      found.push_back({twin->key, value, name});
    else if (name == "NSA_NO_GC" && value == "1")
      found.push_back({"runtime.gradient_checkpointing", "false", name});
    else if (name == "NSA_FORCE_UNIFORM_GATE" && value == "1")
      found.push_back({"nsa.force_gate", "uniform", name});
    else if (!isFulfilled(name, value))
      refuse(name, value);
  }
  return found;
}

Environment processEnvironment() {
  Environment found;
  for (char **entry = environ; entry && *entry; ++entry) {
    const auto variable = nameAndValueOf(*entry);
    if (variable && variable->first.starts_with(prefix))
      found[variable->first] = variable->second;
  }
  return found;
}

} // namespace tessera::trainer
