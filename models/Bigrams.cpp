// models/Bigrams.cpp - hashes pairs of neighbouring tokens.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Bigrams.h"

#include <ATen/ATen.h>

namespace tessera::models {

at::Tensor previousTokens(const at::Tensor &tokens, const Packing &packing) {
  if (packing.starts.empty())
    return at::constant_pad_nd(tokens.slice(1, 0, -1), {1, 0}, noToken);
  at::Tensor previous =
      at::constant_pad_nd(tokens.flatten().slice(0, 0, -1), {1, 0}, noToken);
  std::vector<int64_t> firsts;
  for (const int32_t start : packing.starts)
    if (start < tokens.numel()) // a last sequence can be empty
      firsts.push_back(start);
  previous.index_fill_(0, at::tensor(firsts).to(tokens.device()), noToken);
  return previous.view(tokens.sizes());
}

at::Tensor bigramRows(const at::Tensor &previous, const at::Tensor &tokens,
                      int64_t rows) {
  // Odd factors: with a power of two as `rows`, pairs that differ in one token
  // collide only if the tokens are equal modulo `rows`.
  return at::bitwise_xor((previous + 1) * 36313, tokens * 27191)
      .remainder_(rows);
}

} // namespace tessera::models
