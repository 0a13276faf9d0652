// ops/attention/Branches.h - the backward passes of NSA's three branches, for
// their own ops and for the one that sums all.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/attention/Attention.h"
#include "ops/attention/BranchSums.h"

namespace tessera::runtime {

// Compression and selection: tokens of a compressed block and between two of
// them, of a selection block; blocks selected, of them forced at the start and
// at the query.
struct SelectionSizes {
  int64_t length, stride, selectionLength, selected, initialBlocks, localBlocks;
};

// nsa.md's validation. Throws c10::ValueError.
void checkSelection(const char *op, const SelectionSizes &sizes,
                    bool generalOverlap);

// For tiles of tokens, the blocks that they selected (docs/kernels.md); both
// undefined where the kernels of the selected branch do not take them.
struct BlockLists {
  at::Tensor lists;  // int64 [Hkv, tiles, tokens of a tile * n]
  at::Tensor counts; // int32 [Hkv, tiles]
};

// Throws c10::ValueError for indices other than int32 [Hkv, T, n].
void checkIndices(const Attention &a, const at::Tensor &indices,
                  int64_t selectionLength);
// Throws c10::ValueError for lists other than blockLists() makes of `indices`.
void checkLists(const Attention &a, const at::Tensor &indices,
                const BlockLists &lists, int64_t selectionLength);

// Of `indices`, int32 [Hkv, T, n], for `group` query heads a key head.
BlockLists blockLists(const at::Tensor &indices, const at::Tensor &cuSeqlens,
                      int64_t maxSeqlen, int64_t selectionLength,
                      int64_t group);

// Whether the selected branch of these queries reads packed keys in place of
// lists: on a CPU.
bool readsPackedKeys(const at::Tensor &q);

// Each takes checked inputs, writes or adds dq, and returns (dk, dv).
// The compressed ones are for addParts or addBoth where there are several
// parts.
CompressedParts compressedGradients(const Attention &a, const at::Tensor &cuCmp,
                                    int64_t length, int64_t stride,
                                    const RowGradient &rows,
                                    const QueryGradient &to);
// There is a token and a selected block. Makes the lists itself where they are
// needed and undefined. Adds up `parts`, too, which may be null.
std::tuple<at::Tensor, at::Tensor>
selectedGradients(const Attention &a, const at::Tensor &indices,
                  BlockLists lists, int64_t selectionLength,
                  const RowGradient &rows, const QueryGradient &to,
                  const CompressedParts *parts = nullptr);
// window > 0
std::tuple<at::Tensor, at::Tensor> windowGradients(const Attention &a,
                                                   int64_t window,
                                                   const RowGradient &rows,
                                                   const QueryGradient &to);

} // namespace tessera::runtime
