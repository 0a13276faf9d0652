// ops/attention/Branches.h - the backward passes of NSA's three branches; used
// by the ops of single branches and by the op that sums all.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/attention/Attention.h"
#include "ops/attention/BranchSums.h"

namespace tessera::runtime {

// Sizes of compression and selection, in tokens: a compressed block, the stride
// between two of them, a selection block. In blocks: selected ones, and how
// many of these are forced at the start and at the query.
struct SelectionSizes {
  int64_t length, stride, selectionLength, selected, initialBlocks, localBlocks;
};

// Validates the sizes (docs/nsa.md). Throws c10::ValueError.
void checkSelection(const char *op, const SelectionSizes &sizes,
                    bool generalOverlap);

// The blocks that each tile of tokens selected (docs/kernel-reference.md). Both
// tensors are undefined if the kernels of the selected branch do not need them.
struct BlockLists {
  at::Tensor lists;  // int64 [Hkv, tiles, tokens of a tile * n]
  at::Tensor counts; // int32 [Hkv, tiles]
};

// Kernels of selected attention derived from a pattern: NAME_list,
// NAME_list_bwd_dq and NAME_list_bwd_dkdv of its file.
struct ListKernels {
  std::string file, name;
  std::string constants; // "cap=30.0"
  // Rows, fp32 [T, Hq]: the numbers that `modify` reads, their gradients
  // (written by dq's kernel), and the sink. Undefined: not used.
  at::Tensor learned, learnedGradient, sink;
};

// The blocks that each query attends to.
struct Selection {
  at::Tensor indices; // int32 [lists, T, n]
  int64_t length;     // tokens of a block
  int64_t hidden = 0; // the last keys up to the query that are masked
  // Lists per key/value head. With more than one, the passes take an Attention
  // with a key head per list (perList()); its k and v have their true heads.
  int64_t share = 1;
  // Type of dk and dv; by default that of k.
  std::optional<at::ScalarType> gradients = {};
  // With superBlocks(): tokens of a small block, and the bits of the small
  // blocks that each super-block of `indices` contains, int32 of the same
  // shape.
  int64_t sub = 0;
  at::Tensor bits = {};
  // True if programs visit blocks instead of tokens (BlockPasses.h).
  bool byBlocks = false;
  // Kernels that replace those in kernels/nsa; null: none.
  const ListKernels *kernels = nullptr;
};

// Returns the kernels' constants for `of`; none for the default rule.
Constants keyRule(const Selection &of);

// Throws c10::ValueError for indices other than int32 [Hkv, T, n].
void checkIndices(const Attention &a, const at::Tensor &indices,
                  int64_t selectionLength);
// Throws c10::ValueError for lists that blockLists() would not create from
// `indices`.
void checkLists(const Attention &a, const at::Tensor &indices,
                const BlockLists &lists, int64_t selectionLength);

// Returns the lists of `indices`, int32 [Hkv, T, n], for `group` query heads
// per key head.
BlockLists blockLists(const at::Tensor &indices, const at::Tensor &cuSeqlens,
                      int64_t maxSeqlen, int64_t selectionLength,
                      int64_t group);

// Returns the number of tokens of a tile of those lists.
int64_t listTokens(int64_t group, int64_t maxSeqlen, int64_t selected,
                   int64_t selectionLength);

// True if the selected branch of these queries reads packed keys instead of
// lists: on a CPU.
bool readsPackedKeys(const at::Tensor &q);

// The following functions take checked inputs, write or add dq, and return (dk,
// dv), in type `gradients` if given. `stream`: a sequence may have any number
// of rows in a.k, instead of the number that compression gives. With several
// parts, addParts or addBoth sums the compressed gradients.
CompressedParts compressedGradients(const Attention &a, const at::Tensor &cuCmp,
                                    int64_t length, int64_t stride,
                                    const RowGradient &rows,
                                    const QueryGradient &to,
                                    bool stream = false);
// Returns the number of programs per tile of keys of the compressed branch;
// each handles a chunk of the tokens.
int64_t compressedPartCount(const Attention &a);
// Computes the same in one launch (OrderedBackward.h). Adds dq / scale to
// `sum`, fp32 [T, Hq, D].
CompressedParts orderedCompressedGradients(const Attention &a,
                                           const at::Tensor &cuCmp,
                                           int64_t length, int64_t stride,
                                           const RowGradient &rows,
                                           const at::Tensor &sum);
// Require at least one token and one selected block. Both create the lists if
// these are needed and undefined; with lists, the forward pass reads them on
// every device. The second also sums `parts`, which may be null.
void selectedForward(const Attention &a, const Selection &of, BlockLists lists,
                     const Output &to);
std::tuple<at::Tensor, at::Tensor>
selectedGradients(const Attention &a, const Selection &of, BlockLists lists,
                  const RowGradient &rows, const QueryGradient &to,
                  const CompressedParts *parts = nullptr);
// Requires window > 0.
std::tuple<at::Tensor, at::Tensor>
windowGradients(const Attention &a, int64_t window, const RowGradient &rows,
                const QueryGradient &to,
                std::optional<at::ScalarType> gradients = {});
// Computes the same in one launch (OrderedBackward.h). Stores dq / scale in
// `sum`, fp32 [T, Hq, D].
std::tuple<at::Tensor, at::Tensor>
orderedWindowGradients(const Attention &a, int64_t window,
                       const RowGradient &rows, const at::Tensor &sum);

} // namespace tessera::runtime
