// ops/attention/PatternCall.h - one call of tessera::attention, and the parts
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

// What attention gives, and with a selection what it selected.
struct PatternOutput {
  at::Tensor o, lse;
  at::Tensor indices; // int32 [lists, T, top]; noIndices() without a selection
  at::Tensor indexLoss; // fp32 [T]; noLoss() without an indexer
};

// Throws c10::ValueError unless the arguments of an indexer are there exactly
// if the pattern has one.
void checkIndexer(const PatternCall &call,
                  const language::Selection &selection);

// The divergence of the indexer's distribution over the selected keys from the
// attention's, fp32 [T]. Only the indexer receives its gradient. `k` are the
// keys of the list's blocks, `indexK` [T, width] the indexer's, `tokens` int32
// [lists, T, top] the token of each block that gave the block its score.
at::Tensor indexerLoss(const PatternCall &call, int64_t block,
                       const at::Tensor &k, const at::Tensor &indexK,
                       const at::Tensor &lse, const at::Tensor &indices,
                       const at::Tensor &tokens);

// A pattern with select(...) and one stream.
PatternOutput selectedPattern(const PatternCall &call,
                              const language::Selection &selection);
// The same by the kernels that are derived from the pattern.
PatternOutput derivedLists(const PatternCall &call,
                           const language::Selection &selection);
// A pattern with streams(...).
PatternOutput streamsPattern(const PatternCall &call,
                             const language::Selection &selection);

} // namespace tessera::runtime
