// ops/attention/DenseAttention.cpp - dense causal attention.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Register.h"
#include "ops/attention/Attention.h"
#include "ops/attention/OrderedBackward.h"
#include "ops/attention/Shares.h"
#include "ops/launch/EmptyTensor.h"

namespace tessera::runtime {
namespace {
namespace dense_attention_op {

using at::Tensor;

struct Dense {
  static constexpr const char *name = "dense_attention";
  static constexpr const char *backwardName = "dense_attention_backward";
};

std::tuple<Tensor, Tensor> forward(const Tensor &q, const Tensor &k,
                                   const Tensor &v, const Tensor &cuSeqlens,
                                   int64_t maxSeqlen,
                                   std::optional<double> scale) {
  const Attention a =
      checkAttention(Dense::name, q, k, v, cuSeqlens, maxSeqlen, scale);
  return launchForward(a, {}, "kernels/dense/attn_fwd.py", "dense_fwd");
}

std::tuple<Tensor, Tensor, Tensor>
onePass(const Attention &a, const RowGradient &rows, int64_t shares) {
  const Tensor dq = emptyTensor(a.q.sizes(), a.q.options());
  const Tensor dk = emptyShares(a.k, shares), dv = emptyShares(a.v, shares);
  Launch launch("kernels/dense/attn_bwd_fused.py", "dense_bwd");
  addRows(launch, a, rows).rows("dq", dq).rows("dk", dk).rows("dv", dv);
  launch.tensor("CU", a.cuSeqlens).real("scale", a.scale);
  launch.integer("T", a.tokens).integer("shares", shares);
  launch.constant("G", a.group).padded("D", "DP", a.keyDim);
  launch.padded("E", "EP", a.valueDim).sequence(a.maxSeqlen);
  wholeTokens(launch, a.group);
  launch.run(a.keyHeads, a.sequences, shares);
  return {dq, sumOfShares(dk, a.k), sumOfShares(dv, a.v)};
}

std::tuple<Tensor, Tensor, Tensor>
backward(const Tensor &gradO, const std::optional<Tensor> &gradLse,
         const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &o,
         const Tensor &lse, const Tensor &cuSeqlens, int64_t maxSeqlen,
         std::optional<double> scale) {
  const Attention a =
      checkAttention(Dense::backwardName, q, k, v, cuSeqlens, maxSeqlen, scale);
  const RowGradient rows = rowGradient(a, gradO, gradLse, o, lse);
  const int64_t shares = attentionShares(a);
  if (shares > 0)
    return onePass(a, rows, shares);
  if (takesOrderedBackward(a)) {
    const Tensor sum = emptyQuerySum(a);
    auto [dk, dv] =
        launchOrdered(a, {}, rows, sum, false,
                      "kernels/dense/attn_bwd_ordered.py", "dense_bwd_ordered");
    return {finishedQuerySum(a, sum), dk, dv};
  }
  const char *file = "kernels/dense/attn_bwd.py";
  const Tensor dq = emptyTensor(a.q.sizes(), a.q.options());
  launchDq(a, {}, rows, {dq}, file, "dense_bwd_dq");
  auto [dk, dv] = launchDkDv(a, {}, rows, file, "dense_bwd_dkdv");
  return {dq, dk, dv};
}

std::tuple<Tensor, Tensor> meta(const Tensor &q, const Tensor &k,
                                const Tensor &v, const Tensor &, c10::SymInt,
                                std::optional<double>) {
  return metaForward(Dense::name, q, k, v);
}

std::tuple<Tensor, Tensor, Tensor>
metaBack(const Tensor &, const std::optional<Tensor> &, const Tensor &q,
         const Tensor &k, const Tensor &v, const Tensor &, const Tensor &,
         const Tensor &, c10::SymInt, std::optional<double>) {
  return metaBackward(q, k, v);
}

using Function = AttentionFunction<Dense, const Tensor &, c10::SymInt,
                                   std::optional<double>>;

TESSERA_AUTOGRAD_OP(Dense::name, forward, meta, Function::call);
TESSERA_OP(Dense::backwardName, backward, metaBack);

} // namespace dense_attention_op
} // namespace
} // namespace tessera::runtime
