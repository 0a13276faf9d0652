// trainer/generate/Generate.h - generates text with a trained model, for
// `tessera generate`.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Cache.h"
#include "trainer/generate/DrawToken.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::trainer {

struct GenerateOptions {
  std::string run = "runs/quickstart"; ///< Run folder; its newest checkpoint.
  std::string prompt = "In the beginning ";
  int64_t tokens = 256;
  int64_t samples = 1; ///< Batch size; samples use separate random numbers.
  DrawTokenOptions draw;
  int64_t seed = 1;
  std::vector<std::string> overrides; ///< Such as kernels=torch.
};

/// Calls emit(sample, text) for each sampled token. A sample ends at a token
/// without text, such as the separator of documents. Keys and values are cached
/// for longestText() tokens. When the cache is full, a new one is filled with
/// the later half of these tokens. Kernels of a user's file cannot use a cache:
/// the model then processes the last longestText() tokens for each new token.
/// Returns the numbers of keys read from caches.
models::Reads
generate(const GenerateOptions &options,
         const std::function<void(int64_t, std::string_view)> &emit);

} // namespace tessera::trainer
