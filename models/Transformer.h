// models/Transformer.h - a byte-level transformer, sparse or dense.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Cache.h"
#include "models/ComparedKernels.h"
#include "models/Forward.h"
#include "models/Kernels.h"
#include "models/ParameterBuilder.h"

#include <string>
#include <vector>

namespace tessera::models {

/// Embedding, blocks of (norm, attention, norm, MLP), norm, head. Parameters
/// are plain leaf tensors in a fixed order; a seed gives their first values.
class Transformer {
public:
  /// The same weights on every device.
  Transformer(const ModelConfig &config, KernelSource source, uint64_t seed,
              at::Device device = at::kCPU);
  ~Transformer();

  /// tokens: int64 [B, S], on the model's device.
  ForwardResult forward(const at::Tensor &tokens,
                        const ForwardOptions &options = {});

  /// A forward pass without gradients in which every operation of the kernels
  /// is compared with plain torch (models/ComparedKernels.h), and on the CPU a
  /// second one by plain torch: "loss" is the difference of their losses over
  /// the second. `options` has targets.
  KernelDifferences compareKernels(const at::Tensor &tokens,
                                   const ForwardOptions &options);

  /// Logits [B, n, vocabulary] of the n tokens behind those in the cache, which
  /// has them afterwards. Any split of a text into calls gives the same, up to
  /// rounding. In fp32, on the CPU. Throws tessera::Error for tokens that the
  /// cache has no room for.
  at::Tensor extend(const at::Tensor &tokens, Cache &cache);

  const ModelConfig &config() const { return settings; }
  std::vector<Parameter> &parameters() { return all; }
  const std::vector<Parameter> &parameters() const { return all; }
  int64_t parameterCount() const;
  at::Device device() const { return embedding.device(); }
  Kernels &kernels() { return *source; }

private:
  struct Block;
  /// Of a projected layer input: queries and keys of all branches, whose
  /// position turns them, and values; [T, heads, d].
  struct Heads {
    at::Tensor turned, values;
  };
  Heads split(const Block &block, const at::Tensor &projected) const;
  /// Takes tokens back whose attention depends on later ones, those up to
  /// last-1: they are read again.
  void rewind(Cache &cache, int64_t last);
  at::Tensor extendAttention(const Block &block, const at::Tensor &x,
                             Cache &cache, size_t layerNumber);
  at::Tensor attention(const Block &block, const at::Tensor &x,
                       const Packing &packing, const ForwardOptions &options,
                       ForwardResult &result);
  at::Tensor mlp(const Block &block, const at::Tensor &x) const;
  /// A block of the forward pass whose activations are not all kept.
  at::Tensor recomputedBlock(const Block &block, const at::Tensor &x,
                             const std::shared_ptr<const Packing> &packing,
                             const ForwardOptions &options);

  ModelConfig settings;
  std::unique_ptr<Kernels> source;
  std::vector<Parameter> all;
  std::vector<Block> blocks;
  at::Tensor embedding, finalNorm, head;
};

} // namespace tessera::models
