// models/NsaMasks.h - masks of the keys that a query attends to, for plain
// torch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ModelConfig.h"

#include <ATen/core/Tensor.h>

namespace tessera::models {

// All functions apply to queries first .. last-1 of one sequence.

/// Returns bool [queries, count]: true if compressed key i contains no token
/// after the query.
at::Tensor compressedVisible(const NsaGeometry &g, int64_t first, int64_t last,
                             int64_t count);

/// Returns fp32 [count, blocks]: the weights of compressed scores in block
/// scores (NSA, equation 9), as overlaps in units of the stride.
at::Tensor scoreWeights(const NsaGeometry &g, int64_t count, int64_t blocks);

/// Maps scores [.., queries, blocks] to the selected blocks int64 [.., queries,
/// n], ascending, then -1. Forced blocks come first, then the highest scores;
/// equal scores prefer the lower index (nsa.md REQ-11).
at::Tensor selectBlocks(const at::Tensor &scores, const NsaGeometry &g,
                        int64_t first, int64_t last);

/// Maps the indices of selectBlocks() to a causal mask, bool [.., queries,
/// keys].
at::Tensor selectedVisible(const at::Tensor &indices, const NsaGeometry &g,
                           int64_t first, int64_t last);

/// Returns the mask of the sliding window, bool [queries, keys], for keys
/// firstKey .. last-1.
at::Tensor windowVisible(int64_t window, int64_t first, int64_t last,
                         int64_t firstKey);

/// Returns the additive mask: 0 where `visible`, -inf elsewhere.
at::Tensor additiveMask(const at::Tensor &visible);

} // namespace tessera::models
