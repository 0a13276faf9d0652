// ops/attention/SelectedKeys.h - gradients of the keys and values of NSA's
// selected branch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/attention/BranchSums.h"

namespace tessera::runtime {

// How many tokens of a block's list one program takes: half of the mean n * l'
// of a list, down to a power of two, and at least 64. There is less than one
// chunk of that many tokens for each block and half of its mean, so that no
// chunk is longer than 1.5 times their mean, whatever the indices are.
int64_t chunkTokens(int64_t selected, int64_t selectionLength);

// dk and dv of a.k and a.v. indices: int32 [Hkv, T, n]. `whole`: a block's list
// is never cut, which takes no scratch memory; else this takes fp32 [Hkv, T * n
// / chunk + blocks, l', D + E] where a list can have more than a chunk: T * (n
// * l' / chunk + 1) * (D + E) numbers for each key head, and as much for a
// block of l' once more for each sequence. Where `parts` has several its sums
// are made, too, in the launch that adds up chunks.
std::tuple<at::Tensor, at::Tensor>
selectedDkDv(const Attention &a, const at::Tensor &indices,
             int64_t selectionLength, const RowGradient &rows, bool whole,
             const CompressedParts *parts = nullptr);

} // namespace tessera::runtime
