// runtime/torch/LossPiece.h - how much of the logits' gradient there is at a
// time. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace tessera::runtime {

/// Tokens whose gradients of logits linear_cross_entropy's backward pass makes
/// together: 2^25 numbers at most (64 MiB in bf16), or 64 tokens.
inline int64_t lossPiece(int64_t tokens, int64_t vocabulary) {
  const int64_t fit = (int64_t{1} << 25) / std::max<int64_t>(1, vocabulary);
  return std::min(tokens, std::max<int64_t>(64, fit / 64 * 64));
}

} // namespace tessera::runtime
