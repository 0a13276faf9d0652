// reference/Selection.h - block scores (Eqs. 9 and 10), top-n selection and
// ranges.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/Attention.h"

namespace tessera::reference {

// p_grp [Hkv, T, blocks]: probabilities of the compressed attention, mapped to
// selection blocks and summed over the heads of a group. kc is the compressed
// key tensor, lse [Hq, T] that of the compressed attention.
void blockScores(Tensor q, Tensor kc, Tensor lse, const Geometry &geometry,
                 const Offsets &cuSeqlens, double scale, Tensor scores);

// Blocks of the query at position t of its sequence, ascending. score(j) is
// read for candidates only; NaN ranks last, equal scores prefer the lower
// block.
std::vector<int32_t> selectBlocks(const Geometry &geometry, int64_t t,
                                  const std::function<double(int64_t)> &score);

// selectBlocks for all rows: scores [Hkv, T, blocks] -> indices [Hkv, T, n].
void select(const Geometry &geometry, const Offsets &cuSeqlens, Tensor scores,
            IndexTensor indices);

// Merged token ranges of ascending blocks, clamped to t + 1. Duplicate blocks
// count once, negative ones and those behind t are dropped.
Ranges blockRanges(const Geometry &geometry, int64_t t,
                   const std::vector<int32_t> &blocks);

// blockRanges for all rows, relative to each sequence: indices [Hkv, T, n] ->
// ranges [Hkv, T, n, 2], unused slots 0, 0.
void selectedRanges(const Geometry &geometry, const Offsets &cuSeqlens,
                    IndexTensor indices, IndexTensor ranges);

} // namespace tessera::reference
