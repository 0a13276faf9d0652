// models/Statistics.h - what gates and selections of NSA do during training.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ModelConfig.h"

#include <ATen/core/Tensor.h>
#include <string>
#include <utility>
#include <vector>

namespace tessera::models {

/// Gates of forward passes, and the blocks their queries keep, of all layers.
/// A gate's share is its part of the sum of the three.
class Statistics {
public:
  /// logits: [.., 3] before softmax or sigmoid; indices: int32 [Hkv, T, n], -1
  /// padded, or undefined. Nothing waits for a device here.
  void add(const at::Tensor &logits, const at::Tensor &indices,
           const ModelConfig &config);

  /// Adds the loss of a layer's learned indexer, one number in nats.
  void addIndexLoss(const at::Tensor &loss);

  /// What values() takes, fp64 [n] on the device; undefined where nothing was
  /// added.
  at::Tensor sums() const;
  /// Name and value of sums() on the host; nothing where nothing was
  /// added: gate_entropy_mean and _min (nats, ln 3 at most), gate_max_gate (the
  /// largest share), gate_collapse_frac (gates with a share above 0.9),
  /// gate_share_cmp, _sel and _win with _min and _max behind each, and of
  /// selections sel_blocks_mean, _min and _max, sel_rows (queries of a key
  /// head) and sel_pct_at_max (those that keep as many blocks as they may);
  /// index_loss, the mean loss of learned indexers.
  std::vector<std::pair<std::string, double>>
  values(const at::Tensor &sums) const;

private:
  std::vector<at::Tensor> gates;       ///< fp64 [14] of each pass and layer.
  std::vector<at::Tensor> selections;  ///< fp64 [5].
  std::vector<at::Tensor> indexLosses; ///< fp64 [1].
};

} // namespace tessera::models
