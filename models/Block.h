// models/Block.h - the weights of one transformer block.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/LayerAttention.h"
#include "models/Transformer.h"

#include <memory>
#include <utility>
#include <vector>

namespace tessera::models {

/// One matrix projects the queries and every branch's keys and values. Queries
/// and keys come first, because RoPE rotates those rows.
struct Transformer::Block {
  at::Tensor attentionNorm, projection, output;
  at::Tensor queryNorm, keyNorm; ///< [dk]; undefined without model.qk_norm.
  /// [vocabulary, Hkv * dv] and [1]; undefined in layers without
  /// model.value_embeddings.
  at::Tensor valueTable, valueScale;
  std::unique_ptr<LayerAttention> attention;
  at::Tensor mlpNorm, mlpIn, mlpGate, mlpOut;

  std::vector<at::Tensor> attentionWeights() const {
    std::vector<at::Tensor> all = attention->weights();
    all.insert(all.end(), {attentionNorm, projection, output, queryNorm,
                           keyNorm, valueTable, valueScale});
    return defined(std::move(all));
  }
  std::vector<at::Tensor> mlpWeights() const {
    return defined({mlpNorm, mlpIn, mlpGate, mlpOut});
  }

private:
  static std::vector<at::Tensor> defined(std::vector<at::Tensor> all) {
    std::erase_if(all, [](const at::Tensor &x) { return !x.defined(); });
    return all;
  }
};

} // namespace tessera::models
