// trainer/optim/UpdateGuard.h - decides which updates the training loop skips
// because their loss or gradient norm is an outlier.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tessera::trainer {

struct Config;

/// State from which the next update is judged; checkpoints contain it.
struct UpdateHistory {
  /// The last guardWindow finite losses and gradient norms, oldest first.
  std::vector<double> losses, norms;
  std::vector<int64_t> skipped; ///< Recently skipped steps, ascending.

  bool operator==(const UpdateHistory &) const = default;
};

/// Returns the history as checkpoints contain it.
nlohmann::json toJson(const UpdateHistory &history);
/// Reads the history from a checkpoint; empty if the checkpoint does not
/// contain it. Throws nlohmann's exceptions if the JSON has another structure.
UpdateHistory historyFromJson(const nlohmann::json &json);

/// Number of steps whose losses and norms are kept, and in which
/// train.skip_budget limits the skipped updates.
constexpr int64_t guardWindow = 128;
/// Number of values that are required before train.skip_z applies.
constexpr size_t guardStart = 32;

/// Returns the reason to skip the update of `step`, or an empty string. `loss`
/// is in nats per token, `norm` is the gradient norm before clipping. An update
/// is bad if one of them is not finite, or is more than train.skip_z standard
/// deviations above its mean over the last steps. With train.skip_z=0 every
/// finite update is good. Adds the step to the history.
std::string recordAndJudge(const Config &config, UpdateHistory &history,
                           int64_t step, double loss, double norm);

/// Returns true if the last guardWindow steps contain more bad updates than
/// train.skip_budget allows.
bool budgetSpent(const Config &config, const UpdateHistory &history);

} // namespace tessera::trainer
