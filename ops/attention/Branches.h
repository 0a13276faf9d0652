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

// The kernels of selected attention that are derived from a pattern: NAME_list,
// NAME_list_bwd_dq and NAME_list_bwd_dkdv of its file.
struct ListKernels {
  std::string file, name;
  std::string constants; // "cap=30.0"
  // Rows, fp32 [T, Hq]: the numbers that `modify` reads, their gradients, which
  // dq's kernel writes, and the sink. Undefined: none.
  at::Tensor learned, learnedGradient, sink;
};

// The blocks that each query attends to.
struct Selection {
  at::Tensor indices; // int32 [lists, T, n]
  int64_t length;     // tokens of a block
  int64_t hidden = 0; // the last keys up to the query that do not count
  // Lists of each key/value head. With more than one the passes take an
  // Attention with a key head for each list (perList()), whose k and v have
  // their true heads.
  int64_t share = 1;
  // Type of dk and dv; by default that of k.
  std::optional<at::ScalarType> gradients = {};
  // With superBlocks(): tokens of a small block, and the bits of those that
  // each super-block of `indices` contains, int32 of the same shape.
  int64_t sub = 0;
  at::Tensor bits = {};
  // Whether programs visit blocks instead of tokens (BlockPasses.h).
  bool byBlocks = false;
  // Launched instead of the kernels in kernels/nsa, unless it is null.
  const ListKernels *kernels = nullptr;
};

// The constants of the kernels for `of`; none for the default rule.
Constants keyRule(const Selection &of);

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

// Tokens of a tile of those lists.
int64_t listTokens(int64_t group, int64_t maxSeqlen, int64_t selected,
                   int64_t selectionLength);

// Whether the selected branch of these queries reads packed keys in place of
// lists: on a CPU.
bool readsPackedKeys(const at::Tensor &q);

// Each takes checked inputs, writes or adds dq, and returns (dk, dv), in type
// `gradients` if it is given. `stream`: a sequence may have any number of rows
// in a.k, not only as many as compression makes. The compressed ones are for
// addParts or addBoth where there are several parts.
CompressedParts compressedGradients(const Attention &a, const at::Tensor &cuCmp,
                                    int64_t length, int64_t stride,
                                    const RowGradient &rows,
                                    const QueryGradient &to,
                                    bool stream = false);
// Programs of each tile of keys of the compressed branch, each with a part of
// the tokens.
int64_t compressedPartCount(const Attention &a);
// The same in one launch (OrderedBackward.h). Adds dq / scale to `sum`, fp32
// [T, Hq, D].
CompressedParts orderedCompressedGradients(const Attention &a,
                                           const at::Tensor &cuCmp,
                                           int64_t length, int64_t stride,
                                           const RowGradient &rows,
                                           const at::Tensor &sum);
// There is a token and a selected block. Both make the lists themselves where
// they are needed and undefined; with lists the forward pass reads them on
// every device. The second adds up `parts`, too, which may be null.
void selectedForward(const Attention &a, const Selection &of, BlockLists lists,
                     const Output &to);
std::tuple<at::Tensor, at::Tensor>
selectedGradients(const Attention &a, const Selection &of, BlockLists lists,
                  const RowGradient &rows, const QueryGradient &to,
                  const CompressedParts *parts = nullptr);
// window > 0
std::tuple<at::Tensor, at::Tensor>
windowGradients(const Attention &a, int64_t window, const RowGradient &rows,
                const QueryGradient &to,
                std::optional<at::ScalarType> gradients = {});
// The same in one launch (OrderedBackward.h). Stores dq / scale in `sum`, fp32
// [T, Hq, D].
std::tuple<at::Tensor, at::Tensor>
orderedWindowGradients(const Attention &a, int64_t window,
                       const RowGradient &rows, const at::Tensor &sum);

} // namespace tessera::runtime
