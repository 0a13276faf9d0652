// trainer/optim/LossScale.cpp - adapts the factor after each step, and reads
// and writes it as JSON.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/optim/LossScale.h"

#include "trainer/settings/Config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tessera::trainer {

LossScale firstScale(const Config &config) {
  LossScale scale;
  if (config.precision == Precision::Fp16)
    scale.factor = config.lossScale;
  return scale;
}

bool adaptLossScale(const Config &config, LossScale &scale, double loss,
                    double norm) {
  if (config.precision != Precision::Fp16 || !std::isfinite(loss))
    return false;
  if (!std::isfinite(norm)) {
    if (scale.factor <= 1)
      return false;
    scale.factor = std::max(1.0, scale.factor / 2);
    scale.goodSteps = 0;
    ++scale.overflows;
    return true;
  }
  if (++scale.goodSteps >= scaleGrowthSteps) {
    scale.factor = std::min(largestScale, scale.factor * 2);
    scale.goodSteps = 0;
  }
  return false;
}

nlohmann::json toJson(const LossScale &scale) {
  return {{"factor", scale.factor},
          {"good_steps", scale.goodSteps},
          {"overflows", scale.overflows}};
}

LossScale scaleFromJson(const Config &config, const nlohmann::json &json) {
  LossScale scale = firstScale(config);
  if (config.precision != Precision::Fp16 || !json.is_object())
    return scale;
  // A factor of zero or infinity would make the run skip every update.
  const double factor = json.value("factor", scale.factor);
  scale.factor = std::isfinite(factor) ? std::clamp(factor, 1.0, largestScale)
                                       : scale.factor;
  scale.goodSteps = json.value("good_steps", int64_t(0));
  scale.overflows = json.value("overflows", int64_t(0));
  return scale;
}

} // namespace tessera::trainer
