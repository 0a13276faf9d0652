// models/Decode.cpp - a forward pass over new tokens, with those before in a
// cache.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Prefill and decoding are the same function over more or fewer tokens, so any
// split of a text gives the same (nsa.md REQ-16). Plain torch operations: the
// compiled kernels take queries and keys of the same tokens. One token's
// attention over the cache has compiled kernels of its own; its selection is
// that of the kernel that trains.
#include "models/Transformer.h"

#include "models/Block.h"
#include "models/Cache.h"
#include "models/NsaRows.h"
#include "models/RopeTable.h"
#include "support/Error.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace tessera::models {
namespace {

constexpr int64_t decodedRows = 512;

/// [B * n, H, D] -> [B, H, n, D]
at::Tensor byHead(const at::Tensor &x, int64_t sequences) {
  return x.unflatten(0, {sequences, -1}).transpose(1, 2);
}

/// x [B, H, n, D] turned to positions first, first + 1, ...
at::Tensor turned(const at::Tensor &x, int64_t first, const Rope &rope) {
  const int64_t dim = x.size(3);
  const auto [cosine, sine] = ropeTable(rope, dim, first, first + x.size(2));
  const at::Tensor pairs = x.unflatten(3, {dim / 2, 2});
  const at::Tensor even = pairs.select(-1, 0), odd = pairs.select(-1, 1);
  return at::stack({even * cosine - odd * sine, even * sine + odd * cosine}, -1)
      .flatten(3);
}

/// Selected attention of one query, which reads its blocks alone. The result is
/// that of NsaRows::selected().
at::Tensor selectedOfOne(const NsaGeometry &g, int64_t place,
                         const at::Tensor &q, const at::Tensor &k,
                         const at::Tensor &v, const at::Tensor &indices,
                         int64_t group) {
  // [B * Hkv, n * l'] tokens of the blocks; those that are none are masked.
  const at::Tensor blocks = indices.select(1, 0).to(at::kLong).unsqueeze(-1);
  const at::Tensor tokens =
      (blocks * g.selectionLength + at::arange(g.selectionLength)).flatten(1);
  const at::Tensor there =
      ((blocks >= 0).expand({-1, -1, g.selectionLength}).flatten(1))
          .logical_and(tokens <= place);
  const auto gather = [&](const at::Tensor &x) {
    const at::Tensor rows = x.flatten(0, 1); // [B * Hkv, capacity, D]
    const at::Tensor picked =
        rows.gather(1, tokens.masked_fill(there.logical_not(), 0)
                           .unsqueeze(-1)
                           .expand({-1, -1, rows.size(2)}));
    return picked.unsqueeze(1).expand({-1, group, -1, -1});
  };
  const at::Tensor mask =
      at::zeros(there.sizes())
          .masked_fill_(there.logical_not(),
                        -std::numeric_limits<double>::infinity())
          .unsqueeze(1)
          .unsqueeze(1);
  return maskedAttention(q, gather(k), gather(v), mask);
}

/// Tokens of the kept blocks that a query at `first` + its row may see.
int64_t selectedTokens(const at::Tensor &indices, const NsaGeometry &g,
                       int64_t first) {
  const at::Tensor blocks = indices.to(at::kLong);
  const at::Tensor ends =
      at::arange(first + 1, first + 1 + blocks.size(1)).view({1, -1, 1});
  const at::Tensor tokens =
      at::minimum((blocks + 1) * g.selectionLength, ends) -
      blocks * g.selectionLength;
  return (tokens * (blocks >= 0)).sum().item<int64_t>();
}

} // namespace

