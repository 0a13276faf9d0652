// ops/Attention.h - attention of a pattern, for C++ programs that use LibTorch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace tessera {

/// Inputs of a pattern in addition to queries, keys and values.
struct AttentionOptions {
  std::string parameters;                ///< "window=32, first=4"
  std::optional<at::Tensor> learned;     ///< [learned numbers, query heads]
  std::optional<at::Tensor> perSequence; ///< int32 [values, sequences]
  /// For a pattern with an indexer: [T, lists, heads, dim], [T, dim] and [T,
  /// lists, heads].
  std::optional<at::Tensor> indexQ, indexK, indexWeights;
  /// For a pattern with gated streams: [T, key heads, streams].
  std::optional<at::Tensor> gateLogits;
  std::optional<double> scale; ///< Of the scores; 1 / sqrt(D) by default.
};

struct AttentionResult {
  at::Tensor o; ///< [T, query heads, E]
  /// fp32 [query heads, T], natural logarithm; [0] if streams have gates.
  at::Tensor lse;
  at::Tensor indices;   ///< int32 [lists, T, top]; [0, T, 0] without select.
  at::Tensor indexLoss; ///< fp32 [T]; [0] without an indexer.
};

/// Returns the attention of the pattern whose file is `pattern`
/// (docs/patterns.md) on packed sequences: q [T, query heads, D], k and v [T,
/// key heads, D or E], with the heads of each stream one after another.
/// Sequence b is rows cuSeqlens[b] to cuSeqlens[b + 1] - 1, int32, and
/// `maxSeqlen` bounds their lengths. The result has gradients if the inputs
/// require them. Throws c10::Error for an invalid argument, and if
/// libtessera_torch.so is not loaded.
inline AttentionResult attention(const at::Tensor &q, const at::Tensor &k,
                                 const at::Tensor &v,
                                 const at::Tensor &cuSeqlens, int64_t maxSeqlen,
                                 const std::string &pattern,
                                 const AttentionOptions &options = {}) {
  using Maybe = const std::optional<at::Tensor> &;
  using Op = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>(
      const at::Tensor &, const at::Tensor &, const at::Tensor &,
      const at::Tensor &, c10::SymInt, c10::string_view, c10::string_view,
      Maybe, Maybe, Maybe, Maybe, Maybe, Maybe, std::optional<double>);
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("tessera::attention", "")
                             .typed<Op>();
  auto [o, lse, indices, indexLoss] = op.call(
      q, k, v, cuSeqlens, maxSeqlen, pattern, options.parameters,
      options.learned, options.perSequence, options.indexQ, options.indexK,
      options.indexWeights, options.gateLogits, options.scale);
  return {o, lse, indices, indexLoss};
}

} // namespace tessera
