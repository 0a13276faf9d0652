// ops/attention/SelectedAttention.cpp - NSA's selected branch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/attention/Attention.h"
#include "ops/attention/Branches.h"
#include "ops/attention/SelectedKeys.h"
#include "ops/launch/EmptyTensor.h"
#include "runtime/launch/LaunchDevice.h"
#include "support/Options.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

namespace tessera::runtime {
namespace {
namespace selected_attention_op {

using at::Tensor;

struct Selected {
  static constexpr const char *name = "nsa_selected_attention";
  static constexpr const char *backwardName = "nsa_selected_attention_backward";
};

Attention check(const char *op, const Tensor &q, const Tensor &k,
                const Tensor &v, const Tensor &indices, const Tensor &cuSeqlens,
                int64_t maxSeqlen, int64_t selectionLength,
                std::optional<double> scale) {
  const Attention a = checkAttention(op, q, k, v, cuSeqlens, maxSeqlen, scale);
  checkIndices(a, indices, selectionLength);
  return a;
}

// A tile multiplies all its rows by every block that one of its tokens
// selected. Where a sequence has hardly more blocks than one token selects,
// tokens share most of them; else a tile holds few tokens.
constexpr int64_t kSharedBlocksPerSelected = 3, kFewTokens = 4;

int64_t tileRows(int64_t group, int64_t maxSeqlen, int64_t selected,
                 int64_t selectionLength) {
  const bool shared = ceilDiv(maxSeqlen, selectionLength) <=
                      kSharedBlocksPerSelected * selected;
  const int64_t few = nextPowerOfTwo(kFewTokens * group);
  const int64_t most = 32 * nextPowerOfTwo(group); // a bit each in a word
  const int64_t rows =
      std::min(most, shared ? 64 : std::clamp<int64_t>(few, 16, 64));
  return std::max(rows, nextPowerOfTwo(group));
}

// What the kernels of tiles take in place of indices (docs/kernels.md).
Branch branchOf(const Attention &a, const Tensor &indices,
                const BlockLists &lists, int64_t selectionLength) {
  const int64_t selected = indices.size(2);
  Branch branch{{{"LSEL", selectionLength}, {"NSEL", selected}},
                {lists.lists, lists.counts}};
  if (a.group <= kLeastTileRows) // else it is set already
    branch.constants.push_back(
        {"BM", tileRows(a.group, a.maxSeqlen, selected, selectionLength)});
  return branch;
}

// Blocks of l' rows as pack_keys writes them (docs/kernels.md).
struct PackedBlocks {
  Tensor transposed; // [Hkv, tiles, first + tail, keys]
  Tensor rows;       // [Hkv, tiles, keys, nextPowerOfTwo(size)]
  int64_t tiles, keys;
};

constexpr const char *packedForward = "kernels/nsa/select_packed_fwd.py";

// `columns` transposed, in slices as `slices` says, and `rows` row by row; both
// [T, Hkv, size].
PackedBlocks pack(const Attention &a, const Tensor &columns, HeadSlices slices,
                  const Tensor &rows, int64_t selectionLength) {
  PackedBlocks to;
  to.tiles = tileCount(a.tokens, selectionLength, a.sequences);
  to.keys = std::max<int64_t>(16, nextPowerOfTwo(selectionLength)); // of a dot
  const int64_t width = nextPowerOfTwo(rows.size(2));
  to.transposed =
      emptyTensor({a.keyHeads, to.tiles, slices.first + slices.tail, to.keys},
                  columns.options());
  to.rows = emptyTensor({a.keyHeads, to.tiles, to.keys, width}, rows.options());
  Launch launch(packedForward, "pack_keys");
  launch.tensor(columns).tensor(rows).tensor(to.transposed).tensor(to.rows);
  launch.tensor(a.cuSeqlens).integer(a.sequences).integer(to.tiles);
  launch.strides(columns).strides(rows);
  launch.constant("LSEL", selectionLength).constant("LP", to.keys);
  launch.constant("D", columns.size(2)).constant("DP", slices.first);
  launch.constant("DT", slices.tail).padded("E", "EP", rows.size(2));
  launch.sequence(a.maxSeqlen).run(to.tiles, a.keyHeads);
  return to;
}

// One program a token.
void runTokens(Launch &launch, const Attention &a, const PackedBlocks &blocks,
               const Tensor &indices, int64_t selectionLength) {
  launch.padded("G", "GP", a.group).constant("NSEL", indices.size(2));
  launch.constant("LSEL", selectionLength).constant("LP", blocks.keys);
  launch.keyHead(a.keyDim).padded("E", "EP", a.valueDim);
  launch.sequence(a.maxSeqlen);
  launch.run(tileCount(a.tokens, 1, a.sequences), a.keyHeads);
}

std::tuple<Tensor, Tensor> forwardPacked(const Attention &a,
                                         const Tensor &indices,
                                         int64_t selectionLength) {
  const PackedBlocks blocks =
      pack(a, a.k, headSlices(a.keyDim), a.v, selectionLength);
  Tensor o = a.emptyOutput(), lse = a.emptyRows();
  Launch launch(packedForward, "select_packed_fwd");
  launch.tensor(a.q).tensor(blocks.transposed).tensor(blocks.rows);
  launch.tensor(indices).tensor(o).tensor(lse);
  launch.tensor(a.cuSeqlens).real(a.scale).integer(a.tokens);
  launch.integer(a.sequences).integer(blocks.tiles);
  launch.strides(a.q).strides(o).strides(lse);
  runTokens(launch, a, blocks, indices, selectionLength);
  return {o, byHeads(lse)};
}

void dqPacked(const Attention &a, const Tensor &indices,
              int64_t selectionLength, const RowGradient &rows,
              const QueryGradient &to) {
  // The keys' rows stand in the pack of the values' columns.
  const PackedBlocks keys =
      pack(a, a.k, headSlices(a.keyDim), a.v, selectionLength);
  const PackedBlocks values =
      pack(a, a.v, {nextPowerOfTwo(a.valueDim), 0}, a.k, selectionLength);
  Launch launch("kernels/nsa/select_packed_bwd.py", "select_packed_bwd_dq");
  launch.tensor(a.q).tensor(keys.transposed).tensor(values.rows);
  launch.tensor(values.transposed).tensor(indices).tensor(rows.gradO);
  launch.tensor(rows.lse).tensor(rows.delta).tensor(to.dq);
  launch.tensor(a.cuSeqlens);
  launch.real(a.scale).integer(a.tokens).integer(a.sequences);
  launch.integer(keys.tiles).strides(a.q).strides(rows.gradO);
  launch.strides(to.dq).strides(rows.lse).strides(rows.delta);
  launch.constant("KW", values.rows.size(3));
  if (to.add)
    launch.constant("ACCUMULATE", 1);
  runTokens(launch, a, keys, indices, selectionLength);
}

constexpr const char *listedName = "nsa_listed_attention";

// The forward pass by tiles of tokens, whose lists are given.
std::tuple<Tensor, Tensor> listed(const Tensor &q, const Tensor &k,
                                  const Tensor &v, const Tensor &indices,
                                  const Tensor &lists, const Tensor &counts,
                                  const Tensor &cuSeqlens, int64_t maxSeqlen,
                                  int64_t selectionLength,
                                  std::optional<double> scale) {
  const Attention a = check(listedName, q, k, v, indices, cuSeqlens, maxSeqlen,
                            selectionLength, scale);
  checkLists(a, indices, {lists, counts}, selectionLength);
  return launchForward(a,
                       branchOf(a, indices, {lists, counts}, selectionLength),
                       "kernels/nsa/select_list_fwd.py", "select_list_fwd");
}

std::tuple<Tensor, Tensor> makeLists(const Tensor &indices,
                                     const Tensor &cuSeqlens, int64_t maxSeqlen,
                                     int64_t selectionLength, int64_t group) {
  const char *op = "nsa_block_lists";
  checkRank(op, "indices", indices, 3);
  checkInt32(op, "indices", indices);
  checkPositive(op, "selection_length", selectionLength);
  checkPositive(op, "group", group);
  checkSequences(op, cuSeqlens, maxSeqlen, indices.size(1), "indices", indices);
  const BlockLists made =
      blockLists(indices, cuSeqlens, maxSeqlen, selectionLength, group);
  return {made.lists, made.counts};
}

std::tuple<Tensor, Tensor> forward(const Tensor &q, const Tensor &k,
                                   const Tensor &v, const Tensor &indices,
                                   const Tensor &cuSeqlens, int64_t maxSeqlen,
                                   int64_t selectionLength,
                                   std::optional<double> scale) {
  const Attention a = check(Selected::name, q, k, v, indices, cuSeqlens,
                            maxSeqlen, selectionLength, scale);
  if (indices.size(2) == 0) // the branch is off
    return a.noKeys();
  if (readsPackedKeys(q))
    return forwardPacked(a, indices, selectionLength);
  const BlockLists lists =
      blockLists(indices, cuSeqlens, maxSeqlen, selectionLength, a.group);
  return launchForward(a, branchOf(a, indices, lists, selectionLength),
                       "kernels/nsa/select_list_fwd.py", "select_list_fwd");
}

std::tuple<Tensor, Tensor, Tensor>
backward(const Tensor &gradO, const std::optional<Tensor> &gradLse,
         const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &o,
         const Tensor &lse, const Tensor &indices, const Tensor &cuSeqlens,
         int64_t maxSeqlen, int64_t selectionLength,
         std::optional<double> scale) {
  const Attention a = check(Selected::backwardName, q, k, v, indices, cuSeqlens,
                            maxSeqlen, selectionLength, scale);
  if (indices.size(2) == 0 || a.tokens == 0)
    return a.zeroGradients();
  const Tensor dq = emptyTensor(a.q.sizes(), a.q.options());
  auto [dk, dv] =
      selectedGradients(a, indices, {}, selectionLength,
                        rowGradient(a, gradO, gradLse, o, lse), {dq});
  return {dq, dk, dv};
}

std::tuple<Tensor, Tensor> meta(const Tensor &q, const Tensor &k,
                                const Tensor &v, const Tensor &, const Tensor &,
                                c10::SymInt, int64_t, std::optional<double>) {
  return metaForward(Selected::name, q, k, v);
}

std::tuple<Tensor, Tensor, Tensor>
metaBack(const Tensor &, const std::optional<Tensor> &, const Tensor &q,
         const Tensor &k, const Tensor &v, const Tensor &, const Tensor &,
         const Tensor &, const Tensor &, c10::SymInt, int64_t,
         std::optional<double>) {
  return metaBackward(q, k, v);
}

std::tuple<Tensor, Tensor> metaListed(const Tensor &q, const Tensor &k,
                                      const Tensor &v, const Tensor &,
                                      const Tensor &, const Tensor &,
                                      const Tensor &, c10::SymInt, int64_t,
                                      std::optional<double>) {
  return metaForward(listedName, q, k, v);
}

std::tuple<Tensor, Tensor> metaLists(const Tensor &indices,
                                     const Tensor &cuSeqlens,
                                     c10::SymInt maxSeqlen,
                                     int64_t selectionLength, int64_t group) {
  const int64_t selected = indices.size(2);
  const int64_t tokens =
      tileRows(group, maxSeqlen.guard_int(__FILE__, __LINE__), selected,
               selectionLength) /
      group;
  const c10::SymInt tiles =
      indices.sym_size(1) / tokens + (cuSeqlens.sym_size(0) - 1);
  return {at::empty_symint({indices.sym_size(0), tiles, tokens * selected},
                           indices.options().dtype(at::kLong)),
          at::empty_symint({indices.sym_size(0), tiles}, indices.options())};
}

using Function = AttentionFunction<Selected, const Tensor &, const Tensor &,
                                   c10::SymInt, int64_t, std::optional<double>>;

void implement(torch::Library &m) {
  m.impl(Selected::name, forward);
  m.impl(Selected::backwardName, backward);
  m.impl(listedName, listed);
  m.impl("nsa_block_lists", makeLists);
}

TORCH_LIBRARY_IMPL(tessera, CPU, m) { implement(m); }

TORCH_LIBRARY_IMPL(tessera, CUDA, m) { implement(m); }

TORCH_LIBRARY_IMPL(tessera, Meta, m) {
  m.impl(Selected::name, meta);
  m.impl(Selected::backwardName, metaBack);
  m.impl(listedName, metaListed);
  m.impl("nsa_block_lists", metaLists);
}

TORCH_LIBRARY_IMPL(tessera, Autograd, m) {
  m.impl(Selected::name, Function::call);
}

} // namespace selected_attention_op
} // namespace

void checkIndices(const Attention &a, const at::Tensor &indices,
                  int64_t selectionLength) {
  checkPositive(a.op, "selection_length", selectionLength);
  checkInt32(a.op, "indices", indices);
  checkRank(a.op, "indices", indices, 3);
  checkShape(a.op, "indices", indices, {a.keyHeads, a.tokens, indices.size(2)},
             "[key heads, tokens, selected], as nsa_select gives them");
  checkSameDevice(a.op, "indices", indices, "q", a.q);
}

// On a CPU a dot of the few rows of one token reads its operands about as fast
// as it multiplies, if they lie in the order in which it reads them. Packing
// costs one pass over keys and values; every block is read by many tokens.
bool readsPackedKeys(const at::Tensor &q) { return takesCpuKernels(q); }

void checkLists(const Attention &a, const at::Tensor &indices,
                const BlockLists &lists, int64_t selectionLength) {
  using namespace selected_attention_op;
  const int64_t selected = indices.size(2);
  const int64_t tokens =
      tileRows(a.group, a.maxSeqlen, selected, selectionLength) / a.group;
  const int64_t tiles = tileCount(a.tokens, tokens, a.sequences);
  TESSERA_CHECK(
      lists.lists.scalar_type() == at::kLong && lists.lists.is_contiguous(),
      a.op, "lists is ", lists.lists.scalar_type(), " with strides ",
      lists.lists.strides(), "; pass what tessera::nsa_block_lists gives");
  checkShape(a.op, "lists", lists.lists, {a.keyHeads, tiles, tokens * selected},
             "[key heads, tiles, tokens of a tile * selected], as "
             "tessera::nsa_block_lists gives it");
  checkInt32(a.op, "counts", lists.counts);
  checkShape(a.op, "counts", lists.counts, {a.keyHeads, tiles},
             "[key heads, tiles], as tessera::nsa_block_lists gives it");
  checkSameDevice(a.op, "lists", lists.lists, "q", a.q);
  checkSameDevice(a.op, "counts", lists.counts, "q", a.q);
}

BlockLists blockLists(const at::Tensor &indices, const at::Tensor &cuSeqlens,
                      int64_t maxSeqlen, int64_t selectionLength,
                      int64_t group) {
  using namespace selected_attention_op;
  const int64_t selected = indices.size(2), heads = indices.size(0);
  const int64_t tokens =
      tileRows(group, maxSeqlen, selected, selectionLength) / group;
  const int64_t sequences = cuSeqlens.numel() - 1;
  const int64_t tiles = tileCount(indices.size(1), tokens, sequences);
  BlockLists made{at::empty({heads, tiles, tokens * selected},
                            indices.options().dtype(at::kLong)),
                  at::empty({heads, tiles}, indices.options())};
  Launch launch("kernels/nsa/select_lists.py", "select_lists");
  launch.tensor(indices).tensor(made.lists).tensor(made.counts);
  launch.tensor(cuSeqlens).integer(indices.size(1)).integer(sequences);
  launch.constant("LSEL", selectionLength).padded("NSEL", "NP", selected);
  launch.padded("BT", "BTP", tokens).sequence(maxSeqlen);
  launch.run(tiles, heads);
  return made;
}

std::tuple<at::Tensor, at::Tensor>
selectedGradients(const Attention &a, const at::Tensor &indices,
                  BlockLists lists, int64_t selectionLength,
                  const RowGradient &rows, const QueryGradient &to,
                  const CompressedParts *parts) {
  using namespace selected_attention_op;
  const bool packed = readsPackedKeys(a.q);
  if (packed) {
    dqPacked(a, indices, selectionLength, rows, to);
  } else {
    if (!lists.lists.defined())
      lists = blockLists(indices, a.cuSeqlens, a.maxSeqlen, selectionLength,
                         a.group);
    launchDq(a, branchOf(a, indices, lists, selectionLength), rows, to,
             "kernels/nsa/select_list_bwd_dq.py", "select_list_bwd_dq");
  }
  return selectedDkDv(a, indices, selectionLength, rows, packed, parts);
}

} // namespace tessera::runtime
