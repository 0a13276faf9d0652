// runtime/torch/SelectedAttention.cpp - NSA's selected branch; its backward
// goes through the inverse index. Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/LaunchDevice.h"
#include "runtime/torch/Attention.h"
#include "runtime/torch/Autograd.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
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

// A tile of rows visits the union of the blocks of its tokens. Tokens share few
// blocks once a sequence has many more than one token selects; then a tile is
// one token, and none of its work is masked away. Fewer rows also make slower
// products: on AVX-512 the two cost the same at about three times (bench/).
constexpr int64_t kUnionBlocksPerSelected = 3;

Branch branchOf(const Attention &a, const Tensor &indices,
                int64_t selectionLength) {
  const int64_t selected = indices.size(2);
  Branch branch{{{"LSEL", selectionLength},
                 {"NSEL", selected},
                 {"NP", nextPowerOfTwo(selected)}},
                {indices},
                {},
                {a.tokens}};
  if (a.group <= kLeastTileRows && ceilDiv(a.maxSeqlen, selectionLength) >
                                       kUnionBlocksPerSelected * selected)
    branch.rules.push_back({"BM", nextPowerOfTwo(a.group)});
  return branch;
}

// On a CPU a dot of the few rows of one token reads its operands about as fast
// as it multiplies, if they lie in the order in which it reads them. Packing
// costs one pass over keys and values; every block is read by many tokens.
// The kernel reads BN keys of a block at a time, 64 in its largest
// configuration, and nothing lies behind a shorter one.
bool readsPackedKeys(const Attention &a, int64_t selectionLength) {
  constexpr int64_t most = 64;
  return nextPowerOfTwo(selectionLength) >= most && a.q.is_cpu() &&
         launchDevice({}).isCpu();
}

std::tuple<Tensor, Tensor> forwardPacked(const Attention &a,
                                         const Tensor &indices,
                                         int64_t selectionLength) {
  const int64_t tiles = tileCount(a.tokens, selectionLength, a.sequences);
  const int64_t keys = nextPowerOfTwo(selectionLength);
  const HeadSlices dims = headSlices(a.keyDim);
  const Tensor k = at::empty({a.keyHeads, tiles, dims.first + dims.tail, keys},
                             a.k.options());
  const Tensor v = at::empty(
      {a.keyHeads, tiles, keys, nextPowerOfTwo(a.valueDim)}, a.v.options());
  const auto common = [&](Launch &launch) {
    launch.padded("LSEL", "LP", selectionLength).keyHead(a.keyDim);
    launch.padded("E", "EP", a.valueDim).sequence(a.maxSeqlen);
  };
  constexpr const char *file = "kernels/nsa/select_packed_fwd.py";
  Launch pack(file, "pack_keys");
  pack.tensor(a.k).tensor(a.v).tensor(k).tensor(v).tensor(a.cuSeqlens);
  pack.integer(a.sequences).integer(tiles).strides(a.k).strides(a.v);
  common(pack);
  pack.run(tiles, a.keyHeads);

  Tensor o = a.emptyOutput(), lse = a.emptyRows();
  Launch launch(file, "select_packed_fwd");
  launch.tensor(a.q).tensor(k).tensor(v).tensor(indices).tensor(o).tensor(lse);
  launch.tensor(a.cuSeqlens).real(a.scale).integer(a.tokens);
  launch.integer(a.sequences).integer(tiles);
  launch.strides(a.q).strides(o).strides(lse);
  launch.padded("G", "GP", a.group).constant("NSEL", indices.size(2));
  common(launch);
  launch.run(tileCount(a.tokens, 1, a.sequences), a.keyHeads);
  return {o, byHeads(lse)};
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
  if (readsPackedKeys(a, selectionLength))
    return forwardPacked(a, indices, selectionLength);
  Branch branch = branchOf(a, indices, selectionLength);
  branch.slicedKeys = false;
  return launchForward(a, branch, "kernels/nsa/select_tile_fwd.py",
                       "select_tile_fwd");
}

// For each key head and block, the tokens that selected it, ascending.
struct InverseIndex {
  Tensor offsets; // int32 [Hkv, blocks + 1]
  Tensor tokens;  // int32 [Hkv, T * n]
  int64_t blocks; // of all sequences, numbered as tiles are; some are empty
};

InverseIndex invert(const Attention &a, const Tensor &indices,
                    int64_t selectionLength) {
  InverseIndex inverse;
  inverse.blocks = tileCount(a.tokens, selectionLength, a.sequences);

  const int64_t selected = indices.size(2);
  const auto options = indices.options();
  Tensor counts = at::zeros({a.keyHeads, inverse.blocks}, options);
  inverse.offsets = at::empty({a.keyHeads, inverse.blocks + 1}, options);
  inverse.tokens = at::empty({a.keyHeads, a.tokens * selected}, options);
  const auto common = [&](Launch &launch) {
    launch.tensor(a.cuSeqlens)
        .integer(a.tokens)
        .integer(a.sequences)
        .integer(inverse.blocks);
    launch.constant("LSEL", selectionLength).padded("NSEL", "NP", selected);
    launch.sequence(a.maxSeqlen);
    launch.run(inverse.blocks, a.keyHeads);
  };
  Launch count("kernels/nsa/inverse_index.py", "inverse_count");
  common(count.tensor(indices).tensor(counts));
  Launch sum("kernels/nsa/inverse_index.py", "inverse_offsets");
  sum.tensor(counts)
      .tensor(inverse.offsets)
      .integer(inverse.blocks)
      .sequence(a.maxSeqlen)
      .run(a.keyHeads);
  Launch fill("kernels/nsa/inverse_index.py", "inverse_fill");
  common(fill.tensor(indices).tensor(inverse.offsets).tensor(inverse.tokens));
  return inverse;
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
  Tensor dq =
      launchDq(a, branchOf(a, indices, selectionLength), dout, rows, delta,
               "kernels/nsa/select_tile_bwd_dq.py", "select_tile_bwd_dq");

  const InverseIndex inverse = invert(a, indices, selectionLength);
  Tensor dk = at::empty(a.k.sizes(), a.k.options()),
         dv = at::empty(a.v.sizes(), a.v.options());
  Launch launch("kernels/nsa/select_bwd_dkdv.py", "select_bwd_dkdv");
  launch.tensor(a.q).tensor(a.k).tensor(a.v).tensor(dout).tensor(rows).tensor(
      delta);
  launch.tensor(inverse.offsets).tensor(inverse.tokens).tensor(dk).tensor(dv);
  launch.tensor(a.cuSeqlens).real(a.scale).integer(a.tokens);
  launch.integer(a.sequences).integer(inverse.blocks);
  launch.strides(a.q)
      .strides(a.k)
      .strides(a.v)
      .strides(dout)
      .strides(dk)
      .strides(dv)
      .strides(rows)
      .strides(delta);
  launch.constant("G", a.group).constant("LSEL", selectionLength);
  launch.constant("NSEL", indices.size(2)).sequence(a.maxSeqlen);
  launch.keyHead(a.keyDim).padded("E", "EP", a.valueDim);
  wholeTokens(launch, a.group);
  launch.run(a.keyHeads,
             inverse.blocks * ceilDiv(selectionLength, launch.tile("BN")));
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
