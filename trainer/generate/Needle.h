// trainer/generate/Needle.h - tests whether a model retrieves a value from far
// back in its text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::trainer {

struct NeedleOptions {
  std::string run = "runs/quickstart"; ///< Run folder; its newest checkpoint.
  int64_t trials = 8;                  ///< Of each depth.
  int64_t depths = 5;                  ///< From the start to the end, evenly.
  int64_t seed = 1;
  std::vector<std::string> overrides; ///< Such as kernels=torch.
};

constexpr int64_t needleKey = 8, needleValue = 8; ///< Tokens of each.

/// One text of longestText() tokens: held-out tokens with a needle, a key and a
/// value behind it, inside; at the end the key again, behind which the value is
/// to come. Key and value are held-out tokens drawn one by one, so that only
/// the needle tells what comes.
struct NeedleTrial {
  double depth = 0;             ///< Where the needle is, 0 (start) to 1.
  std::vector<int64_t> tokens;  ///< The last needleValue are the value.
  std::vector<int64_t> without; ///< The same with held-out tokens in its place.
  /// Nats of each token of the value with the needle, and without.
  std::vector<double> losses, lossesWithout;
  int64_t right = 0; ///< Tokens of the value that were the likeliest.
};

/// Calls `each` after each trial, depths one after the other. Throws
/// tessera::Error for a model of too short texts, or without its data.
void findNeedles(const NeedleOptions &options,
                 const std::function<void(const NeedleTrial &)> &each);

} // namespace tessera::trainer
