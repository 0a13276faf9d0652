// ops/attention/PatternCall.h - one call of tessera::attention, and the steps
// of the op.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/pattern/Selection.h"

#include <ATen/core/Tensor.h>
#include <optional>
#include <string>
#include <utility>

namespace tessera::runtime {

// The arguments of the op (ops/Schemas.cpp).
struct PatternCall {
  static constexpr const char *opName = "attention";

  const at::Tensor &q, &k, &v, &cuSeqlens;
  c10::SymInt maxSeqlen;
  std::string file, parameters;
  std::optional<at::Tensor> learned;     // [names, Hq]
  std::optional<at::Tensor> perSequence; // int32 [names, sequences]
  std::optional<at::Tensor> indexQ, indexK, indexWeights;
  std::optional<at::Tensor> gateLogits; // [T, Hkv, streams]
  std::optional<double> scale;

  // int32 [0, T, 0]
  at::Tensor noIndices() const;
  // fp32 [0]
  at::Tensor noLoss() const;
  // fp32 [Hq], if the pattern has a sink.
  std::optional<at::Tensor> sink() const;
};

// Results of attention, and with a selection the selected blocks.
struct PatternOutput {
  at::Tensor o, lse;
  at::Tensor indices; // int32 [lists, T, top]; noIndices() without a selection
  at::Tensor indexLoss; // fp32 [T]; noLoss() without an indexer
};

// Throws c10::ValueError unless the indexer's arguments are present exactly if
// the pattern has an indexer.
void checkIndexer(const PatternCall &call,
                  const language::Selection &selection);

// Returns the divergence of the indexer's distribution over the selected keys
// from the attention's, fp32 [T]. Only the indexer receives its gradient. `k`
// are the keys of the list's blocks, `indexK` [T, width] the indexer's.
// `tokens`, int32 [lists, T, top], is the token of each block that determined
// the block's score.
at::Tensor indexerLoss(const PatternCall &call, int64_t block,
                       const at::Tensor &k, const at::Tensor &indexK,
                       const at::Tensor &lse, const at::Tensor &indices,
                       const at::Tensor &tokens);

// Runs a pattern with select(...) and one stream.
PatternOutput selectedPattern(const PatternCall &call,
                              const language::Selection &selection);
// Does the same with the kernels derived from the pattern.
PatternOutput derivedLists(const PatternCall &call,
                           const language::Selection &selection);
// Runs a pattern with streams(...).
PatternOutput streamsPattern(const PatternCall &call,
                             const language::Selection &selection);

} // namespace tessera::runtime
