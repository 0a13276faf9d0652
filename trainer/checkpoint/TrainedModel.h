// trainer/checkpoint/TrainedModel.h - the model of a run's newest checkpoint.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Transformer.h"
#include "trainer/settings/Config.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::trainer {

struct TrainedModel {
  Config config; ///< The run's settings, then the overrides.
  std::unique_ptr<models::Transformer> model;
};

/// Its weights in fp32 on the CPU. A kernel file of one's own that is not
/// where it was is taken from the run folder. Throws tessera::Error where there
/// is not a checkpoint.
TrainedModel readTrainedModel(const std::string &run,
                              const std::vector<std::string> &overrides);

/// Tokens of the longest text that such a model is given: train.seq_len, or,
/// of scaled positions, what they reach.
int64_t longestText(const Config &config);

} // namespace tessera::trainer
