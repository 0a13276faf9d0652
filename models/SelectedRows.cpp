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

/// x [.., tokens, channels] with tokens padded by `value` to a multiple of
/// `block`:
/// [.., blocks, block, channels].
at::Tensor inBlocks(const at::Tensor &x, int64_t block, double value) {
  const int64_t missing = (block - x.size(-2) % block) % block;
  return at::constant_pad_nd(x, {0, 0, 0, missing}, value)
      .unflatten(-2, {-1, block});
}

/// The selection as the functions of NSA take it.
NsaGeometry geometryOf(const runtime::PatternSelection &s) {
  NsaGeometry g;
  g.blockLength = s.length;
  g.stride = s.stride;
  g.selectionLength = s.block;
  g.selectedBlocks = s.top;
  g.window = s.window;
  g.initialBlocks = s.first;
  g.localBlocks = s.local;
  return g;
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
  const at::Tensor products =
      at::matmul(indexQuery,
                 indexKey.slice(1, 0, last).unsqueeze(1).transpose(-1, -2))
          .relu();
  const at::Tensor tokens = (products * indexWeights.unsqueeze(-1))
                                .unflatten(1, {lists(), -1})
                                .sum(2); // [B, lists, queries, last]
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
  const at::Tensor known = key.slice(2, 0, last);
  const at::Tensor keys = shareKeys(
      last < g.blockLength ? known.slice(2, 0, 0) : compress(known, {}, g),
      group);
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
  }
  return {};
}

at::Tensor SelectedRows::indices() const {
  return selectBlocks(scores(), geometryOf(selection), first, last);
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
  const int64_t group = query.size(1) / key.size(1);
  const auto shared = [&](const at::Tensor &x) {
    return x.slice(2, 0, last).repeat_interleave(group, 1);
  };
  at::Tensor logits = at::matmul(query, shared(key).transpose(-1, -2)) /
                      std::sqrt(double(query.size(3)));
  logits = logits.masked_fill(visible().logical_not(), -infinity);
  if (sink.defined())
    logits =
        at::cat({logits, sink.view({1, -1, 1, 1})
                             .expand({logits.size(0), -1, logits.size(2), 1})},
                -1);
  return at::matmul(logits.softmax(-1).slice(-1, 0, last), shared(value));
}

} // namespace tessera::models
