// models/NsaRows.h - the branches of NSA for a block of queries, in plain
// torch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ModelConfig.h"

#include <ATen/core/Tensor.h>
#include <utility>

namespace tessera::models {

/// Keys are shared by the query heads of a group: [B, Hkv, S, D] becomes
/// [B * Hkv, group, S, D] without a copy, and queries the same.
at::Tensor shareKeys(const at::Tensor &x, int64_t group);
at::Tensor groupHeads(const at::Tensor &q, int64_t kvHeads);

/// Returns attention over the keys that `mask` (0 or -inf) leaves visible.
at::Tensor maskedAttention(const at::Tensor &q, const at::Tensor &k,
                           const at::Tensor &v, const at::Tensor &mask);

/// Mean or per-channel convolution over blocks: [B, H, S, D] -> [B, H, N, D].
at::Tensor compress(const at::Tensor &x, const at::Tensor &filter,
                    const NsaGeometry &g);

/// Returns the gates of logits [.., 3]; the gate of branch `without` is zero.
at::Tensor gateValues(const at::Tensor &logits, const ModelConfig &config,
                      int without);

/// Queries first .. last-1 of sequences over their keys 0 .. last-1. q is
/// [B * Hkv, group, last - first, D]; keys and values are as shareKeys() makes
/// them, and may be longer.
struct NsaRows {
  const NsaGeometry &g;
  int64_t first, last, group;

  /// Output and block indices [B * Hkv, queries, n] of the compressed branch;
  /// no indices where nothing is selected.
  std::pair<at::Tensor, at::Tensor> compressed(const at::Tensor &q,
                                               const at::Tensor &k,
                                               const at::Tensor &v) const;
  /// Output and block scores [B * Hkv, queries, blocks] (nsa.md REQ-9).
  std::pair<at::Tensor, at::Tensor>
  compressedAndScores(const at::Tensor &q, const at::Tensor &k,
                      const at::Tensor &v) const;
  at::Tensor selected(const at::Tensor &q, const at::Tensor &k,
                      const at::Tensor &v, const at::Tensor &indices) const;
  at::Tensor windowed(const at::Tensor &q, const at::Tensor &k,
                      const at::Tensor &v) const;
};

} // namespace tessera::models
