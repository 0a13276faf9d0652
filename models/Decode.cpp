// models/Decode.cpp - forward pass over new tokens of sequences whose earlier
// tokens are in a cache; generation uses it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Prefill and decoding are the same function over more or fewer tokens, so
// results do not depend on how a text is split into calls (nsa.md REQ-16). The
// function calls plain torch, because the training kernels require queries and
// keys of the same tokens. For a single new token it calls compiled decoding
// kernels if there are any; they select the same blocks as the training kernel.
#include "models/Transformer.h"

#include "models/Bigrams.h"
#include "models/Block.h"
#include "models/Cache.h"
#include "models/RopeTable.h"
#include "runtime/launch/PatternFile.h"
#include "support/Error.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <fmt/format.h>

namespace tessera::models {
namespace {

/// Converts [B * n, H, D] to [B, H, n, D].
at::Tensor byHead(const at::Tensor &x, int64_t sequences) {
  return x.unflatten(0, {sequences, -1}).transpose(1, 2);
}

} // namespace

bool hasCache(const ModelConfig &c) {
  for (int64_t i = 0; i < c.layers; ++i) {
    const LayerKind layer = c.attentionOf(i);
    const CustomAttention &custom = layer.custom;
    if (layer.kind == AttentionKind::Kernel &&
        (custom.pattern.empty() ||
         !runtime::readPatternFile(custom.file)->decodes))
      return false;
  }
  return true;
}

Cache::Cache(const ModelConfig &c, int64_t sequences, int64_t capacity,
             at::Tensor values)
    : layers(size_t(c.layers)), perSequence(std::move(values)),
      count(sequences), most(capacity) {
  if (!hasCache(c))
    throw Error("attention.kernel has no form that continues from a cache",
                "generate needs attention nsa, dense, sdpa or patterns");
  text = at::zeros({sequences, capacity}, at::kLong);
  for (size_t i = 0; i < layers.size(); ++i) {
    CacheLayer &layer = layers[i];
    const LayerKind mine = c.builtAttentionOf(int64_t(i));
    const bool nsa = mine.kind == AttentionKind::Nsa;
    const auto room = [&](int64_t tokens, int64_t dim) {
      return at::zeros({sequences, c.kvHeads, tokens, dim});
    };
    for (int slot = 0; slot < (nsa ? 2 : c.branchesOf(int64_t(i))); ++slot) {
      layer.keys[slot] = room(capacity, c.keyDim);
      layer.values[slot] = room(capacity, c.valueDim);
    }
    if (!nsa)
      continue;
    const int64_t compressed =
        mine.nsa.value_or(c.nsa).compressedCount(capacity);
    layer.keyCmp = room(compressed, c.keyDim);
    layer.valueCmp = room(compressed, c.valueDim);
    layer.keyRaw = room(0, c.keyDim);
    layer.valueRaw = room(0, c.valueDim);
  }
}

at::Tensor Transformer::extend(const at::Tensor &tokens, Cache &cache) {
  const at::NoGradGuard noGrad;
  const ModelConfig &c = settings;
  const int64_t sequences = tokens.size(0), count = tokens.size(1);
  if (sequences != cache.count || cache.tokens + count > cache.most)
    throw Error(fmt::format("{} tokens of {} sequences do not fit a cache for "
                            "{} of {}, which holds {}",
                            count, sequences, cache.most, cache.count,
                            cache.tokens),
                "make a cache that is large enough, or read less");
  const int64_t last = cache.tokens + count;
  cache.text.slice(1, cache.tokens, last).copy_(tokens);
  rewind(cache, last);
  const int64_t again = last - count - cache.tokens; // tokens to recompute
  const at::Tensor known =
      at::constant_pad_nd(cache.text.slice(1, 0, last), {1, 0}, noToken);
  const at::Tensor flat = known.slice(1, cache.tokens + 1).flatten();
  at::Tensor x = embedded(flat, known.slice(1, cache.tokens, last).flatten());
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Block &b = blocks[i];
    x = x + extendAttention(b,
                            source->rmsNorm(x, b.attentionNorm, c.normEpsilon),
                            flat, cache, i);
    x = x + mlp(b, source->rmsNorm(x, b.mlpNorm, c.normEpsilon));
  }
  cache.tokens = last;
  if (again > 0)
    x = x.unflatten(0, {sequences, -1}).slice(1, again).flatten(0, 1);
  return logits(source->rmsNorm(x, finalNorm, c.normEpsilon))
      .view({sequences, count, -1});
}

void Transformer::rewind(Cache &cache, int64_t last) {
  // A changed token changes its key in the next layer, and with it the tokens
  // that attend to this key.
  int64_t first = cache.tokens;
  for (bool changed = first > 0; changed;) {
    changed = false;
    for (const Block &b : blocks) {
      const int64_t lower =
          b.attention->firstReader(*source, first, last, cache.perSequence);
      changed = changed || lower < first;
      first = std::min(first, lower);
    }
  }
  if (first == cache.tokens)
    return;
  // Compressed keys cannot be removed one by one, so NSA restarts at token 0.
  cache.tokens = settings.has(AttentionKind::Nsa) ? 0 : first;
  for (CacheLayer &layer : cache.layers)
    if (layer.keyRaw.defined()) {
      layer.keyRaw = layer.keyRaw.slice(2, 0, 0);
      layer.valueRaw = layer.valueRaw.slice(2, 0, 0);
    }
}

at::Tensor Transformer::extendAttention(const Block &b, const at::Tensor &x,
                                        const at::Tensor &tokens, Cache &cache,
                                        size_t layerNumber) {
  const ModelConfig &c = settings;
  const int64_t sequences = cache.count, n = b.attention->branches();
  const Heads heads = split(b, source->linear(x, b.projection), tokens);
  const at::Tensor rotated = models::rotated(
      byHead(heads.turned, sequences).to(at::kFloat), cache.tokens, c.rope);
  const at::Tensor values = byHead(heads.values, sequences).to(at::kFloat);
  ExtensionInputs in{x,
                     rotated.narrow(1, 0, c.heads),
                     {},
                     {},
                     cache.tokens,
                     cache.perSequence};
  for (int64_t branch = 0; branch < n; ++branch) {
    in.keys.push_back(
        rotated.narrow(1, c.heads + branch * c.kvHeads, c.kvHeads));
    in.values.push_back(values.narrow(1, branch * c.kvHeads, c.kvHeads));
  }
  const at::Tensor output =
      b.attention->extend(*source, in, cache.layers[layerNumber], cache.seen);
  // [B, Hq, n, E] -> [B * n, Hq * E]
  return source->linear(
      output.transpose(1, 2).reshape({x.size(0), -1}).to(x.scalar_type()),
      b.output);
}

} // namespace tessera::models
