// models/SelectedLayer.h - a layer whose queries attend to blocks that a scorer
// selects.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/LayerAttention.h"
#include "runtime/launch/PatternFile.h"

namespace tessera::models {

/// Attention of a pattern with select(...) or joined streams. A learned indexer
/// has its own queries, key and weights, projections of the layer's input
/// without its gradient; its loss is attached to the layer's output.
class SelectedLayer final : public LayerAttention {
public:
  /// `selection` is the selection that the file of `custom` declares.
  SelectedLayer(const ModelConfig &config, CustomAttention custom,
                const runtime::PatternSelection &selection,
                ParameterBuilder &build, const std::string &prefix);

  int64_t branches() const override { return selection.pairs(); }
  std::vector<at::Tensor> weights() const override;
  at::Tensor forward(Kernels &kernels, const AttentionInputs &in,
                     const Packing &packing, const ForwardOptions &options,
                     ForwardResult &result) const override;
  at::Tensor extend(Kernels &kernels, const ExtensionInputs &in,
                    CacheLayer &cache, Reads &reads) const override;

private:
  /// Sets the indexer's inputs in `to`; does nothing without an indexer.
  void addIndex(Kernels &kernels, const at::Tensor &input,
                const Packing &packing, PatternInputs &to) const;

  /// Return the sink [Hq], and the numbers [Hq] that `modify` reads; undefined
  /// if the pattern does not use it.
  at::Tensor sink() const;
  at::Tensor number() const;

  /// Returns the weights of the index heads from their projection, fp32.
  at::Tensor indexWeights(const at::Tensor &projected) const;

  const CustomAttention custom;
  const runtime::PatternSelection selection;
  int64_t lists;      ///< 1, Hkv or Hq.
  at::Tensor learned; ///< [names * Hq], the sink first, or undefined.
  at::Tensor indexQuery, indexKey, indexWeight; ///< Undefined: no indexer.
};

} // namespace tessera::models
