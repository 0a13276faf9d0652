// trainer/optim/LossScale.h - dynamic loss scaling for fp16 gradients, used by
// the training loop and stored in checkpoints.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace tessera::trainer {

struct Config;

/// State of loss scaling. The training loop multiplies the loss by `factor`
/// before the backward pass and divides the fp32 sum of gradients by it. The
/// factor is halved after a step whose gradients overflowed. It is doubled
/// after scaleGrowthSteps consecutive steps without an overflow (the rule of
/// torch.amp.GradScaler).
struct LossScale {
  double factor = 1;
  int64_t goodSteps = 0; ///< Steps since the factor last changed.
  int64_t overflows = 0; ///< Updates skipped since the run began.

  bool operator==(const LossScale &) const = default;
};

/// Steps without an overflow after which the factor is doubled.
constexpr int64_t scaleGrowthSteps = 2000;
constexpr double largestScale = 16777216; ///< 2^24

/// Returns the state at the start of a run. The factor is train.loss_scale in
/// fp16, otherwise 1, and then it never changes.
LossScale firstScale(const Config &config);

/// Adapts the factor to a step with this loss and gradient norm. Returns true
/// if the caller must skip the update because the gradients overflowed and a
/// smaller factor may avoid that. Returns false if the loss itself is not
/// finite, if the factor is 1 already, or if the run is not in fp16.
bool adaptLossScale(const Config &config, LossScale &scale, double loss,
                    double norm);

/// Returns the state as checkpoints contain it.
nlohmann::json toJson(const LossScale &scale);
/// Reads the state from a checkpoint. Returns firstScale() if the checkpoint
/// does not contain it or the run is not in fp16.
LossScale scaleFromJson(const Config &config, const nlohmann::json &json);

} // namespace tessera::trainer
