// trainer/settings/NsaVibe.cpp - tables of the differences from nsa-vibe and of
// its flags.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/NsaVibe.h"

#include "support/Error.h"
#include "trainer/settings/Setting.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::trainer {
namespace {

/// A value that nsa-vibe uses always, or if its file does not set the key.
struct Meaning {
  const char *key, *value;
  bool taken; ///< True if files for nsa-vibe get it.
};
constexpr Meaning meanings[] = {
    {"attention", "nsa", false},          {"model.mlp", "silu", true},
    {"model.tied_head", "false", false},  {"nsa.phi", "avg", false},
    {"nsa.gate", "softmax", true},        {"nsa.gate_input", "q_mean", true},
    {"nsa.gate_temperature", "1", false}, {"nsa.force_gate", "none", false},
    {"train.optimizer", "adamw", false},  {"train.beta2", "0.999", false},
    {"train.save_every", "0", false},
};

/// Differences that no setting removes (docs/training/nsa-vibe.md).
constexpr const char *always[] = {
    "rotary positions turn each head alone (nsa-vibe: all query heads as one)",
    "blocks are selected by scores without future keys (nsa-vibe: with them)",
    "the block of the query itself is selected (nsa-vibe: complete blocks "
    "only)",
    "gates stay a softmax (nsa-vibe: one-hot where logits are 50 apart)",
    "norms and gates are computed in fp32, weights kept in fp32 (nsa-vibe: in "
    "runtime.precision)",
    "first weights are drawn in another way",
    "train.steps counts updates and so does the learning rate's schedule "
    "(nsa-vibe: micro-batches)",
};

/// A flag of nsa-vibe and its replacement, in which {} is the flag's value.
struct Flag {
  const char *name, *here, *example;
};
constexpr Flag flags[] = {
    {"--seq-len", "train.seq_len={}", "N"},
    {"--batch-size", "train.batch_size={}", "N"},
    {"--accum-batches", "train.accumulate_grad_batches={}", "N"},
    {"--no-gc", "runtime.gradient_checkpointing=false", nullptr},
    {"--steps", "train.steps={}", "N"},
    {"--resume",
     "train.init_from={} for its weights alone; the same command again "
     "continues the run in its folder",
     "FILE"},
    {"--dataset", "", "NAME"},
    {"--ddp", "--nproc N, or torchrun", "N"},
    {"--precision", "runtime.precision={}", "bf16"},
    {"--lr", "train.lr={}", "RATE"},
};

std::string hintOf(const Flag &flag, const std::string &value) {
  const std::string name = flag.name;
  if (name == "--dataset")
    return value == "synthetic" ? "data.source=synthetic" : "data.path=FILE";
  if (name == "--ddp" && value == "0")
    return "nothing: a run is one process without --nproc";
  return fmt::format(fmt::runtime(flag.here),
                     value.empty() && flag.example ? flag.example : value);
}

} // namespace

bool isNameOfNsaVibe(const std::string &name) {
  const Setting *setting = findSetting(name);
  return name == "train.out_dir" || (setting && setting->absent());
}

std::vector<std::pair<std::string, std::string>> modelOfNsaVibe() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Meaning &m : meanings)
    if (m.taken)
      all.emplace_back(m.key, m.value);
  return all;
}

std::string originAsNsaVibe(const std::string &file) {
  return file + " as nsa-vibe reads it";
}

std::string nsaVibeLine(const Config &config) {
  if (config.nsaVibeFile.empty())
    return "";
  std::vector<std::string> all;
  for (const Meaning &m : meanings)
    if (const std::string here = valueText(*findSetting(m.key), config);
        here != m.value)
      all.push_back(
          fmt::format("{} is {} (nsa-vibe: {})", m.key, here, m.value));
  if (config.model.mlpDim != 4 * config.model.dim)
    all.push_back(fmt::format("model.mlp_dim is {} (nsa-vibe: {})",
                              config.model.mlpDim, 4 * config.model.dim));
  if (config.weightDecay != 0)
    all.push_back("train.weight_decay is for matrices (nsa-vibe: for all "
                  "parameters)");
  all.insert(all.end(), std::begin(always), std::end(always));
  return fmt::format("{} is a file for nsa-vibe and trains its model, MLP and "
                     "gates included, but for these differences: {}; "
                     "docs/training/nsa-vibe.md explains each",
                     config.nsaVibeFile, fmt::join(all, ", "));
}

std::string settingsThatKeepModel(const Config &earlier, const Config &config) {
  std::vector<std::string> all;
  const models::AttentionKind kind = config.model.attention;
  const bool hasGates = kind != models::AttentionKind::Dense &&
                        kind != models::AttentionKind::Sdpa;
  for (const auto &[key, value] : modelOfNsaVibe()) {
    if (key.starts_with("nsa.") && !hasGates)
      continue;
    const auto origin = config.origins.find(key);
    const std::string before = valueText(*findSetting(key), earlier);
    if (origin != config.origins.end() &&
        origin->second == originAsNsaVibe(config.nsaVibeFile) &&
        before != valueText(*findSetting(key), config))
      all.push_back(key + "=" + before);
  }
  return fmt::format("{}", fmt::join(all, " "));
}

void refuseFlagsOfNsaVibe(const std::vector<std::string> &arguments) {
  std::vector<std::string> found, hints;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const size_t equals = arguments[i].find('=');
    const std::string name = arguments[i].substr(0, equals);
    const auto flag =
        std::find_if(std::begin(flags), std::end(flags),
                     [&](const Flag &f) { return name == f.name; });
    if (flag == std::end(flags))
      continue;
    std::string value;
    if (equals != std::string::npos)
      value = arguments[i].substr(equals + 1);
    else if (flag->example && i + 1 < arguments.size() &&
             !arguments[i + 1].starts_with("--"))
      value = arguments[i + 1];
    found.push_back(name);
    hints.push_back(fmt::format("for {} write {}", name, hintOf(*flag, value)));
  }
  if (!found.empty())
    throw Error(fmt::format("command line: {} {} of nsa-vibe, which this "
                            "program does not have",
                            fmt::join(found, ", "),
                            found.size() == 1 ? "is a flag" : "are flags"),
                fmt::format("{}; docs/training/nsa-vibe.md has the table",
                            fmt::join(hints, "; ")));
}

} // namespace tessera::trainer
