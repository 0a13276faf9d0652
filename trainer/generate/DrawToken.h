// trainer/generate/DrawToken.h - samples a token from logits.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace tessera::trainer {

struct DrawTokenOptions {
  double temperature = 0.8; ///< 0: always the likeliest.
  int64_t topK = 0;         ///< Only so many of the likeliest; 0: all.
  /// Only the fewest of the likeliest that have this share together.
  double topP = 1;
};

/// The number that `unit`, of [0, 1), stands for among softmax(logits /
/// temperature), cut as the options say; of equally likely ones the lower
/// number counts as likelier. A logit that is not finite counts as impossible;
/// when all are, the result is 0.
int64_t drawToken(std::span<const float> logits,
                  const DrawTokenOptions &options, double unit);

} // namespace tessera::trainer
