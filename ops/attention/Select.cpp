// ops/attention/Select.cpp - block scores, top-n selection and merged ranges.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Register.h"
#include "ops/attention/Attention.h"
#include "ops/attention/Branches.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace tessera::runtime {

void checkSelection(const char *op, const SelectionSizes &o,
                    bool generalOverlap) {
  checkBlocks(op, o.length, o.stride);
  checkPositive(op, "selection_length", o.selectionLength);
  checkNotNegative(op, "selected", o.selected);
  checkNotNegative(op, "initial_blocks", o.initialBlocks);
  checkNotNegative(op, "local_blocks", o.localBlocks);
  TESSERA_CHECK(
      o.selected == 0 || o.selected >= o.initialBlocks + o.localBlocks, op,
      "selected is ", o.selected,
      " and must hold the forced blocks, initial_blocks = ", o.initialBlocks,
      " and local_blocks = ", o.localBlocks,
      "; raise it or force fewer blocks");
  TESSERA_CHECK(generalOverlap || (o.length % o.stride == 0 &&
                                   o.selectionLength % o.stride == 0),
                op, "block_stride = ", o.stride,
                " must divide block_length = ", o.length,
                " and selection_length = ", o.selectionLength,
                "; choose others or pass general_overlap=True");
}

namespace {
namespace select_op {

using at::Tensor;

// `scores`, if not null, receives fp32 [Hkv, T, blocks], which starts as zeros.
Tensor selectBlocks(const char *op, const Tensor &q, const Tensor &k,
                    const Tensor &lse, const Tensor &cuSeqlens,
                    const Tensor &cuCmp, int64_t maxSeqlen,
                    const SelectionSizes &o, bool generalOverlap,
                    std::optional<double> scale, Tensor *scores) {
  checkSelection(op, o, generalOverlap);
  checkRank(op, "q", q, 3);
  checkRank(op, "k", k, 3);
  checkSequences(op, cuSeqlens, maxSeqlen, q.size(0), "q", q);
  checkCompressed(op, cuSeqlens, cuCmp, o.length, o.stride,
                  "the number of rows of k", k.size(0));
  const Attention a =
      checkAttention(op, q, k, k, cuSeqlens, maxSeqlen, scale, true);
  const Tensor rows = lseRows(a, lse);

  Tensor indices =
      at::empty({a.keyHeads, a.tokens, o.selected}, cuSeqlens.options());
  const int64_t blocks = ceilDiv(maxSeqlen, o.selectionLength);
  if (scores)
    *scores = at::zeros({a.keyHeads, a.tokens, blocks}, lse.options());
  if (o.selected == 0)
    return indices;
  Launch launch("kernels/nsa/score_select.py", "score_select");
  launch.tensor(a.q).tensor(a.k).tensor(rows).tensor(indices).tensor(
      scores ? *scores : rows);
  launch.tensor(cuSeqlens).tensor(cuCmp).real(a.scale).integer(a.tokens);
  launch.integer(a.sequences).integer(scores ? blocks : 0);
  launch.strides(a.q).strides(a.k).strides(rows);
  // One matrix product covers GB heads of a token, the largest power of two
  // that divides G.
  const int64_t heads = a.group & -a.group;
  launch.constant("G", a.group).constant("GB", heads);
  launch.constant("L", o.length).constant("STRIDE", o.stride);
  launch.constant("LSEL", o.selectionLength).padded("NSEL", "NP", o.selected);
  launch.constant("NINIT", o.initialBlocks).constant("NLOCAL", o.localBlocks);
  launch.keyHead(a.keyDim).constant("STORE", scores != nullptr);
  launch.sequence(maxSeqlen);
  launch.run(tileCount(a.tokens, launch.tile("BM") / heads, a.sequences),
             a.keyHeads);
  return indices;
}

Tensor select(const Tensor &q, const Tensor &k, const Tensor &lse,
              const Tensor &cuSeqlens, const Tensor &cuCmp, int64_t maxSeqlen,
              int64_t length, int64_t stride, int64_t selectionLength,
              int64_t selected, int64_t initialBlocks, int64_t localBlocks,
              std::optional<double> scale, bool generalOverlap) {
  return selectBlocks(
      "nsa_select", q, k, lse, cuSeqlens, cuCmp, maxSeqlen,
      {length, stride, selectionLength, selected, initialBlocks, localBlocks},
      generalOverlap, scale, nullptr);
}

std::tuple<Tensor, Tensor>
selectScores(const Tensor &q, const Tensor &k, const Tensor &lse,
             const Tensor &cuSeqlens, const Tensor &cuCmp, int64_t maxSeqlen,
             int64_t length, int64_t stride, int64_t selectionLength,
             int64_t selected, int64_t initialBlocks, int64_t localBlocks,
             std::optional<double> scale, bool generalOverlap) {
  Tensor scores;
  Tensor indices = selectBlocks(
      "nsa_select_scores", q, k, lse, cuSeqlens, cuCmp, maxSeqlen,
      {length, stride, selectionLength, selected, initialBlocks, localBlocks},
      generalOverlap, scale, &scores);
  return {indices, scores};
}

Tensor metaSelect(const Tensor &q, const Tensor &k, const Tensor &,
                  const Tensor &cuSeqlens, const Tensor &, c10::SymInt, int64_t,
                  int64_t, int64_t, int64_t selected, int64_t, int64_t,
                  std::optional<double>, bool) {
  return at::empty_symint({k.sym_size(1), q.sym_size(0), selected},
                          cuSeqlens.options());
}

std::tuple<Tensor, Tensor>
metaScores(const Tensor &q, const Tensor &k, const Tensor &lse,
           const Tensor &cuSeqlens, const Tensor &, c10::SymInt maxSeqlen,
           int64_t, int64_t, int64_t selectionLength, int64_t selected, int64_t,
           int64_t, std::optional<double>, bool) {
  const c10::SymInt blocks =
      (maxSeqlen + (selectionLength - 1)) / selectionLength;
  return {
      at::empty_symint({k.sym_size(1), q.sym_size(0), selected},
                       cuSeqlens.options()),
      at::empty_symint({k.sym_size(1), q.sym_size(0), blocks}, lse.options())};
}

Tensor ranges(const Tensor &indices, const Tensor &cuSeqlens, int64_t maxSeqlen,
              int64_t selectionLength) {
  const char *op = "nsa_ranges";
  checkRank(op, "indices", indices, 3);
  checkInt32(op, "indices", indices);
  checkPositive(op, "selection_length", selectionLength);
  const int64_t heads = indices.size(0), tokens = indices.size(1),
                selected = indices.size(2);
  checkSequences(op, cuSeqlens, maxSeqlen, tokens, "indices", indices);
  Tensor out = at::empty({heads, tokens, selected, 2}, indices.options());
  if (selected == 0)
    return out;
  const int64_t sequences = cuSeqlens.numel() - 1;
  Launch launch("kernels/nsa/ranges.py", "merge_ranges");
  launch.tensor(indices).tensor(out).tensor(cuSeqlens).integer(tokens).integer(
      sequences);
  launch.constant("LSEL", selectionLength).constant("NSEL", selected);
  launch.sequence(maxSeqlen);
  launch.run(tileCount(tokens, launch.tile("BT"), sequences), heads);
  return out;
}

Tensor metaRanges(const Tensor &indices, const Tensor &, c10::SymInt, int64_t) {
  return at::empty_symint(
      {indices.sym_size(0), indices.sym_size(1), indices.sym_size(2), 2},
      indices.options());
}

TESSERA_OP("nsa_select", select, metaSelect);
TESSERA_OP("nsa_select_scores", selectScores, metaScores);
TESSERA_OP("nsa_ranges", ranges, metaRanges);

} // namespace select_op
} // namespace
} // namespace tessera::runtime
