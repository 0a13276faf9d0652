// trainer/settings/NsaVibe.cpp - files of settings that were written for
// nsa-vibe.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/NsaVibe.h"

#include "trainer/settings/Setting.h"

#include <fmt/format.h>

namespace tessera::trainer {
namespace {

/// What nsa-vibe always does, or does where its file says nothing.
struct Meaning {
  const char *key, *value;
};
constexpr Meaning meanings[] = {
    {"model.mlp", "silu"},        {"nsa.gate", "softmax"},
    {"nsa.gate_input", "q_mean"}, {"train.beta2", "0.999"},
    {"train.save_every", "0"},
};

} // namespace

bool isNameOfNsaVibe(const std::string &name) {
  const Setting *setting = findSetting(name);
  return name == "train.out_dir" || (setting && setting->absent());
}

std::string nsaVibeWarning(const Config &config) {
  if (config.nsaVibeFile.empty())
    return "";
  std::string differences;
  for (const Meaning &m : meanings) {
    const std::string here = valueText(*findSetting(m.key), config);
    if (!config.origins.contains(m.key) && here != m.value)
      differences +=
          fmt::format("{}{} is {} (nsa-vibe: {})",
                      differences.empty() ? "" : ", ", m.key, here, m.value);
  }
  if (config.weightDecay != 0)
    differences +=
        fmt::format("{}train.weight_decay is for matrices (nsa-vibe: "
                    "for all parameters)",
                    differences.empty() ? "" : ", ");
  if (differences.empty())
    return "";
  return fmt::format("WARNING: {} is a file for nsa-vibe, which trains another "
                     "model where the file says nothing: {}; "
                     "docs/training.md lists the differences",
                     config.nsaVibeFile, differences);
}

} // namespace tessera::trainer
