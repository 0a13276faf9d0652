// trainer/generate/DrawToken.h - samples a token from logits, with temperature,
// top-k and top-p.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace tessera::trainer {

struct DrawTokenOptions {
  double temperature = 0.8; ///< 0: always the most probable token.
  int64_t topK = 0;         ///< Number of most probable tokens to keep; 0: all.
  /// Keeps the smallest set of most probable tokens whose probabilities add up
  /// to at least this.
  double topP = 1;
};

/// Returns the token that a uniform random number `unit` in [0, 1) selects from
/// softmax(logits / temperature) after top-k and top-p. Of equal logits, the
/// lower token counts as more probable. A logit that is not finite has
/// probability 0; returns 0 if no logit is finite.
int64_t drawToken(std::span<const float> logits,
                  const DrawTokenOptions &options, double unit);

} // namespace tessera::trainer
