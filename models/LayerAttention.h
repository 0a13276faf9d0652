// models/LayerAttention.h - the interface of a layer's attention: weights,
// forward pass, and decoding step over a cache.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each kind of attention is a subclass. Only LayerAttention::make() lists all
// of them.
#pragma once

#include "models/Cache.h"
#include "models/Forward.h"
#include "models/Kernels.h"
#include "models/ParameterBuilder.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::models {

/// The inputs of a layer's attention in a forward pass over packed sequences of
/// T tokens.
struct AttentionInputs {
  at::Tensor input;                     ///< Normed, [T, dim].
  at::Tensor query;                     ///< Rotated, [T, Hq, dk].
  std::vector<at::Tensor> keys, values; ///< Of each branch, [T, Hkv, d].
};

/// The inputs of a layer's attention for n new tokens of each of B sequences,
/// whose earlier tokens are in a cache.
struct ExtensionInputs {
  at::Tensor input;                     ///< Normed, [B * n, dim].
  at::Tensor query;                     ///< Rotated, fp32 [B, Hq, n, dk].
  std::vector<at::Tensor> keys, values; ///< Of each branch, [B, Hkv, n, d].
  int64_t first;                        ///< Position of the first new token.
  at::Tensor perSequence;               ///< The cache's values, [values, B].

  int64_t last() const { return first + query.size(2); }
};

class LayerAttention {
public:
  /// Makes the weights of a layer's attention besides the projections, with
  /// names that begin with `prefix`.
  static std::unique_ptr<LayerAttention>
  make(const ModelConfig &config, int64_t layer, ParameterBuilder &build,
       const std::string &prefix, at::Device device);
  virtual ~LayerAttention() = default;

  /// Returns how many pairs of keys and values the layer projects.
  virtual int64_t branches() const { return 1; }
  /// Returns the weights that recomputation in the backward pass reads.
  virtual std::vector<at::Tensor> weights() const { return {}; }
  /// Returns the outputs [T, Hq, dv].
  virtual at::Tensor forward(Kernels &kernels, const AttentionInputs &in,
                             const Packing &packing,
                             const ForwardOptions &options,
                             ForwardResult &result) const = 0;
  /// Returns the first position whose query attends to any of the positions
  /// first .. last-1, the last ones of the sequences; `first` if no query
  /// attends to later keys. `perSequence` is Cache::perSequence.
  virtual int64_t firstReader(Kernels &, int64_t first, int64_t,
                              const at::Tensor & /*perSequence*/) const {
    return first;
  }
  /// Appends the keys and values of the new tokens to the cache of the layer
  /// and returns the outputs, fp32 [B, Hq, n, dv].
  virtual at::Tensor extend(Kernels &kernels, const ExtensionInputs &in,
                            CacheLayer &cache, Reads &reads) const = 0;

protected:
  explicit LayerAttention(ModelConfig config) : config(std::move(config)) {}

  const ModelConfig config; ///< The model's, with this layer's NsaGeometry.
};

/// Copies keys and values [B, Hkv, n, d] to positions `first` and later.
void appendToCache(CacheLayer &cache, int slot, const at::Tensor &keys,
                   const at::Tensor &values, int64_t first);

} // namespace tessera::models