Cache::Cache(const ModelConfig &c, int64_t sequences, int64_t capacity)
    : layers(size_t(c.layers)), count(sequences), most(capacity) {
  if (c.attention == AttentionKind::Kernel)
    throw Error("attention.kernel has no form that goes on from a cache",
                "generate needs attention nsa, dense or sdpa");
  const bool nsa = c.attention == AttentionKind::Nsa;
  for (Layer &layer : layers) {
    const auto room = [&](int64_t tokens, int64_t dim) {
      return at::zeros({sequences, c.kvHeads, tokens, dim});
    };
    for (int i = 0; i < (nsa ? 2 : 1); ++i) {
      layer.keys[i] = room(capacity, c.keyDim);
      layer.values[i] = room(capacity, c.valueDim);
    }
    if (!nsa)
      continue;
    const int64_t compressed = c.nsa.compressedCount(capacity);
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
  at::Tensor x = at::embedding(embedding, tokens.flatten());
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Block &b = blocks[i];
    x = x + extendAttention(b,
                            source->rmsNorm(x, b.attentionNorm, c.normEpsilon),
                            cache, i);
    x = x + mlp(b, source->rmsNorm(x, b.mlpNorm, c.normEpsilon));
  }
  cache.tokens += count;
  return at::linear(source->rmsNorm(x, finalNorm, c.normEpsilon), head)
      .view({sequences, count, -1});
}

at::Tensor Transformer::extendAttention(const Block &b, const at::Tensor &x,
                                        Cache &cache, size_t layerNumber) {
  const ModelConfig &c = settings;
  Cache::Layer &layer = cache.layers[layerNumber];
  const int64_t first = cache.tokens, sequences = cache.count;
  const Heads heads = split(at::linear(x, b.projection));
  const at::Tensor rotated =
      turned(byHead(heads.turned, sequences).to(at::kFloat), first, c.rope);
  const at::Tensor values = byHead(heads.values, sequences).to(at::kFloat);
  const int64_t count = rotated.size(2), last = first + count;
  const at::Tensor query = rotated.narrow(1, 0, c.heads);
  const auto key = [&](int64_t branch) {
    return rotated.narrow(1, c.heads + branch * c.kvHeads, c.kvHeads);
  };
  const auto value = [&](int64_t branch) {
    return values.narrow(1, branch * c.kvHeads, c.kvHeads);
  };
  const bool nsa = c.attention == AttentionKind::Nsa;
  for (int i = 0; i < (nsa ? 2 : 1); ++i) {
    layer.keys[i].slice(2, first, last).copy_(key(nsa ? i + 1 : 0));
    layer.values[i].slice(2, first, last).copy_(value(nsa ? i + 1 : 0));
  }
  at::Tensor gates;
  if (nsa) {
    emit(b, layer, key(0), value(0), last);
    // [B * n, Hkv, 3] -> [B * Hkv, n, 3]
    const at::Tensor turnedBack =
        query.transpose(1, 2).reshape({-1, c.heads, c.keyDim});
    gates =
        byHead(gateValues(gateLogits(b, x, turnedBack).to(at::kFloat), c, -1),
               sequences)
            .flatten(0, 1);
  }
  const at::Tensor q = groupHeads(query, c.kvHeads);
  std::vector<at::Tensor> parts;
  for (int64_t a = first; a < last; a += decodedRows) {
    const int64_t to = std::min(a + decodedRows, last);
    parts.push_back(
        attendCached(q.slice(2, a - first, to - first),
                     nsa ? gates.slice(1, a - first, to - first) : gates, cache,
                     layerNumber, a));
  }
  // [B * Hkv, group, n, E] -> [B * n, heads * E]
  return at::linear(at::cat(parts, 2)
                        .unflatten(0, {sequences, c.kvHeads})
                        .flatten(1, 2)
                        .transpose(1, 2)
                        .reshape({sequences * count, -1})
                        .to(x.scalar_type()),
                    b.output);
}

