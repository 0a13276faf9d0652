// models/SelectedRows.h - attention to selected blocks for a block of queries,
// in plain torch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ModelConfig.h"
#include "runtime/launch/PatternFile.h"

#include <ATen/core/Tensor.h>
#include <functional>

namespace tessera::models {

/// Attention of the queries first .. last-1 of B sequences to the keys 0 ..
/// last-1 of a cache, which can have a larger capacity. All tensors are fp32.
struct SelectedRows {
  const runtime::PatternSelection &selection;
  int64_t first, last;
  /// Length of each sequence including new tokens; `dense_below` depends on it.
  int64_t length;
  at::Tensor query;      ///< [B, Hq, last - first, dk]
  at::Tensor key, value; ///< [B, Hkv, capacity, d]
  /// The window's keys and values of joined streams, whose `key` and `value`
  /// are the tokens that are compressed. Undefined: there is one stream.
  at::Tensor windowKey, windowValue;
  at::Tensor sink; ///< [Hq]; undefined: none.
  /// Inputs of a learned indexer: [B, lists * heads, last - first, width],
  /// [B, capacity, width] and [B, lists * heads, last - first].
  at::Tensor indexQuery, indexKey, indexWeights;
  /// Returns the scores of the softmax from products of queries and keys,
  /// [B, Hq, last - first, last]; null: the products.
  std::function<at::Tensor(const at::Tensor &)> scoresOf = {};

  /// Returns the outputs, [B, Hq, last - first, dv].
  at::Tensor attend() const;
  /// Returns the scores of blocks for each list, [B, lists, queries, blocks].
  at::Tensor scores() const;
  /// Returns the selected blocks, int64 [B, lists, queries, top], ascending,
  /// then -1.
  at::Tensor indices() const;

private:
  at::Tensor pooledScores() const;
  at::Tensor indexerScores() const;
  at::Tensor compressedScores() const;
  /// Returns the attention to the compressed keys and the window of joined
  /// streams, in one softmax.
  at::Tensor attendJoined() const;
  /// bool [B, Hq, queries, last]
  at::Tensor visible() const;
  int64_t lists() const;
};

} // namespace tessera::models
