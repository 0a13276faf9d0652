// trainer/Config.h - all that a run can be told, from YAML and key=value.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ModelConfig.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tessera::trainer {

struct Config {
  models::ModelConfig model;
  models::KernelSource kernels = models::KernelSource::Tessera;

  std::string dataPath; ///< Empty: the King James text.

  int64_t steps = 1000; ///< Optimizer steps.
  int64_t sequenceLength = 512;
  int64_t batchSize = 4;
  int64_t accumulate = 1;
  double learningRate = 3e-3;
  double finalLearningRate = 0.0;
  int64_t warmup = 50; ///< In optimizer steps, as is the cosine after it.
  double weightDecay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double clip = 1.0; ///< 0: no clipping.
  int64_t seed = 1;

  int64_t logEvery = 10;
  int64_t evaluateEvery = 0; ///< 0: only at the end.
  int64_t evaluateWindows = 32;
  int64_t finalWindows = 0; ///< Of the evaluation at the end; 0: all.
  int64_t saveEvery = 200;  ///< 0: only when stopped and at the end.
  int64_t keepCheckpoints = 2;

  std::string out = "runs/default";
  std::string resume = "auto"; ///< auto or never.
  bool allowChangedKernels = false;
  int64_t threads = 2;
  bool panel = true; ///< NSA against SDPA at the end.
};

/// Reads `file` (may be empty: all defaults), then applies the overrides, each
/// "key=value". Unknown keys and bad values throw tessera::Error.
Config readConfig(const std::string &file,
                  const std::vector<std::string> &overrides);

/// The same from text; `name` stands in messages.
Config parseConfig(const std::string &text, const std::string &name,
                   const std::vector<std::string> &overrides);

/// Every key with its value, as config.json holds it.
nlohmann::json toJson(const Config &config);

/// Key, value and meaning of every setting, one line each.
std::string describe(const Config &config);

} // namespace tessera::trainer
