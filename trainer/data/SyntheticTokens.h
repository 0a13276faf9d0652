// trainer/data/SyntheticTokens.h - computes synthetic tokens for runs without
// data.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tessera::trainer {

/// An endless stream of tokens, in which each token is a function of the seed
/// and its index. So every process can compute any range. With probability
/// `noise`, and at every multiple of 256, a token is drawn uniformly. Every
/// other token is the successor of the previous token; distinct tokens have
/// distinct successors.
struct SyntheticTokens {
  uint64_t seed = 1;
  int64_t vocabulary = 256;
  double noise = 1; ///< 1: all tokens are drawn uniformly.

  /// Writes tokens first .. first+count-1; `first` is at least 0.
  void read(int64_t first, int64_t count, int64_t *out) const;
  /// Returns the entropy of a token, given the previous token, in bits. This is
  /// a lower bound on the loss of every model. It ignores the tokens at
  /// multiples of 256, whose entropy is higher.
  double entropy() const;
};

} // namespace tessera::trainer
