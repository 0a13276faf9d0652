// trainer/optim/UpdateGuard.h - decides which updates to skip as harmful.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tessera::trainer {

struct Config;

/// What the judgement of the next update depends on; a checkpoint holds it.
struct UpdateHistory {
  /// Of the last steps, finite ones only, oldest first.
  std::vector<double> losses, norms;
  std::vector<int64_t> skipped; ///< Steps left out lately, ascending.

  bool operator==(const UpdateHistory &) const = default;
};

nlohmann::json toJson(const UpdateHistory &history);
/// Empty for a checkpoint without one. Throws nlohmann's exceptions for
/// another form.
UpdateHistory historyFromJson(const nlohmann::json &json);

/// Steps whose losses and norms are remembered, and in which train.skip_budget
/// counts.
constexpr int64_t guardWindow = 128;
/// Values that there must be before train.skip_z is asked.
constexpr size_t guardStart = 32;

/// What is wrong with the update of `step`, which has this loss (nats per
/// token) and gradient norm (before clipping); empty: nothing. An update is bad
/// when one of the two is not finite, or more than train.skip_z standard
/// deviations above its mean over the last steps (train.skip_z=0: any finite
/// one is good). Adds the step to the history.
std::string judgeUpdate(const Config &config, UpdateHistory &history,
                        int64_t step, double loss, double norm);

/// Returns true if more updates of the last guardWindow steps were bad than
/// train.skip_budget allows.
bool budgetSpent(const Config &config, const UpdateHistory &history);

} // namespace tessera::trainer
