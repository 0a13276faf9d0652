// trainer/AdamW.h - AdamW in fp32 with decay on some parameters.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"

namespace tessera::trainer {

struct Config;

/// Whether weight decay applies: to matrices, but to none that compress blocks
/// or make gates. Those begin at the mean and at even gates, and what little
/// gradient they get must not fight a pull towards zero.
bool decays(const models::Parameter &parameter);

class AdamW {
public:
  AdamW(std::vector<models::Parameter> &parameters, const Config &config);

  /// Scales the gradients so that their common norm is at most config.clip;
  /// returns the norm they had before.
  double clip();
  void step(double learningRate);
  void zeroGradients();

  /// Moments and step counts, named after their parameters.
  std::vector<models::Parameter> state() const;

private:
  /// Parameters that share a weight decay.
  struct Group {
    double decay;
    std::vector<at::Tensor> values, first, second, steps;
    std::vector<std::string> names;
  };
  const Config &config;
  std::vector<models::Parameter> &parameters;
  Group groups[2];
};

} // namespace tessera::trainer
