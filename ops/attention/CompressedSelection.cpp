// ops/attention/CompressedSelection.cpp - attention over compressed tokens, and
// the blocks that it selects: for packed sequences, and for one token over a
// cache.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Register.h"
#include "ops/attention/Attention.h"
#include "ops/attention/Branches.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

namespace tessera::runtime {
namespace {
namespace compressed_selection_op {

using at::Tensor;
using Triple = std::tuple<Tensor, Tensor, Tensor>;

constexpr const char *name = "nsa_compressed_selection";
constexpr const char *decodeName = "decode_compressed";

// Returns the number of programs, each of which visits tiles of all heads and
// has separate block sums. Two per multiprocessor all run concurrently and need
// little scratch memory. Without a GPU, assumes an A100's multiprocessors.
int64_t programsOf(const Tensor &q) {
  const int64_t multiprocessors = multiprocessorsOf(q);
  return 2 * (multiprocessors > 0 ? multiprocessors : 108);
}

// Returns the largest number of later blocks into which a compressed token
// extends.
int64_t reach(const SelectionSizes &o) {
  const int64_t latest = o.selectionLength % o.stride == 0
                             ? o.selectionLength - o.stride
                             : o.selectionLength - 1;
  return (latest + o.length - 1) / o.selectionLength;
}

// Returns the sums that the kernel keeps for each row and block: with MERGE one
// for blocks of 2 or 4 steps of compression, as cmp_select_fwd.py defines it.
int64_t sumsOfBlock(const SelectionSizes &o, int64_t merge, int64_t width) {
  const int64_t steps = o.selectionLength / o.stride;
  const bool merged = merge && o.length == 2 * o.stride &&
                      o.selectionLength % o.stride == 0 &&
                      (steps == 2 || steps == 4) && (width == 8 || width == 16);
  return merged ? 1 : reach(o) + 1;
}

// Writes indices, int32 [Hkv, T, n]. `ahead` tokens of every sequence precede
// its first query; no sequence has more than `blocks` blocks.
std::tuple<Tensor, Tensor> sweep(const Attention &a, const Tensor &cuCmp,
                                 const SelectionSizes &o, int64_t blocks,
                                 int64_t ahead, const Tensor &indices) {
  const Tensor out = a.emptyOutput(), lse = a.emptyRows();
  const Tensor noScores = at::empty({4}, lse.options()); // not written
  // The tiles of wide fp32 heads must fit into the shared memory of sm_80.
  const bool heavy = isHeavy(a);
  Launch launch("kernels/nsa/cmp_select_fwd.py", "cmp_select_fwd",
                heavy ? "num_stages=2" : "");
  launch.rows("q", a.q).rows("k", a.k).rows("v", a.v).rows("o", out);
  launch.rows("lse", lse).tensor("IDX", indices);
  launch.tensor("SCORES", noScores).scratch("SUMS", at::kFloat);
  launch.tensor("CU", a.cuSeqlens).tensor("CU_CMP", cuCmp);
  launch.real("scale", a.scale).integer("T", a.tokens);
  launch.integer("nseq", a.sequences).integer("nscore", 0);
  launch.integer("blocks", blocks).integer("ahead", ahead);
  launch.constant("G", a.group).constant("L", o.length);
  launch.constant("STRIDE", o.stride).constant("LSEL", o.selectionLength);
  launch.padded("NSEL", "NP", o.selected).constant("NINIT", o.initialBlocks);
  launch.constant("NLOCAL", o.localBlocks).keyHead(a.keyDim);
  launch.padded("E", "EP", a.valueDim).constant("STORE", 0);
  wholeTokens(launch, a.group);
  if (heavy)
    launch.constant("BJ", 8);
  launch.sequence(a.maxSeqlen);
  const int64_t rows = launch.tile("BM"), width = launch.tile("BJ");
  const int64_t programs =
      std::min(tileCount(a.tokens, rows / a.group, a.sequences),
               ceilDiv(programsOf(a.q), a.keyHeads));
  const int64_t arrays = sumsOfBlock(o, launch.tile("MERGE"), width);
  const Tensor sums = at::empty(
      {a.keyHeads, programs, ceilDiv(blocks, width),
       (arrays * width + 1) * rows + nextPowerOfTwo(rows / a.group) * width},
      a.q.options().dtype(at::kFloat));
  launch.bindScratch(sums, /*read=*/false).run(programs, a.keyHeads);
  return {out, byHeads(lse)};
}

// Fallback: runs the separate ops. An op that selects nothing does not need the
// sums of blocks.
Triple separate(const Attention &a, const Tensor &cuCmp,
                const SelectionSizes &o) {
  static const auto attention = findOp<std::tuple<Tensor, Tensor>(
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      const Tensor &, c10::SymInt, int64_t, int64_t, std::optional<double>)>(
      "nsa_compressed_attention");
  static const auto select = findOp<Tensor(
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      const Tensor &, c10::SymInt, int64_t, int64_t, int64_t, int64_t, int64_t,
      int64_t, std::optional<double>, bool)>("nsa_select");
  auto [out, lse] = attention.call(a.q, a.k, a.v, a.cuSeqlens, cuCmp,
                                   a.maxSeqlen, o.length, o.stride, a.scale);
  return {out, lse,
          select.call(a.q, a.k, lse, a.cuSeqlens, cuCmp, a.maxSeqlen, o.length,
                      o.stride, o.selectionLength, o.selected, o.initialBlocks,
                      o.localBlocks, a.scale, false)};
}

Triple forward(const Tensor &q, const Tensor &k, const Tensor &v,
               const Tensor &cuSeqlens, const Tensor &cuCmp, int64_t maxSeqlen,
               int64_t length, int64_t stride, int64_t selectionLength,
               int64_t selected, int64_t initialBlocks, int64_t localBlocks,
               std::optional<double> scale) {
  const SelectionSizes sizes{length,   stride,        selectionLength,
                             selected, initialBlocks, localBlocks};
  checkSelection(name, sizes, false);
  checkRank(name, "q", q, 3);
  checkRank(name, "k", k, 3);
  checkSequences(name, cuSeqlens, maxSeqlen, q.size(0), "q", q);
  checkCompressed(name, cuSeqlens, cuCmp, length, stride,
                  "the number of rows of k", k.size(0));
  const Attention a =
      checkAttention(name, q, k, v, cuSeqlens, maxSeqlen, scale, true);
  if (selected == 0)
    return separate(a, cuCmp, sizes);
  Tensor indices =
      at::empty({a.keyHeads, a.tokens, selected}, cuSeqlens.options());
  auto [out, lse] =
      sweep(a, cuCmp, sizes, ceilDiv(maxSeqlen, selectionLength), 0, indices);
  return {out, lse, indices};
}

Triple meta(const Tensor &q, const Tensor &k, const Tensor &v,
            const Tensor &cuSeqlens, const Tensor &, c10::SymInt, int64_t,
            int64_t, int64_t, int64_t selected, int64_t, int64_t,
            std::optional<double>) {
  auto [out, lse] = metaForward(name, q, k, v);
  return {out, lse,
          at::empty_symint({k.sym_size(1), q.sym_size(0), selected},
                           cuSeqlens.options())};
}

// Returns the distance in rows between sequences of a cache [B, Hkv, capacity,
// size], or 0 if it is not an integer.
int64_t rowsApart(const Tensor &x) {
  if (x.stride(3) != 1 || x.stride(2) <= 0 || x.stride(0) % x.stride(2) != 0)
    return 0;
  return x.stride(0) / x.stride(2);
}

// Returns the cache's memory as packed tokens [rows, Hkv, size].
Tensor packedRows(const Tensor &x) {
  const int64_t rows = (x.size(0) - 1) * rowsApart(x) + x.size(2);
  return x.as_strided({rows, x.size(1), x.size(3)},
                      {x.stride(2), x.stride(1), 1});
}

// Returns the checked inputs, and the first row of each sequence of the cache.
std::pair<Attention, Tensor> checkDecode(const Tensor &q, Tensor k, Tensor v,
                                         const SelectionSizes &sizes,
                                         int64_t position,
                                         std::optional<double> scale) {
  const char *op = decodeName;
  checkSelection(op, sizes, false);
  checkRank(op, "q", q, 3);
  checkRank(op, "k_cmp", k, 4);
  checkRank(op, "v_cmp", v, 4);
  checkPositive(op, "selected", sizes.selected);
  const int64_t capacity = k.size(2);
  checkShape(op, "k_cmp", k, {q.size(0), k.size(1), capacity, k.size(3)},
             "[sequences, key heads, capacity, head size of q]");
  checkShape(op, "v_cmp", v, {q.size(0), k.size(1), capacity, v.size(3)},
             "[sequences, key heads, capacity, value size] as k_cmp has them");
  checkNotNegative(op, "position", position);
  const int64_t seen =
      std::max<int64_t>(0, position + 1 - sizes.length + sizes.stride) /
      sizes.stride;
  TESSERA_CHECK(seen <= capacity, op, "a query at position ", position,
                " sees ", seen, " compressed tokens and k_cmp has ", capacity,
                "; pass the whole cache");
  if (rowsApart(k) == 0 || rowsApart(k) != rowsApart(v)) {
    k = k.contiguous();
    v = v.contiguous();
  }
  const Tensor each =
      at::arange(q.size(0) + 1, q.options().dtype(at::kInt)); // 1 token each
  return {
      checkAttention(op, q, packedRows(k), packedRows(v), each, 1, scale, true),
      each * rowsApart(k)};
}

Triple decode(const Tensor &q, const Tensor &k, const Tensor &v,
              int64_t position, int64_t length, int64_t stride,
              int64_t selectionLength, int64_t selected, int64_t initialBlocks,
              int64_t localBlocks, std::optional<double> scale) {
  const SelectionSizes sizes{length,   stride,        selectionLength,
                             selected, initialBlocks, localBlocks};
  const auto [a, starts] = checkDecode(q, k, v, sizes, position, scale);
  Tensor indices =
      at::empty({a.keyHeads, a.tokens, selected}, q.options().dtype(at::kInt));
  auto [out, lse] = sweep(a, starts, sizes, position / selectionLength + 1,
                          position, indices);
  return {out, byTokens(lse), indices.transpose(0, 1)};
}

Triple metaDecode(const Tensor &q, const Tensor &k, const Tensor &v, int64_t,
                  int64_t, int64_t, int64_t, int64_t selected, int64_t, int64_t,
                  std::optional<double>) {
  const auto batch = q.sym_size(0), heads = q.sym_size(1);
  return {at::empty_symint({batch, heads, v.sym_size(3)}, q.options()),
          at::empty_symint({batch, heads}, q.options().dtype(at::kFloat)),
          at::empty_symint({k.sym_size(1), batch, selected},
                           q.options().dtype(at::kInt))
              .transpose(0, 1)};
}

TESSERA_OP(name, forward, meta);
TESSERA_OP(decodeName, decode, metaDecode);

} // namespace compressed_selection_op
} // namespace
} // namespace tessera::runtime
