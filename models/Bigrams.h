// models/Bigrams.h - rows of the table of hashed token pairs
// (model.bigram_embeddings).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Kernels.h"

namespace tessera::models {

/// Stands for the token before the first one of a sequence.
constexpr int64_t noToken = -1;

/// Returns the token before each of `tokens`, int64 [B, S], in its sequence;
/// noToken for the first.
at::Tensor previousTokens(const at::Tensor &tokens, const Packing &packing);

/// Returns the row of each pair in a table of `rows` rows, int64 of the shape
/// of both: (36313 (previous + 1) xor 27191 token) mod rows.
at::Tensor bigramRows(const at::Tensor &previous, const at::Tensor &tokens,
                      int64_t rows);

} // namespace tessera::models
