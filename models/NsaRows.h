// models/NsaRows.h - the branches of NSA for a block of queries, in plain
// torch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ModelConfig.h"

#include <ATen/core/Tensor.h>
#include <utility>

namespace tessera::models {

/// Expands keys [B, Hkv, S, D] to [B * Hkv, group, S, D] without a copy, since
/// the query heads of a group share a key head. groupHeads() gives queries this
/// shape.
at::Tensor shareKeys(const at::Tensor &x, int64_t group);
at::Tensor groupHeads(const at::Tensor &q, int64_t kvHeads);

/// Returns attention over the keys that `mask` (0 or -inf) leaves visible.
at::Tensor maskedAttention(const at::Tensor &q, const at::Tensor &k,
                           const at::Tensor &v, const at::Tensor &mask);

/// Compresses blocks by a mean (`filter` undefined) or a per-channel
/// convolution: [B, H, S, D] -> [B, H, N, D].
at::Tensor compress(const at::Tensor &x, const at::Tensor &filter,
                    const NsaGeometry &g);

/// Returns the gates of logits [.., 3]; the gate of branch `without` is zero.
at::Tensor gateValues(const at::Tensor &logits, const ModelConfig &config,
                      int without);

/// Attention of the queries first .. last-1 of each sequence to keys 0 ..
/// last-1. q is [B * Hkv, group, last - first, D]; keys and values have the
/// shape of shareKeys() and can be longer.
struct NsaRows {
  const NsaGeometry &g;
  int64_t first, last, group;

  /// Returns the output of the compressed branch and the block indices
  /// [B * Hkv, queries, n]; the indices are undefined if n is 0.
  std::pair<at::Tensor, at::Tensor> compressed(const at::Tensor &q,
                                               const at::Tensor &k,
                                               const at::Tensor &v) const;
  /// Returns the output of the compressed branch and the block scores
  /// [B * Hkv, queries, blocks] (nsa.md REQ-9).
  std::pair<at::Tensor, at::Tensor>
  compressedAndScores(const at::Tensor &q, const at::Tensor &k,
                      const at::Tensor &v) const;
  at::Tensor selected(const at::Tensor &q, const at::Tensor &k,
                      const at::Tensor &v, const at::Tensor &indices) const;
  at::Tensor windowed(const at::Tensor &q, const at::Tensor &k,
                      const at::Tensor &v) const;
};

} // namespace tessera::models
