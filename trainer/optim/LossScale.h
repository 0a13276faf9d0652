// trainer/optim/LossScale.h - dynamic loss scaling for fp16 gradients.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace tessera::trainer {

struct Config;

/// The loss is multiplied by `factor` before the backward pass and the fp32 sum
/// of gradients is divided by it. It halves after a step whose gradients
/// overflowed, and doubles after scaleGrowthSteps without one (the rule of
/// torch.amp.GradScaler). A checkpoint holds it.
struct LossScale {
  double factor = 1;
  int64_t goodSteps = 0; ///< Since it last changed.
  int64_t overflows = 0; ///< Updates left out since the run began.

  bool operator==(const LossScale &) const = default;
};

constexpr int64_t scaleGrowthSteps = 2000;
constexpr double largestScale = 16777216; ///< 2^24

/// What a run begins with: train.loss_scale in fp16, otherwise 1, which never
/// changes.
LossScale firstScale(const Config &config);

/// Adapts the factor to a step with this loss and gradient norm. True: its
/// update has to be left out because the gradients overflowed, and a smaller
/// factor may help. A loss that is not finite is not an overflow of gradients,
/// nor is anything at factor 1.
bool overflowed(const Config &config, LossScale &scale, double loss,
                double norm);

nlohmann::json toJson(const LossScale &scale);
/// firstScale() for a checkpoint without one, or when either run is not in
/// fp16.
LossScale scaleFromJson(const Config &config, const nlohmann::json &json);

} // namespace tessera::trainer
