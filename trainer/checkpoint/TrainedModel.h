// trainer/checkpoint/TrainedModel.h - loads the model of a run's newest
// checkpoint.
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
  /// A line for the result if the weights are not those of the newest
  /// checkpoint, which is damaged; otherwise empty.
  std::string note;
};

/// Loads the weights in fp32 on the CPU. Uses the run folder's copies of
/// pattern and kernel files. Throws tessera::Error without an intact
/// checkpoint.
TrainedModel readTrainedModel(const std::string &run,
                              const std::vector<std::string> &overrides);

/// Returns the longest supported text in tokens: train.seq_len, or the range of
/// scaled positions.
int64_t longestText(const Config &config);

} // namespace tessera::trainer
