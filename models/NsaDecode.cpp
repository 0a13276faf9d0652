// models/NsaDecode.cpp - an NSA layer over new tokens of sequences whose
// earlier tokens are in a cache.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/NsaLayer.h"
#include "models/NsaRows.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <limits>

namespace tessera::models {
namespace {

/// Queries that are processed at a time, to bound the memory of masks.
constexpr int64_t decodedRows = 512;

/// Converts [B * n, H, D] to [B, H, n, D].
at::Tensor byHeadOf(const at::Tensor &x, int64_t sequences) {
  return x.unflatten(0, {sequences, -1}).transpose(1, 2);
}

/// Returns the selected attention of one query, as NsaRows::selected() does,
/// but reads only the query's blocks.
at::Tensor selectedOfOne(const NsaGeometry &g, int64_t place,
                         const at::Tensor &q, const at::Tensor &k,
                         const at::Tensor &v, const at::Tensor &indices,
                         int64_t group) {
  // Tokens of the selected blocks, [B * Hkv, n * l']; those of block -1 are
  // masked.
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

/// Returns the number of tokens of the selected blocks that the queries attend
/// to. The query of row i is at position `first` + i.
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

at::Tensor NsaLayer::extend(Kernels &kernels, const ExtensionInputs &in,
                            CacheLayer &cache, Reads &reads) const {
  const int64_t sequences = in.query.size(0), first = in.first;
  const int64_t last = in.last();
  for (int i = 0; i < 2; ++i)
    appendToCache(cache, i, in.keys[size_t(i) + 1], in.values[size_t(i) + 1],
                  first);
  compressNew(cache, in.keys[0], in.values[0], last);
  // [B * n, Hkv, 3] -> [B * Hkv, n, 3]
  const at::Tensor query =
      in.query.transpose(1, 2).reshape({-1, config.heads, config.keyDim});
  const at::Tensor gates =
      byHeadOf(
          gateValues(gateLogits(in.input, query).to(at::kFloat), config, -1),
          sequences)
          .flatten(0, 1);
  const at::Tensor q = groupHeads(in.query, config.kvHeads);
  std::vector<at::Tensor> parts;
  for (int64_t a = first; a < last; a += decodedRows) {
    const int64_t to = std::min(a + decodedRows, last);
    parts.push_back(attendCached(kernels, q.slice(2, a - first, to - first),
                                 gates.slice(1, a - first, to - first), cache,
                                 reads, a));
  }
  return at::cat(parts, 2).view({sequences, config.heads, last - first, -1});
}

/// Compresses the blocks that the new tokens complete. The cache keeps all raw
/// keys from the start of the next block, so a block can begin in one call and
/// end in another. With blocks of 4 tokens and stride 2:
///
///   raw keys before      4 5            (block 2 begins at token 4)
///   with the new keys    4 5 6 7 8      (block 2 is complete: 4 5 6 7)
///   raw keys after           6 7 8      (block 3 begins at token 6)
void NsaLayer::compressNew(CacheLayer &layer, const at::Tensor &keys,
                           const at::Tensor &values, int64_t last) const {
  const NsaGeometry &g = config.nsa;
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
      blocks = phi.apply(raw.transpose(1, 2), g, config.phiActivation)
                   .transpose(1, 2);
    else
      blocks =
          compress(raw, filter.defined() ? filter.to(at::kFloat) : filter, g);
    compressed.slice(2, before, before + made).copy_(blocks);
    raw = raw.slice(2, made * g.stride).clone();
  };
  one(layer.keyRaw, layer.keyCmp, keys, keyFilter, keyPhi);
  one(layer.valueRaw, layer.valueCmp, values, valueFilter, valuePhi);
}

at::Tensor NsaLayer::attendCached(Kernels &kernels, const at::Tensor &q,
                                  const at::Tensor &gates,
                                  const CacheLayer &layer, Reads &reads,
                                  int64_t first) const {
  const ModelConfig &c = config;
  const NsaGeometry &g = c.nsa;
  const int64_t sequences = q.size(0) / c.kvHeads;
  const int64_t group = c.heads / c.kvHeads, last = first + q.size(2);
  const auto share = [&](const at::Tensor &x) { return shareKeys(x, group); };
  const bool compiled = kernels.decodes() && last - first == 1;
  // Returns the compiled attention [B * Hkv, group, 1, E] to the keys from
  // `from` on, or to those of the blocks `chosen`.
  const auto decoded = [&](int branch, int64_t from, const at::Tensor &chosen) {
    const at::Tensor o = kernels.decodeAttention(
        q.reshape({sequences, c.heads, -1}), layer.keys[branch],
        layer.values[branch], from, last, chosen, g.selectionLength);
    return o.view({sequences * c.kvHeads, group, 1, -1});
  };
  const NsaRows rows{g, first, last, group};
  const auto gate = [&](int branch) {
    return gates.select(-1, branch).unsqueeze(1).unsqueeze(-1);
  };
  at::Tensor output, indices;
  if (compiled && g.selectedBlocks) {
    auto [o, blocks] =
        kernels.decodeCompressed(q.reshape({sequences, c.heads, -1}),
                                 layer.keyCmp, layer.valueCmp, first, g);
    output = o.view({sequences * c.kvHeads, group, 1, -1});
    indices = blocks.reshape({sequences * c.kvHeads, 1, -1});
  } else {
    std::tie(output, indices) =
        rows.compressed(q, share(layer.keyCmp), share(layer.valueCmp));
  }
  output = output * gate(0);
  if (g.selectedBlocks) {
    const at::Tensor selected =
        compiled ? decoded(0, 0,
                           indices.to(at::kInt).view(
                               {sequences, c.kvHeads, g.selectedBlocks}))
        : last - first == 1 ? selectedOfOne(g, first, q, layer.keys[0],
                                            layer.values[0], indices, group)
                            : rows.selected(q, share(layer.keys[0]),
                                            share(layer.values[0]), indices);
    output = output + selected * gate(1);
    reads.selected += selectedTokens(indices, g, first);
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
    reads.compressed += q.size(0) * compressed;
    reads.window += q.size(0) * window;
    reads.predicted +=
        q.size(0) *
        (compressed + g.selectedBlocks * g.selectionLength + window);
  }
  return output;
}

} // namespace tessera::models