/// Compressed keys that became complete with the new tokens, of all raw ones
/// from the next block's beginning on: so a block may begin in one call and
/// end in another.
void Transformer::emit(const Block &b, Cache::Layer &layer,
                       const at::Tensor &keys, const at::Tensor &values,
                       int64_t last) const {
  const NsaGeometry &g = settings.nsa;
  const int64_t there = layer.keyRaw.size(2) + keys.size(2);
  const int64_t made = g.compressedCount(there);
  const int64_t before = g.compressedCount(last) - made;
  const auto one = [&](at::Tensor &raw, at::Tensor &compressed,
                       const at::Tensor &more, const at::Tensor &filter,
                       const BlockMlp &phi) {
    raw = at::cat({raw, more}, 2);
    if (made == 0)
      return;
    at::Tensor blocks;
    if (phi.defined())
      blocks = phi.apply(raw.transpose(1, 2), g, settings.phiActivation)
                   .transpose(1, 2);
    else
      blocks =
          compress(raw, filter.defined() ? filter.to(at::kFloat) : filter, g);
    compressed.slice(2, before, before + made).copy_(blocks);
    raw = raw.slice(2, made * g.stride).clone();
  };
  one(layer.keyRaw, layer.keyCmp, keys, b.keyFilter, b.keyPhi);
  one(layer.valueRaw, layer.valueCmp, values, b.valueFilter, b.valuePhi);
}

at::Tensor Transformer::attendCached(const at::Tensor &q,
                                     const at::Tensor &gates, Cache &cache,
                                     size_t layerNumber, int64_t first) const {
  const ModelConfig &c = settings;
  const NsaGeometry &g = c.nsa;
  const Cache::Layer &layer = cache.layers[layerNumber];
  const int64_t group = c.heads / c.kvHeads, last = first + q.size(2);
  const auto share = [&](const at::Tensor &x) { return shareKeys(x, group); };
  const bool compiled = source->decodes() && last - first == 1;
  // [B * Hkv, group, 1, E] of keys from `from` on, or of the blocks.
  const auto decoded = [&](int branch, int64_t from, const at::Tensor &chosen) {
    const at::Tensor o = source->decodeAttention(
        q.reshape({cache.count, c.heads, -1}), layer.keys[branch],
        layer.values[branch], from, last, chosen, g.selectionLength);
    return o.view({cache.count * c.kvHeads, group, 1, -1});
  };
  if (c.attention != AttentionKind::Nsa && compiled)
    return decoded(0, 0, {});
  if (c.attention != AttentionKind::Nsa) {
    const NsaGeometry all{.window = last};
    return NsaRows{all, first, last, group}.windowed(q, share(layer.keys[0]),
                                                     share(layer.values[0]));
  }
  const NsaRows rows{g, first, last, group};
  const auto gate = [&](int branch) {
    return gates.select(-1, branch).unsqueeze(1).unsqueeze(-1);
  };
  at::Tensor output, indices;
  if (compiled && g.selectedBlocks) {
    auto [o, blocks] =
        source->decodeCompressed(q.reshape({cache.count, c.heads, -1}),
                                 layer.keyCmp, layer.valueCmp, first, g);
    output = o.view({cache.count * c.kvHeads, group, 1, -1});
    indices = blocks.reshape({cache.count * c.kvHeads, 1, -1});
  } else {
    std::tie(output, indices) =
        rows.compressed(q, share(layer.keyCmp), share(layer.valueCmp));
  }
  output = output * gate(0);
  if (g.selectedBlocks) {
    const at::Tensor selected =
        compiled ? decoded(0, 0,
                           indices.to(at::kInt).view(
                               {cache.count, c.kvHeads, g.selectedBlocks}))
        : last - first == 1 ? selectedOfOne(g, first, q, layer.keys[0],
                                            layer.values[0], indices, group)
                            : rows.selected(q, share(layer.keys[0]),
                                            share(layer.values[0]), indices);
    output = output + selected * gate(1);
    cache.seen.selected += selectedTokens(indices, g, first);
  }
  if (g.window) {
    const at::Tensor windowed =
        compiled
            ? decoded(1, std::max<int64_t>(0, last - g.window), {})
            : rows.windowed(q, share(layer.keys[1]), share(layer.values[1]));
    output = output + windowed * gate(2);
  }
  for (int64_t length = first + 1; length <= last; ++length) {
    const int64_t window = std::min(g.window, length);
    const int64_t compressed = g.compressedCount(length);
    cache.seen.compressed += q.size(0) * compressed;
    cache.seen.window += q.size(0) * window;
    cache.seen.predicted +=
        q.size(0) *
        (compressed + g.selectedBlocks * g.selectionLength + window);
  }
  return output;
}

} // namespace tessera::models
