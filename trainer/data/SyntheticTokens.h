// trainer/data/SyntheticTokens.h - computes synthetic tokens for runs without
// data.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tessera::trainer {

/// A row of tokens in which each is a function of the seed and its number, so
/// that any part of it can be read by any process. With probability `noise`,
/// and at every 256th place, a token is drawn uniformly; the others follow from
/// the token before, each token having one successor of its own.
struct SyntheticTokens {
  uint64_t seed = 1;
  int64_t vocabulary = 256;
  double noise = 1; ///< 1: all tokens are drawn.

  /// Tokens first .. first+count-1, of which first is 0 or more.
  void read(int64_t first, int64_t count, int64_t *out) const;
  /// Bits of a token for who knows the one before it and the rule: what no
  /// model's loss stays below, but for the places that are multiples of 256.
  double entropy() const;
};

} // namespace tessera::trainer
