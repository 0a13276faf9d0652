// models/SelectedRows.cpp - attention to selected blocks for a block of
// queries, in plain torch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/SelectedRows.h"

#include "models/NsaMasks.h"
#include "models/NsaRows.h"

#include <ATen/ATen.h>
#include <cmath>
#include <limits>

namespace tessera::models {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Pads the tokens of x [.., tokens, channels] with `value` to a multiple of
/// `block` and returns [.., blocks, block, channels].
at::Tensor inBlocks(const at::Tensor &x, int64_t block, double value) {
  const int64_t missing = (block - x.size(-2) % block) % block;
  return at::constant_pad_nd(x, {0, 0, 0, missing}, value)
      .unflatten(-2, {-1, block});
}

/// Appends the sink as the last column of logits [B, Hq, queries, keys].
/// Returns the logits unchanged if the sink is undefined.
at::Tensor withSink(const at::Tensor &logits, const at::Tensor &sink) {
  if (!sink.defined())
    return logits;
  return at::cat({logits, sink.view({1, -1, 1, 1})
                              .expand({logits.size(0), -1, logits.size(2), 1})},
                 -1);
}

/// Returns the values [B, Hq, keys, dv] weighted by the softmax of the logits,
/// whose last column can be a sink. Does not call softmax(), which returns NaN
/// for a sink of +inf and for rows without keys.
at::Tensor weighted(const at::Tensor &logits, const at::Tensor &values) {
  const at::Tensor total = logits.logsumexp(-1, true).clamp_min(
      std::numeric_limits<float>::lowest());
  return at::matmul((logits.slice(-1, 0, values.size(2)) - total).exp(),
                    values);
}

/// Returns the means of blocks of x [B, H, tokens, d]; empty if x is shorter
/// than a block.
at::Tensor compressedKeys(const at::Tensor &x, const NsaGeometry &g) {
  return x.size(2) < g.blockLength ? x.slice(2, 0, 0) : compress(x, {}, g);
}

} // namespace

int64_t SelectedRows::lists() const {
  return selection.lists(query.size(1), key.size(1));
}

at::Tensor SelectedRows::pooledScores() const {
  const bool most = selection.scorer == runtime::Scorer::PooledMax;
  const at::Tensor apart =
      inBlocks(key.slice(2, 0, last), selection.block, most ? -infinity : 0.0);
  const at::Tensor count =
      inBlocks(at::ones({last, 1}), selection.block, 0).sum(1);
  const at::Tensor pooled = most ? apart.amax(3) : apart.sum(3) / count;
  const int64_t group = query.size(1) / key.size(1);
  return at::matmul(query, pooled.repeat_interleave(group, 1).transpose(-1, -2))
      .unflatten(1, {lists(), -1})
      .sum(2);
}

at::Tensor SelectedRows::indexerScores() const {
  const NsaGeometry g = geometryOf(selection);
  const bool joined = selection.streams == runtime::Streams::Joined;
  at::Tensor keys = indexKey.slice(1, 0, last).unsqueeze(1);
  if (joined)
    keys = compressedKeys(keys, g);
  const at::Tensor products =
      at::matmul(indexQuery, keys.transpose(-1, -2)).relu();
  const at::Tensor tokens = (products * indexWeights.unsqueeze(-1))
                                .unflatten(1, {lists(), -1})
                                .sum(2); // [B, lists, queries, keys]
  if (joined)
    return tokens;
  const at::Tensor causal = windowVisible(last, first, last, 0);
  return inBlocks(
             tokens.masked_fill(causal.logical_not(), -infinity).unsqueeze(-1),
             selection.block, -infinity)
      .amax(-2)
      .squeeze(-1);
}

at::Tensor SelectedRows::compressedScores() const {
  const NsaGeometry g = geometryOf(selection);
  const int64_t group = query.size(1) / key.size(1);
  const at::Tensor keys =
      shareKeys(compressedKeys(key.slice(2, 0, last), g), group);
  return NsaRows{g, first, last, group}
      .compressedAndScores(groupHeads(query, key.size(1)), keys, keys)
      .second.unflatten(0, {query.size(0), -1});
}

at::Tensor SelectedRows::scores() const {
  switch (selection.scorer) {
  case runtime::Scorer::Indexer:
    return indexerScores();
  case runtime::Scorer::Compressed:
    return compressedScores();
  case runtime::Scorer::PooledMean:
  case runtime::Scorer::PooledMax:
    return pooledScores();
  case runtime::Scorer::None:
    break;
  }
  return {};
}

at::Tensor SelectedRows::indices() const {
  NsaGeometry g = geometryOf(selection);
  if (selection.streams != runtime::Streams::Joined)
    return selectBlocks(scores(), g, first, last);
  // Query t can read compressed key i if d * i + l - 1 <= t. Shifted by l - 1,
  // this is the rule of selectBlocks() for blocks of d tokens.
  g.selectionLength = g.stride;
  return selectBlocks(scores(), g, first + 1 - g.blockLength,
                      last + 1 - g.blockLength);
}

at::Tensor SelectedRows::attendJoined() const {
  const NsaGeometry g = geometryOf(selection);
  const int64_t group = query.size(1) / key.size(1);
  const auto shared = [&](const at::Tensor &x) {
    return x.repeat_interleave(group, 1);
  };
  const auto logitsOf = [&](const at::Tensor &keys, const at::Tensor &visible) {
    return (at::matmul(query, shared(keys).transpose(-1, -2)) /
            std::sqrt(double(query.size(3))))
        .masked_fill(visible.logical_not(), -infinity);
  };
  const at::Tensor keys = compressedKeys(key.slice(2, 0, last), g),
                   values = compressedKeys(value.slice(2, 0, last), g);
  const int64_t count = keys.size(2);
  at::Tensor seen = compressedVisible(g, first, last, count);
  if (selection.scorer != runtime::Scorer::None) {
    const at::Tensor chosen = indices() + 1; // column 0 receives the padding
    std::vector<int64_t> shape = chosen.sizes().vec();
    shape.back() = count + 1;
    seen = at::zeros(shape, at::kBool)
               .scatter_(-1, chosen, true)
               .narrow(-1, 1, count)
               .repeat_interleave(query.size(1) / lists(), 1)
               .logical_and(seen);
  }
  const at::Tensor logits = withSink(
      at::cat({logitsOf(keys, seen),
               logitsOf(windowKey.slice(2, 0, last),
                        windowVisible(selection.window, first, last, 0))},
              -1),
      sink);
  return weighted(logits,
                  shared(at::cat({values, windowValue.slice(2, 0, last)}, 2)));
}

at::Tensor SelectedRows::visible() const {
  const bool dense = length < selection.denseBelow;
  const at::Tensor near =
      windowVisible(dense ? last : selection.window, first, last, 0);
  if (dense)
    return near.expand({query.size(0), query.size(1), -1, -1});
  return selectedVisible(indices(), geometryOf(selection), first, last)
      .logical_or(near)
      .repeat_interleave(query.size(1) / lists(), 1);
}

at::Tensor SelectedRows::attend() const {
  if (windowKey.defined())
    return attendJoined();
  const int64_t group = query.size(1) / key.size(1);
  const auto shared = [&](const at::Tensor &x) {
    return x.slice(2, 0, last).repeat_interleave(group, 1);
  };
  at::Tensor logits = at::matmul(query, shared(key).transpose(-1, -2)) /
                      std::sqrt(double(query.size(3)));
  if (scoresOf)
    logits = scoresOf(logits);
  logits = logits.masked_fill(visible().logical_not(), -infinity);
  return weighted(withSink(logits, sink), shared(value));
}

} // namespace tessera::models
