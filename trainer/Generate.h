// trainer/Generate.h - text from a trained run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::trainer {

struct GenerateOptions {
  std::string run = "runs/quickstart"; ///< Run folder; its newest checkpoint.
  std::string prompt = "In the beginning ";
  int64_t tokens = 256;
  double temperature = 0.8; ///< 0: always the likeliest byte.
  int64_t seed = 1;
  std::vector<std::string> overrides; ///< Such as kernels=torch.
};

/// Calls `emit` with each byte as it is drawn.
void generate(const GenerateOptions &options,
              const std::function<void(char)> &emit);

} // namespace tessera::trainer
