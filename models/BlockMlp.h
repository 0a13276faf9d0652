// models/BlockMlp.h - the learned network that compresses a block of keys or
// values (nsa.phi=mlp_pe).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ModelConfig.h"

#include <ATen/core/Tensor.h>

namespace tessera::models {

struct Packing;

/// y = W2 f(W1 vec(x + E) + b1) + b2 of the l tokens x [l, d] of a block (NSA,
/// arXiv:2502.11089, equation 7: an MLP with intra-block positions). Hidden
/// width, f and sharing are not in the paper and are settings here. G is 1 if
/// all key heads share a network, else the number of key heads. The network of
/// keys has no b2, because a constant added to all keys changes no softmax.
struct BlockMlp {
  at::Tensor position;     ///< E [l, d], of all key heads.
  at::Tensor in, inBias;   ///< W1 [G, hidden, l * d], b1 [G, hidden]
  at::Tensor out, outBias; ///< W2 [G, d, hidden], b2 [G, d] or undefined

  bool defined() const { return in.defined(); }
  /// Maps [B, S, H, d] to [B, compressed keys of S tokens, H, d].
  at::Tensor apply(const at::Tensor &x, const NsaGeometry &g,
                   MlpKind activation) const;
  /// Maps packed sequences [T, H, d] to [compressed keys, H, d].
  at::Tensor apply(const at::Tensor &x, const Packing &packing,
                   const NsaGeometry &g, MlpKind activation) const;
};

} // namespace tessera::models
