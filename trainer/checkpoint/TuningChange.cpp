// trainer/checkpoint/TuningChange.cpp - compares the tuning of a run with that
// of its checkpoint.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/TuningChange.h"

#include "trainer/parallel/SameTable.h"

#include <fmt/format.h>
#include <map>
#include <set>

namespace tessera::trainer {
namespace {

using nlohmann::json;

/// A launch has several configurations if callers give warps or stages.
using Configurations = std::map<std::string, std::set<std::string>>;

Configurations configurationsOf(const json &tuning) {
  Configurations all;
  for (const json &launch : tuning.value("launches", json::array()))
    all[launch.at(0).get<std::string>()].insert(
        launch.at(1).get<std::string>());
  return all;
}

std::string joined(const std::set<std::string> &texts) {
  std::string all;
  for (const std::string &text : texts)
    all += (all.empty() ? "" : " | ") + text;
  return all;
}

models::TuningTable tableOf(const json &tuning) {
  const json table = tuning.value("table", json::object());
  return {table.value("path", ""), table.value("origin", ""),
          table.value("sha256", "")};
}

} // namespace

std::vector<std::string> configurationChanges(const json &before,
                                              const RunTuning &now) {
  const Configurations earlier = configurationsOf(before);
  std::vector<std::string> changes;
  for (const auto &[launch, configurations] : configurationsOf(toJson(now)))
    if (const auto found = earlier.find(launch);
        found != earlier.end() && found->second != configurations)
      changes.push_back(fmt::format("{}: {} -> {}", launch,
                                    joined(found->second),
                                    joined(configurations)));
  return changes;
}

void sayTuningChange(const FoundCheckpoint &checkpoint, const RunTuning &now,
                     const Say &say) {
  if (now.launches.empty())
    return;
  const auto before = checkpoint.state.find("tuning");
  if (before == checkpoint.state.end()) {
    say(checkpoint.folder + " does not record its tuning table: changed "
                            "configurations are not reported");
    return;
  }
  const models::TuningTable earlier = tableOf(*before);
  const std::vector<std::string> changes = configurationChanges(*before, now);
  const bool same = earlier.sha256 == now.table.sha256;
  if (same && changes.empty())
    return;
  const std::string number =
      changes.empty()       ? "no launch changes its configuration"
      : changes.size() == 1 ? "1 launch changes its configuration:"
                            : fmt::format("{} launches change their "
                                          "configuration:",
                                          changes.size());
  say(same ? "with the tuning table of the checkpoint, " + number
           : fmt::format("the checkpoint was made with {}, this run has {}: {}",
                         describe(earlier), describe(now.table), number));
  for (const std::string &change : changes)
    say("  " + change);
}

} // namespace tessera::trainer
