// ops/attention/SelectedBlocks.cpp - the passes over selected blocks, for all
// ops that have such a branch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/BlockPasses.h"
#include "ops/launch/EmptyTensor.h"
#include "runtime/launch/LaunchDevice.h"
#include "support/Options.h"

#include <ATen/ops/empty.h>

namespace tessera::runtime {
namespace {
namespace selected_blocks {

using at::Tensor;

// A tile multiplies all its rows by every block that any of its tokens
// selected. If a sequence has only a few more blocks than one token selects,
// tokens share most blocks, and a tile has kMostRows rows. Otherwise it holds
// four tokens, or two if four have more than kFewRows rows.
constexpr int64_t kSharedBlocksPerSelected = 3, kFewRows = 32, kMostRows = 64;

int64_t tileRows(int64_t group, int64_t maxSeqlen, int64_t selected,
                 int64_t selectionLength) {
  const bool shared = ceilDiv(maxSeqlen, selectionLength) <=
                      kSharedBlocksPerSelected * selected;
  const int64_t few = std::min(nextPowerOfTwo(4 * group),
                               std::max(kFewRows, nextPowerOfTwo(2 * group)));
  const int64_t most = 32 * nextPowerOfTwo(group); // a bit each in a word
  const int64_t rows = std::min(
      most, shared ? kMostRows : std::clamp<int64_t>(few, 16, kMostRows));
  return std::max(rows, nextPowerOfTwo(group));
}

// Returns the arguments of kernels that take lists of tiles instead of indices
// (docs/kernel-reference.md).
Branch branchOf(const Attention &a, const Selection &of,
                const BlockLists &lists) {
  const int64_t selected = of.indices.size(2);
  Branch branch{{{"LSEL", of.length}, {"NSEL", selected}}};
  branch.tensors = {{"LISTS", lists.lists}, {"COUNTS", lists.counts}};
  for (const auto &constant : keyRule(of))
    branch.constants.push_back(constant);
  if (a.group <= kLeastTileRows) // otherwise wholeTokens sets it
    branch.constants.push_back(
        {"BM", tileRows(a.group, a.maxSeqlen, selected, of.length)});
  return branch;
}

// Returns the same for the kernels of a pattern. `backward`: for the dq kernel.
Branch patternBranch(const Attention &a, const Selection &of,
                     const BlockLists &lists, bool backward) {
  const ListKernels &kernels = *of.kernels;
  Branch branch = branchOf(a, of, lists);
  branch.text = kernels.constants;
  if (!kernels.learned.defined())
    return branch;
  branch.rows = {{"LEARNED", kernels.learned}};
  if (backward)
    branch.rows.push_back({"DLEARNED", kernels.learnedGradient});
  if (backward && kernels.sink.defined())
    branch.rows.push_back({"SINK", kernels.sink});
  return branch;
}

// Blocks of l' rows in the format that pack_keys writes
// (docs/kernel-reference.md).
struct PackedBlocks {
  Tensor transposed; // [Hkv, tiles, first + tail, keys]
  Tensor rows;       // [Hkv, tiles, keys, nextPowerOfTwo(size)]
  int64_t tiles, keys;
};

constexpr const char *packedForward = "kernels/nsa/select_packed_fwd.py";

// Packs `columns` transposed, in the slices of `slices`, and `rows` row by row.
// Both are [T, Hkv, size].
PackedBlocks pack(const Attention &a, const Tensor &columns, HeadSlices slices,
                  const Tensor &rows, int64_t selectionLength) {
  const int64_t heads = columns.size(1); // a.keyHeads may count lists
  PackedBlocks to;
  to.tiles = tileCount(a.tokens, selectionLength, a.sequences);
  to.keys = std::max<int64_t>(16, nextPowerOfTwo(selectionLength)); // of a dot
  const int64_t width = nextPowerOfTwo(rows.size(2));
  to.transposed =
      emptyTensor({heads, to.tiles, slices.first + slices.tail, to.keys},
                  columns.options());
  to.rows = emptyTensor({heads, to.tiles, to.keys, width}, rows.options());
  Launch launch(packedForward, "pack_keys");
  launch.rows("k", columns).rows("v", rows).tensor("KP", to.transposed);
  launch.tensor("VP", to.rows).tensor("CU", a.cuSeqlens);
  launch.integer("nseq", a.sequences).integer("tiles", to.tiles);
  launch.constant("LSEL", selectionLength).constant("LP", to.keys);
  launch.constant("D", columns.size(2)).constant("DP", slices.first);
  launch.constant("DT", slices.tail).padded("E", "EP", rows.size(2));
  launch.sequence(a.maxSeqlen).run(to.tiles, heads);
  return to;
}

// Runs one program per token. Adds all arguments except queries, keys and
// results.
void runTokens(Launch &launch, const Attention &a, const PackedBlocks &blocks,
               const Selection &of) {
  launch.tensor("IDX", of.indices).tensor("CU", a.cuSeqlens);
  launch.real("scale", a.scale).integer("T", a.tokens);
  launch.integer("nseq", a.sequences).integer("tiles", blocks.tiles);
  launch.padded("G", "GP", a.group).constant("NSEL", of.indices.size(2));
  launch.constant("LSEL", of.length).constant("LP", blocks.keys);
  for (const auto &[name, value] : keyRule(of))
    launch.constant(name, value);
  launch.keyHead(a.keyDim).padded("E", "EP", a.valueDim);
  launch.sequence(a.maxSeqlen);
  launch.run(tileCount(a.tokens, 1, a.sequences), a.keyHeads);
}

void forwardPacked(const Attention &a, const Selection &of, const Output &to) {
  const PackedBlocks blocks =
      pack(a, a.k, headSlices(a.keyDim), a.v, of.length);
  Launch launch(packedForward, "select_packed_fwd");
  launch.rows("q", a.q).tensor("KP", blocks.transposed);
  launch.tensor("VP", blocks.rows).rows("o", to.o).rows("lse", to.lse);
  runTokens(launch, a, blocks, of);
}

void dqPacked(const Attention &a, const Selection &of, const RowGradient &rows,
              const QueryGradient &to) {
  // The pack of the values' columns also contains the keys' rows.
  const PackedBlocks keys = pack(a, a.k, headSlices(a.keyDim), a.v, of.length);
  const PackedBlocks values =
      pack(a, a.v, {nextPowerOfTwo(a.valueDim), 0}, a.k, of.length);
  Launch launch("kernels/nsa/select_packed_bwd.py", "select_packed_bwd_dq");
  launch.rows("q", a.q).tensor("KT", keys.transposed);
  launch.tensor("KP", values.rows).tensor("VT", values.transposed);
  launch.rows("do", rows.gradO).rows("lse", rows.lse);
  launch.rows("delta", rows.delta).rows("dq", to.dq);
  launch.constant("KW", values.rows.size(3));
  if (to.add)
    launch.constant("ACCUMULATE", 1);
  runTokens(launch, a, keys, of);
}

} // namespace selected_blocks
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

// On a CPU, a dot with the few rows of one token is bound by operand reads
// unless memory has the order in which it reads. Packing costs one pass over
// keys and values; many tokens read every block.
bool readsPackedKeys(const at::Tensor &q) { return takesCpuKernels(q); }

void checkLists(const Attention &a, const at::Tensor &indices,
                const BlockLists &lists, int64_t selectionLength) {
  using namespace selected_blocks;
  const int64_t selected = indices.size(2);
  const int64_t tokens =
      listTokens(a.group, a.maxSeqlen, selected, selectionLength);
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
  using namespace selected_blocks;
  const int64_t selected = indices.size(2), heads = indices.size(0);
  const int64_t tokens =
      listTokens(group, maxSeqlen, selected, selectionLength);
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

void selectedForward(const Attention &a, const Selection &of, BlockLists lists,
                     const Output &to) {
  using namespace selected_blocks;
  if (of.byBlocks)
    return blocksForward(a, of, to);
  if (readsPackedKeys(a.q) && !lists.lists.defined() && !of.kernels)
    return forwardPacked(a, of, to);
  if (!lists.lists.defined())
    lists =
        blockLists(of.indices, a.cuSeqlens, a.maxSeqlen, of.length, a.group);
  if (of.kernels)
    return launchForward(a, patternBranch(a, of, lists, false),
                         of.kernels->file.c_str(),
                         (of.kernels->name + "_list").c_str(), to);
  launchForward(a, branchOf(a, of, lists), "kernels/nsa/select_list_fwd.py",
                "select_list_fwd", to);
}

std::tuple<at::Tensor, at::Tensor>
selectedGradients(const Attention &a, const Selection &of, BlockLists lists,
                  const RowGradient &rows, const QueryGradient &to,
                  const CompressedParts *parts) {
  using namespace selected_blocks;
  const bool packed = readsPackedKeys(a.q);
  if (of.byBlocks) {
    const InverseIndex inverse = invert(a, of, packed);
    blocksDq(a, of, inverse, rows, to);
    return selectedDkDv(a, of, inverse, rows, packed, parts);
  }
  if (packed && !of.kernels) {
    dqPacked(a, of, rows, to);
  } else {
    if (!lists.lists.defined())
      lists =
          blockLists(of.indices, a.cuSeqlens, a.maxSeqlen, of.length, a.group);
    if (of.kernels)
      launchDq(a, patternBranch(a, of, lists, true), rows, to,
               of.kernels->file.c_str(),
               (of.kernels->name + "_list_bwd_dq").c_str());
    else
      launchDq(a, branchOf(a, of, lists), rows, to,
               "kernels/nsa/select_list_bwd_dq.py", "select_list_bwd_dq");
  }
  return selectedDkDv(a, of, invert(a, of, packed), rows, packed, parts);
}

Constants keyRule(const Selection &of) {
  Constants rule;
  if (of.share > 1)
    rule.push_back({"SHARE", of.share});
  if (of.hidden > 0)
    rule.push_back({"HIDDEN", of.hidden});
  if (of.sub > 0)
    rule.push_back({"SUB", of.sub});
  return rule;
}

int64_t listTokens(int64_t group, int64_t maxSeqlen, int64_t selected,
                   int64_t selectionLength) {
  return selected_blocks::tileRows(group, maxSeqlen, selected,
                                   selectionLength) /
         group;
}

} // namespace tessera::runtime
