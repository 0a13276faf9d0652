// ops/attention/GatedBackward.cpp - the backward pass of nsa_gated_attention.
// It makes no scaled copies of the output's gradient and has one dq.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Register.h"
#include "ops/attention/Branches.h"
#include "ops/attention/OrderedBackward.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

namespace tessera::runtime {
namespace {
namespace gated_backward_op {

using at::Tensor;
using Gradients =
    std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;

constexpr const char *name = "nsa_gated_attention_backward";

// Inputs of the branches' backward passes, and the gradient of the gate logits.
struct GatedRows {
  RowGradient branches[3];
  Tensor logits;
};

// outputs: [T, Hq, E] each. lses: fp32 [Hq, T], as the ops return them. grad:
// the result of outputGradient().
GatedRows gateRows(const Attention &a, const Tensor &grad,
                   at::TensorList outputs, at::TensorList lses,
                   const Tensor &gates, const Tensor &logits,
                   c10::string_view mode, double tau) {
  constexpr int64_t aligned = 16; // elements; alignment of each branch's rows
  const int64_t count = a.tokens * a.queryHeads;
  const int64_t plane = ceilDiv(count, aligned) * aligned;
  const auto options = a.q.options().dtype(at::kFloat);
  const Tensor lse = at::empty({3, plane}, options),
               delta = at::empty({3, plane}, options);
  GatedRows rows;
  rows.logits = at::empty(logits.sizes(), logits.options());
  Launch launch("kernels/nsa/gate_bwd.py", "gate_bwd_rows");
  launch.tensor(grad);
  const Tensor weights = unitLast(gates), first = outputs[0].contiguous();
  launch.tensor(first).tensor(outputs[1].contiguous());
  launch.tensor(outputs[2].contiguous());
  for (const Tensor &x : lses)
    launch.tensor(lseRows(a, x).contiguous());
  launch.tensor(weights).tensor(rows.logits).tensor(lse).tensor(delta);
  launch.integer(a.tokens).real(1 / tau).integer(plane);
  launch.strides(grad).strides(first).strides(weights).strides(rows.logits);
  launch.constant("G", a.group).padded("E", "EP", a.valueDim);
  launch.constant("SOFTMAX", mode == "softmax");
  launch.run(ceilDiv(a.tokens, launch.tile("BT")), a.keyHeads);
  const auto branch = [&](const Tensor &of, int64_t i) {
    return of[i].narrow(0, 0, count).view({a.tokens, a.queryHeads});
  };
  for (int64_t i = 0; i < 3; ++i)
    rows.branches[i] = {grad, branch(lse, i), branch(delta, i)};
  return rows;
}

Attention checkBranch(const Tensor &q, const Tensor &k, const Tensor &v,
                      const Tensor &cuSeqlens, int64_t maxSeqlen,
                      std::optional<double> scale, bool compressed = false) {
  return checkAttention(name, q, k, v, cuSeqlens, maxSeqlen, scale, compressed);
}

// pairs: k and v of compression, selection and window. lists: empty, or the
// block lists and their counts.
Gradients backward(const Tensor &gradOut, at::TensorList pairs, const Tensor &q,
                   const Tensor &logits, const Tensor &gates,
                   const Tensor &indices, at::TensorList outputs,
                   at::TensorList lses, at::TensorList lists,
                   const Tensor &cuSeqlens, const Tensor &cuCmp,
                   int64_t maxSeqlen, int64_t length, int64_t stride,
                   int64_t selectionLength, int64_t window,
                   c10::string_view mode, double tau,
                   std::optional<double> scale) {
  TESSERA_CHECK(pairs.size() == 6 && outputs.size() == 3 && lses.size() == 3 &&
                    (lists.empty() || lists.size() == 2),
                name,
                "takes 6 keys and values, 3 outputs and 3 lse, and the "
                "block lists with their counts or nothing");
  const Attention cmp =
      checkBranch(q, pairs[0], pairs[1], cuSeqlens, maxSeqlen, scale, true);
  checkCompressed(name, cuSeqlens, cuCmp, length, stride,
                  "the number of rows of k_cmp", pairs[0].size(0));
  for (const Tensor &o : outputs)
    checkShape(name, "o", o, {cmp.tokens, cmp.queryHeads, cmp.valueDim},
               "[tokens, query heads, value size]");
  checkShape(name, "gate_logits", logits, {cmp.tokens, cmp.keyHeads, 3},
             "[tokens, key heads, 3]");
  checkShape(name, "gates", gates, logits.sizes(), "the shape of gate_logits");
  checkIndices(cmp, indices, selectionLength);
  if (!lists.empty())
    checkLists(cmp, indices, {lists[0], lists[1]}, selectionLength);
  const Attention sel = checkBranch(q, pairs[2], pairs[3], cuSeqlens, maxSeqlen,
                                    scale),
                  win = checkBranch(q, pairs[4], pairs[5], cuSeqlens, maxSeqlen,
                                    scale);
  for (const auto &[branch, v] :
       {std::pair("v_sel", pairs[3]), std::pair("v_win", pairs[5])})
    checkShape(name, branch, v, {cmp.tokens, cmp.keyHeads, cmp.valueDim},
               "[tokens, key heads, value size] as v_cmp has them");
  const GatedRows rows = gateRows(cmp, outputGradient(cmp, gradOut), outputs,
                                  lses, gates, logits, mode, tau);
  Tensor dkWin, dvWin, dq;
  CompressedParts parts;
  // Each branch adds to the dq of the branch before it. With ordered backward
  // kernels the window's launch comes first: each token attends to a key there,
  // so the launch initializes every row of dq.
  const bool ordered = window > 0 && takesOrderedBackward(win) &&
                       takesOrderedBackward(cmp, compressedPartCount(cmp));
  if (ordered) {
    const Tensor sum = emptyQuerySum(cmp);
    std::tie(dkWin, dvWin) =
        orderedWindowGradients(win, window, rows.branches[2], sum);
    parts = orderedCompressedGradients(cmp, cuCmp, length, stride,
                                       rows.branches[0], sum);
    dq = finishedQuerySum(cmp, sum);
  } else {
    dq = at::empty(cmp.q.sizes(), cmp.q.options());
    parts =
        compressedGradients(cmp, cuCmp, length, stride, rows.branches[0], {dq});
  }
  const auto none = [](const Tensor &k, const Tensor &v) {
    return std::tuple(at::zeros_like(k), at::zeros_like(v));
  };
  // The launch that sums the selected branch's chunks also sums these partial
  // sums.
  const bool selects = indices.size(2) > 0 && cmp.tokens > 0;
  if (!selects && parts.parts > 1)
    addParts(cmp, parts);
  const auto [dkSel, dvSel] =
      !selects
          ? none(pairs[2], pairs[3])
          : selectedGradients(sel, {indices, selectionLength},
                              lists.empty() ? BlockLists{}
                                            : BlockLists{lists[0], lists[1]},
                              rows.branches[1], {dq, true}, &parts);
  if (window == 0)
    std::tie(dkWin, dvWin) = none(pairs[4], pairs[5]);
  else if (!ordered)
    std::tie(dkWin, dvWin) =
        windowGradients(win, window, rows.branches[2], {dq, true});
  return {dq, parts.dk, parts.dv, dkSel, dvSel, dkWin, dvWin, rows.logits};
}

Gradients meta(const Tensor &, at::TensorList pairs, const Tensor &q,
               const Tensor &logits, const Tensor &, const Tensor &,
               at::TensorList, at::TensorList, at::TensorList, const Tensor &,
               const Tensor &, c10::SymInt, int64_t, int64_t, int64_t, int64_t,
               c10::string_view, double, std::optional<double>) {
  const auto like = [](const Tensor &x) {
    return at::empty_symint(x.sym_sizes(), x.options());
  };
  return {like(q),        like(pairs[0]), like(pairs[1]), like(pairs[2]),
          like(pairs[3]), like(pairs[4]), like(pairs[5]), like(logits)};
}

TESSERA_OP(name, backward, meta);

} // namespace gated_backward_op
} // namespace
} // namespace tessera::runtime
