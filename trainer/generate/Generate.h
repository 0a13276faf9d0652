// trainer/generate/Generate.h - text from a trained run.
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
  int64_t samples = 1; ///< Drawn side by side, each with numbers of its own.
  DrawTokenOptions draw;
  int64_t seed = 1;
  std::vector<std::string> overrides; ///< Such as kernels=torch.
};

/// Calls `emit` with a sample's number and the text of each token as it is
/// drawn; a sample ends with the token before documents. Keys and values stay
/// in a cache of longestText() tokens; when it is full, its later half is read
/// anew. Attention by kernels of a user's file reads the whole text for each
/// token instead. Returns what was read of the cache.
models::Reads
generate(const GenerateOptions &options,
         const std::function<void(int64_t, std::string_view)> &emit);

} // namespace tessera::trainer
