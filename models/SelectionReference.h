// models/SelectionReference.h - attention to selected keys in plain torch, by
// masks over all keys, for comparisons.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/launch/PatternFile.h"

#include <ATen/core/Tensor.h>
#include <functional>

namespace tessera::models {

/// Inputs for one sequence of n tokens. Keys and values contain the heads of
/// stream 0, then those of stream 1.
struct SelectionInputs {
  at::Tensor query;      ///< [n, Hq, dk]
  at::Tensor key, value; ///< [n, streams * Hkv, d]
  at::Tensor sink;       ///< [1, Hq]; undefined: none.
  at::Tensor gates;      ///< [n, Hkv, streams], logits; undefined: none.
  /// Returns the scores of the softmax from products of queries and keys,
  /// [Hq, n, n], with a gradient; -inf for a hidden key; null: the products.
  std::function<at::Tensor(const at::Tensor &)> scoresOf = {};
};

/// Returns the output [n, Hq, dv] in the type of the inputs. `indices` are the
/// selected blocks, int [lists, n, top], -1: none; undefined without a scorer.
at::Tensor attendBySelection(const SelectionInputs &in,
                             const runtime::PatternSelection &selection,
                             const at::Tensor &indices);

} // namespace tessera::models
