// trainer/generate/Needle.h - tests whether a model retrieves a value that
// occurred much earlier in its text, for `tessera evaluate`.
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
  int64_t trials = 8;                  ///< Number of texts for each depth.
  int64_t depths = 5; ///< Number of depths, evenly spaced from start to end.
  int64_t seed = 1;
  std::vector<std::string> overrides; ///< Such as kernels=torch.
};

constexpr int64_t needleKey = 8, needleValue = 8; ///< Lengths in tokens.

/// One text of longestText() tokens. A needle (a key, then a value) is hidden
/// in held-out text; the end repeats it, and the model must predict the value:
///
///   tokens    | text ... | key value | ... text | key | value |
///   without   | text ......................text | key | value |
///                                                       losses
///
/// Key and value are held-out tokens drawn one by one. So the value can be
/// predicted only from the needle in the text.
struct NeedleTrial {
  double depth = 0; ///< Relative position of the needle: 0 (start) to 1 (end).
  std::vector<int64_t> tokens;
  std::vector<int64_t> without; ///< Of the same length, without the needle.
  /// Loss in nats of each token of the value, in `tokens` and in `without`.
  std::vector<double> losses, lossesWithout;
  /// Number of the value's tokens that are the most probable ones in `tokens`.
  int64_t right = 0;
};

/// Runs all trials, depth by depth, and calls `each` after each trial. Throws
/// tessera::Error if the model's texts are too short for a needle, or if its
/// data is missing, too short, or has tokens that the model does not have.
std::string findNeedles(const NeedleOptions &options,
                        const std::function<void(const NeedleTrial &)> &each);

} // namespace tessera::trainer
