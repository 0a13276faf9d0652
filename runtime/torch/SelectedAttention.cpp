// runtime/torch/SelectedAttention.cpp - NSA's selected branch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/LaunchDevice.h"
#include "runtime/torch/Attention.h"
#include "runtime/torch/Autograd.h"
#include "runtime/torch/SelectedKeys.h"
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
  checkPositive(op, "selection_length", selectionLength);
  checkInt32(op, "indices", indices);
  checkRank(op, "indices", indices, 3);
  checkShape(op, "indices", indices, {a.keyHeads, a.tokens, indices.size(2)},
             "[key heads, tokens, selected], as nsa_select gives them");
  return a;
}

// A tile multiplies all its rows by every block that one of its tokens
// selected. Where a sequence has hardly more blocks than one token selects,
// tokens share most of them; else a tile holds few tokens.
constexpr int64_t kSharedBlocksPerSelected = 3, kFewTokens = 4;

int64_t tileRows(const Attention &a, int64_t selected,
                 int64_t selectionLength) {
  const bool shared = ceilDiv(a.maxSeqlen, selectionLength) <=
                      kSharedBlocksPerSelected * selected;
  const int64_t few = nextPowerOfTwo(kFewTokens * a.group);
  const int64_t most = 32 * nextPowerOfTwo(a.group); // a bit each in a word
  const int64_t rows =
      std::min(most, shared ? 64 : std::clamp<int64_t>(few, 16, 64));
  return std::max(rows, nextPowerOfTwo(a.group));
}

// What the kernels of tiles take in place of indices (docs/kernels.md). The
// lists are twice as large as the indices and a small part of the work
// (bench/selected.py): the backward pass makes them again.
Branch branchOf(const Attention &a, const Tensor &indices,
                int64_t selectionLength) {
  const int64_t selected = indices.size(2);
  const int64_t rows = tileRows(a, selected, selectionLength);
  const int64_t tokens = rows / a.group;
  const int64_t tiles = tileCount(a.tokens, tokens, a.sequences);
  const Tensor lists = at::empty({a.keyHeads, tiles, tokens * selected},
                                 indices.options().dtype(at::kLong));
  const Tensor counts = at::empty({a.keyHeads, tiles}, indices.options());
  Launch launch("kernels/nsa/select_lists.py", "select_lists");
  launch.tensor(indices).tensor(lists).tensor(counts).tensor(a.cuSeqlens);
  launch.integer(a.tokens).integer(a.sequences);
  launch.constant("LSEL", selectionLength).padded("NSEL", "NP", selected);
  launch.padded("BT", "BTP", tokens).sequence(a.maxSeqlen);
  launch.run(tiles, a.keyHeads);

  Branch branch{{{"LSEL", selectionLength}, {"NSEL", selected}},
                {lists, counts}};
  if (a.group <= kLeastTileRows) // else it is set already
    branch.constants.push_back({"BM", rows});
  return branch;
}

// On a CPU a dot of the few rows of one token reads its operands about as fast
// as it multiplies, if they lie in the order in which it reads them. Packing
// costs one pass over keys and values; every block is read by many tokens.
bool readsPackedKeys(const Attention &a) {
  return a.q.is_cpu() && launchDevice({}).isCpu() &&
         optionText(Option::KernelsOf) != "gpu";
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
      at::empty({a.keyHeads, to.tiles, slices.first + slices.tail, to.keys},
                columns.options());
  to.rows = at::empty({a.keyHeads, to.tiles, to.keys, width}, rows.options());
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

Tensor dqPacked(const Attention &a, const Tensor &indices, const Tensor &gradO,
                const Tensor &lse, const Tensor &delta,
                int64_t selectionLength) {
  // The keys' rows stand in the pack of the values' columns.
  const PackedBlocks keys =
      pack(a, a.k, headSlices(a.keyDim), a.v, selectionLength);
  const PackedBlocks values =
      pack(a, a.v, {nextPowerOfTwo(a.valueDim), 0}, a.k, selectionLength);
  Tensor dq = at::empty(a.q.sizes(), a.q.options());
  Launch launch("kernels/nsa/select_packed_bwd.py", "select_packed_bwd_dq");
  launch.tensor(a.q).tensor(keys.transposed).tensor(values.rows);
  launch.tensor(values.transposed).tensor(indices).tensor(gradO);
  launch.tensor(lse).tensor(delta).tensor(dq).tensor(a.cuSeqlens);
  launch.real(a.scale).integer(a.tokens).integer(a.sequences);
  launch.integer(keys.tiles).strides(a.q).strides(gradO).strides(dq);
  launch.strides(lse).strides(delta);
  launch.constant("KW", values.rows.size(3));
  runTokens(launch, a, keys, indices, selectionLength);
  return dq;
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
  if (readsPackedKeys(a))
    return forwardPacked(a, indices, selectionLength);
  return launchForward(a, branchOf(a, indices, selectionLength),
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
  const Tensor dout = outputGradient(a, gradO);
  const Tensor delta = attentionDelta(a, dout, o, gradLse);
  const Tensor rows = lseRows(a, lse);
  Tensor dq = readsPackedKeys(a)
                  ? dqPacked(a, indices, dout, rows, delta, selectionLength)
                  : launchDq(a, branchOf(a, indices, selectionLength), dout,
                             rows, delta, "kernels/nsa/select_list_bwd_dq.py",
                             "select_list_bwd_dq");

  auto [dk, dv] = selectedDkDv(a, indices, selectionLength, dout, rows, delta,
                               readsPackedKeys(a));
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

using Function = AttentionFunction<Selected, const Tensor &, const Tensor &,
                                   c10::SymInt, int64_t, std::optional<double>>;

void implement(torch::Library &m) {
  m.impl(Selected::name, forward);
  m.impl(Selected::backwardName, backward);
}

TORCH_LIBRARY_IMPL(tessera, CPU, m) { implement(m); }

TORCH_LIBRARY_IMPL(tessera, CUDA, m) { implement(m); }

TORCH_LIBRARY_IMPL(tessera, Meta, m) {
  m.impl(Selected::name, meta);
  m.impl(Selected::backwardName, metaBack);
}

TORCH_LIBRARY_IMPL(tessera, Autograd, m) {
  m.impl(Selected::name, Function::call);
}

} // namespace selected_attention_op
} // namespace
} // namespace tessera::runtime
