// models/Forward.h - inputs and results of a model's forward pass.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Statistics.h"

#include <ATen/core/Tensor.h>
#include <cstdint>
#include <vector>

namespace tessera::models {

struct ForwardOptions {
  int without = -1;         ///< NSA branch to zero: 0 cmp, 1 sel, 2 win.
  bool wantIndices = false; ///< Keep the selected blocks of NSA layers.
  /// Receives the gates and selected blocks of every NSA layer; null: not
  /// collected.
  Statistics *statistics = nullptr;
  /// cu_seqlens over the flattened tokens: the sequences that the rows contain,
  /// none longer than a row. Empty: each row is a sequence.
  std::vector<int32_t> starts = {};
  /// int64 [B, S], -100 for tokens without a target. If fusesLoss(config()),
  /// the result has losses instead of logits (models/Loss.h accepts both).
  at::Tensor targets = {};
  /// Scalar by which the caller multiplies the model's loss before the backward
  /// pass. It also scales the losses of inner layers. Undefined: 1.
  at::Tensor lossFactor = {};
  /// Values of the sequences, int32 [values, sequences]: a row per name of
  /// ModelConfig::sequenceValues. Undefined: the model does not use any.
  at::Tensor perSequence = {};
};

struct ForwardResult {
  at::Tensor logits;               ///< [B, S, vocabulary]
  at::Tensor losses;               ///< fp32 [B * S], or undefined.
  std::vector<at::Tensor> indices; ///< Blocks per NSA layer, [Hkv, T, n].
};

} // namespace tessera::models
