// models/NsaLayer.h - a layer with Native Sparse Attention.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/BlockMlp.h"
#include "models/LayerAttention.h"

namespace tessera::models {

/// Attention with three branches (compressed, selected, window), whose outputs
/// gates weigh.
class NsaLayer final : public LayerAttention {
public:
  NsaLayer(const ModelConfig &config, ParameterBuilder &build,
           const std::string &prefix, at::Device device);

  int64_t branches() const override { return 3; }
  std::vector<at::Tensor> weights() const override;
  at::Tensor forward(Kernels &kernels, const AttentionInputs &in,
                     const Packing &packing, const ForwardOptions &options,
                     ForwardResult &result) const override;
  at::Tensor extend(Kernels &kernels, const ExtensionInputs &in,
                    CacheLayer &cache, Reads &reads) const override;

private:
  /// Returns the gates before softmax or sigmoid, [T, Hkv, 3]; input [T, dim],
  /// query [T, Hq, dk].
  at::Tensor gateLogits(const at::Tensor &input, const at::Tensor &query) const;
  /// Appends the compressed keys that the new tokens complete.
  void compressNew(CacheLayer &cache, const at::Tensor &keys,
                   const at::Tensor &values, int64_t last) const;
  /// Returns the attention of the queries from position `first` on: q [B * Hkv,
  /// group, n, dk], gates [B * Hkv, n, 3].
  at::Tensor attendCached(Kernels &kernels, const at::Tensor &q,
                          const at::Tensor &gates, const CacheLayer &cache,
                          Reads &reads, int64_t first) const;

  at::Tensor gateIn, gateInBias, gateOut, gateOutBias;
  at::Tensor keyFilter, valueFilter; ///< Of nsa.phi=conv.
  BlockMlp keyPhi, valuePhi;         ///< Of nsa.phi=mlp_pe.
  at::Tensor shift;                  ///< Bias of gate logits, or undefined.
};

} // namespace tessera::models
