// models/NsaMasks.h - masks of the keys that a query attends to, for plain
// torch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/ModelConfig.h"

#include <ATen/core/Tensor.h>

namespace tessera::models {

/// All functions apply to queries first .. last-1 of one sequence.

/// bool [queries, count]: compressed key i is complete for the query.
at::Tensor compressedVisible(const NsaGeometry &g, int64_t first, int64_t last,
                             int64_t count);

/// fp32 [count, blocks]: Eq. 9 as overlaps in units of the stride.
at::Tensor scoreWeights(const NsaGeometry &g, int64_t count, int64_t blocks);

/// scores [.., queries, blocks] -> int64 [.., queries, n], the blocks kept in
/// ascending order, -1 padded (nsa.md REQ-11: forced blocks, then by score, the
/// lower index first among equals).
at::Tensor selectBlocks(const at::Tensor &scores, const NsaGeometry &g,
                        int64_t first, int64_t last);

/// indices from selectBlocks -> bool [.., queries, keys], causal.
at::Tensor selectedVisible(const at::Tensor &indices, const NsaGeometry &g,
                           int64_t first, int64_t last);

/// bool [queries, keys] for keys firstKey .. last-1.
at::Tensor windowVisible(int64_t window, int64_t first, int64_t last,
                         int64_t firstKey);

/// Returns 0 where visible and -inf elsewhere, the form of attention's additive
/// masks.
at::Tensor additiveMask(const at::Tensor &visible);

} // namespace tessera::models
