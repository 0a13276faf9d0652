// trainer/data/Batches.h - builds the input tensors of the model from windows
// of a corpus, for training and evaluation.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer/data/TokenSource.h"

#include <ATen/core/Tensor.h>

namespace tessera::trainer {

/// B sequences of S tokens as tensors, for one forward and backward pass.
struct Batch {
  at::Tensor inputs; ///< int64 [B, S]
  /// The token after each input, int64 [B, S]; noTarget if it is unknown.
  at::Tensor targets;
  /// cu_seqlens of the sequences in the rows; empty: each row is a sequence.
  std::vector<int32_t> starts = {};
  /// Targets that are not noTarget; counted by toBatch().
  int64_t targetCount = 0;
  /// Values of the sequences, int32 [values, sequences]; undefined without any.
  at::Tensor perSequence = {};
};

/// Returns valuesOfPrompt() for `sequences` texts with prompts of `prompt`
/// tokens, as ForwardOptions::perSequence expects it, int32 [values,
/// sequences]; undefined if `sources` is empty.
at::Tensor promptValues(const std::vector<SequenceSource> &sources,
                        int64_t sequences, int64_t prompt,
                        at::Device device = at::kCPU);

/// Converts rows of `length` tokens to tensors. Copies inputs and targets to
/// the device in one transfer.
Batch toBatch(const TokenBatch &tokens, int64_t length,
              at::Device device = at::kCPU);

/// Returns the batch_size / processes windows from number `first` on, with the
/// sizes of the step after `steps` steps. Window i depends only on (seed, i).
Batch trainingBatch(const Corpus &corpus, const Config &config, int64_t first,
                    at::Device device = at::kCPU, int64_t steps = 0);

/// Returns the number of non-overlapping windows, or of packed rows, of the
/// held-out tokens.
int64_t heldOutWindows(const Corpus &corpus, const Config &config);

/// Returns windows first .. first+count-1 of `total` windows that are spread
/// evenly over the held-out tokens.
Batch heldOutBatch(const Corpus &corpus, const Config &config, int64_t first,
                   int64_t count, int64_t total, at::Device device = at::kCPU);

} // namespace tessera::trainer
