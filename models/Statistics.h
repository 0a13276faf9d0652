// models/Statistics.h - statistics of NSA's gates and selections, for logs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ModelConfig.h"

#include <ATen/core/Tensor.h>
#include <string>
#include <utility>
#include <vector>

namespace tessera::models {

/// Collects the gates and the selected blocks of all layers in forward passes.
/// A gate's share is the gate divided by the sum of the three gates.
class Statistics {
public:
  /// Adds the gates and selections of one layer. `logits` [.., 3] are before
  /// softmax or sigmoid; `indices` are int32 [Hkv, T, n], -1 padded, or
  /// undefined. Does not synchronize with the device.
  void add(const at::Tensor &logits, const at::Tensor &indices,
           const ModelConfig &config);

  /// Adds the loss of a layer's learned indexer, one number in nats.
  void addIndexLoss(const at::Tensor &loss);

  /// Returns the input of values(), fp64 [n] on the device; undefined if
  /// nothing was added.
  at::Tensor sums() const;
  /// Returns names and values from sums() on the host; empty if nothing was
  /// added. Gates: gate_entropy_mean and _min (nats, at most ln 3),
  /// gate_max_gate (the largest share), gate_collapse_frac (gates with a share
  /// above 0.9), gate_share_cmp, _sel and _win, each also with _min and _max.
  /// Selections: sel_blocks_mean, _min and _max, sel_rows (queries of a key
  /// head), sel_pct_at_max (queries with the maximum number of blocks).
  /// Indexers: index_loss, the mean loss.
  std::vector<std::pair<std::string, double>>
  values(const at::Tensor &sums) const;

private:
  std::vector<at::Tensor> gates;       ///< fp64 [14] of each pass and layer.
  std::vector<at::Tensor> selections;  ///< fp64 [5].
  std::vector<at::Tensor> indexLosses; ///< fp64 [1].
};

} // namespace tessera::models
