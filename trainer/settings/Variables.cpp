// trainer/settings/Variables.cpp - tables of the NSA_* variables that set
// something, are allowed, or are refused.
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

/// Variables of nsa-vibe and values that request the only behavior of this
/// trainer. They are allowed without an effect.
struct Fulfilled {
  const char *name, *value;
};
constexpr Fulfilled fulfilled[] = {{"NSA_PREFILL_BATCHED", "1"},
                                   {"NSA_SEL_RANGES_V2", "1"},
                                   {"NSA_USE_FA2", "0"},
                                   {"NSA_USE_FA2_WIN", "0"},
                                   {"NSA_USE_FA2_CMP", "0"},
                                   {"NSA_USE_TRITON_SEL", "0"},
                                   {"NSA_SEL_CUDA", "0"},
                                   {"NSA_NO_GC", "0"},
                                   {"NSA_FORCE_UNIFORM_GATE", "0"},
                                   {"NSA_DDP_STATIC_GRAPH", "0"},
                                   {"NSA_DDP_STATIC_GRAPH", "1"},
                                   {"NSA_DDP_FIND_UNUSED", "0"}};

/// Variables that set a setting to `value` if they have the value `on`.
struct Switch {
  const char *name, *on, *key, *value;
};
constexpr Switch switches[] = {
    {"NSA_NO_GC", "1", "runtime.gradient_checkpointing", "false"},
    {"NSA_FORCE_UNIFORM_GATE", "1", "nsa.force_gate", "uniform"},
    {"NSA_NVTX", "1", "runtime.nvtx", "true"},
    {"NSA_NVTX", "0", "runtime.nvtx", "false"}};

/// Reasons why other values of these variables are refused.
struct Explanation {
  const char *name, *text;
};
constexpr Explanation explanations[] = {
    {"NSA_DDP_STATIC_GRAPH",
     "processes exchange gradients in one order in every step"},
    {"NSA_DDP_FIND_UNUSED",
     "every parameter has a gradient in every step, so that a search for "
     "unused ones would find none"},
    {"NSA_SEL_RANGES_V2",
     "ranges of keys are not built: kernels read the numbers of blocks"},
    {"NSA_NO_GC", "it takes 0 or 1, for runtime.gradient_checkpointing=false"},
    {"NSA_NVTX", "it takes 0 or 1, for runtime.nvtx"}};

/// Returns "1" or "0" for the words that nsa-vibe reads as booleans.
std::string plainValue(const std::string &value) {
  if (value == "true" || value == "yes" || value == "on")
    return "1";
  return value == "false" || value == "no" || value == "off" ? "0" : value;
}

bool isFulfilled(const std::string &name, const std::string &value) {
  return std::any_of(
      std::begin(fulfilled), std::end(fulfilled), [&](const Fulfilled &f) {
        return name == f.name && (value == f.value || value.empty());
      });
}

const Switch *findSwitch(const std::string &name, const std::string &value) {
  for (const Switch &s : switches)
    if (name == s.name && value == s.on)
      return &s;
  return nullptr;
}

/// Returns the hint for a variable without an effect.
std::string adviceFor(const std::string &name) {
  for (const Explanation &e : explanations)
    if (name == e.name)
      return fmt::format("unset {}: {}", name, e.text);
  std::vector<std::string> known;
  for (const Switch &s : switches)
    known.push_back(s.name);
  for (const Setting &s : settingsTable())
    if (!s.variable.empty())
      known.push_back(s.variable);
  const std::string nearest = nearestName(name, known);
  return nearest.empty() || nearest == name
             ? fmt::format("unset {}; docs/settings.md has the variables that "
                           "count",
                           name)
             : fmt::format("did you mean {}? Else unset {}", nearest, name);
}

} // namespace

std::vector<VariableSetting> settingsOf(const Environment &environment) {
  std::vector<VariableSetting> found;
  std::string refused, advice;
  for (const auto &[name, value] : environment) {
    if (!name.starts_with(prefix))
      continue;
    const std::string plain = plainValue(value);
    if (const Setting *twin = findTwin(name))
      found.push_back({twin->key, value, name});
    else if (const Switch *s = findSwitch(name, plain))
      found.push_back({s->key, s->value, name});
    else if (!isFulfilled(name, plain)) {
      refused +=
          fmt::format("{}{}={}", refused.empty() ? "" : ", ", name, value);
      advice += (advice.empty() ? "" : "; ") + adviceFor(name);
    }
  }
  if (!refused.empty())
    throw Error(
        fmt::format("environment: {} {} no effect here", refused,
                    refused.find(", ") == std::string::npos ? "has" : "have"),
        advice);
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
