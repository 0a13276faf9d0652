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

/// A transformer: embedding, blocks of (norm, attention, norm, MLP), norm,
/// head. Parameters are plain leaf tensors in a fixed order; a seed determines
/// their initial values.
class Transformer {
public:
  /// Draws the weights, which are the same on every device.
  Transformer(const ModelConfig &config, KernelSource source, uint64_t seed,
              at::Device device = at::kCPU);
  ~Transformer();

  /// Runs the model on tokens, int64 [B, S], on the model's device.
  ForwardResult forward(const at::Tensor &tokens,
                        const ForwardOptions &options = {});

  /// Runs a forward pass without gradients and compares every operation of the
  /// kernels with plain torch (models/ComparedKernels.h). On the CPU a second
  /// pass uses plain torch; "loss" is the relative difference of both losses.
  /// `options` must have targets.
  KernelDifferences compareKernels(const at::Tensor &tokens,
                                   const ForwardOptions &options);

  /// Appends n tokens to the cache and returns their logits [B, n, vocabulary],
  /// in fp32 on the CPU. Up to rounding the results do not depend on how a text
  /// is split into calls. Throws tessera::Error if the cache is too small.
  at::Tensor extend(const at::Tensor &tokens, Cache &cache);

  const ModelConfig &config() const { return settings; }
  std::vector<Parameter> &parameters() { return all; }
  const std::vector<Parameter> &parameters() const { return all; }
  int64_t parameterCount() const;
  at::Device device() const { return embedding.device(); }
  Kernels &kernels() { return *source; }

private:
  struct Block;
  /// Heads of a projected layer input, [T, heads, d]: `turned` has the queries
  /// and the keys of all branches, to which RoPE applies. `values` includes the
  /// layer's value embeddings of the tokens, int64 [T].
  struct Heads {
    at::Tensor turned, values;
  };
  Heads split(const Block &block, const at::Tensor &projected,
              const at::Tensor &tokens) const;
  /// Returns the first block's input [T, dim] of tokens and their predecessors
  /// (noToken of models/Bigrams.h for none), int64 [T]. Without
  /// model.bigram_embeddings `previous` may be undefined.
  at::Tensor embedded(const at::Tensor &tokens,
                      const at::Tensor &previous) const;
  /// Removes tokens from the cache whose attention depends on new tokens (up to
  /// last-1), so that extend() recomputes them.
  void rewind(Cache &cache, int64_t last);
  at::Tensor extendAttention(const Block &block, const at::Tensor &x,
                             const at::Tensor &tokens, Cache &cache,
                             size_t layerNumber);
  at::Tensor attention(const Block &block, const at::Tensor &x,
                       const at::Tensor &tokens, const Packing &packing,
                       const ForwardOptions &options, ForwardResult &result);
  at::Tensor mlp(const Block &block, const at::Tensor &x) const;
  /// Returns the logits of the last norm's output, softcapped if set.
  at::Tensor logits(const at::Tensor &x) const;
  /// Runs a block whose activations the backward pass recomputes.
  at::Tensor recomputedBlock(const Block &block, const at::Tensor &x,
                             const at::Tensor &tokens,
                             const std::shared_ptr<const Packing> &packing,
                             const ForwardOptions &options);

  ModelConfig settings;
  std::unique_ptr<Kernels> source;
  std::vector<Parameter> all;
  std::vector<Block> blocks;
  at::Tensor embedding, finalNorm, head;
  at::Tensor bigrams; ///< [rows, dim]; undefined without bigramEmbeddings.
};

} // namespace tessera::models
