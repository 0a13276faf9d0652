// runtime/torch/CompressedAttention.cpp - NSA's compressed branch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/torch/Attention.h"
#include "runtime/torch/Autograd.h"

#include <torch/library.h>

namespace tessera::runtime {
namespace {
namespace compressed_attention_op {

using at::Tensor;

struct Compressed {
  static constexpr const char *name = "nsa_compressed_attention";
  static constexpr const char *backwardName =
      "nsa_compressed_attention_backward";
};

Attention check(const char *op, const Tensor &q, const Tensor &k,
                const Tensor &v, const Tensor &cuSeqlens, const Tensor &cuCmp,
                int64_t maxSeqlen, int64_t length, int64_t stride,
                std::optional<double> scale) {
  checkBlocks(op, length, stride);
  checkRank(op, "q", q, 3);
  checkRank(op, "k", k, 3);
  checkSequences(op, cuSeqlens, maxSeqlen, q.size(0), "q", q);
  checkCompressed(op, cuSeqlens, cuCmp, length, stride,
                  "the number of rows of k", k.size(0));
  return checkAttention(op, q, k, v, cuSeqlens, maxSeqlen, scale, true);
}

std::tuple<Tensor, Tensor> forward(const Tensor &q, const Tensor &k,
                                   const Tensor &v, const Tensor &cuSeqlens,
                                   const Tensor &cuCmp, int64_t maxSeqlen,
                                   int64_t length, int64_t stride,
                                   std::optional<double> scale) {
  const Attention a = check(Compressed::name, q, k, v, cuSeqlens, cuCmp,
                            maxSeqlen, length, stride, scale);
  const Branch branch{{{"L", length}, {"STRIDE", stride}}, {}, {cuCmp}};
  return launchForward(a, branch, "kernels/nsa/cmp_fwd.py", "cmp_fwd");
}

std::tuple<Tensor, Tensor, Tensor>
backward(const Tensor &gradO, const std::optional<Tensor> &gradLse,
         const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &o,
         const Tensor &lse, const Tensor &cuSeqlens, const Tensor &cuCmp,
         int64_t maxSeqlen, int64_t length, int64_t stride,
         std::optional<double> scale) {
  const Attention a = check(Compressed::backwardName, q, k, v, cuSeqlens, cuCmp,
                            maxSeqlen, length, stride, scale);
  const Branch branch{{{"L", length}, {"STRIDE", stride}}, {}, {cuCmp}};
  const Tensor dout = outputGradient(a, gradO);
  const Tensor delta = attentionDelta(a, dout, o, gradLse);
  const Tensor rows = lseRows(a, lse);
  Tensor dq = launchDq(a, branch, dout, rows, delta, "kernels/nsa/cmp_bwd.py",
                       "cmp_bwd_dq");
  auto [dk, dv] = launchDkDv(a, branch, dout, rows, delta,
                             "kernels/nsa/cmp_bwd.py", "cmp_bwd_dkdv");
  return {dq, dk, dv};
}

std::tuple<Tensor, Tensor> meta(const Tensor &q, const Tensor &k,
                                const Tensor &v, const Tensor &, const Tensor &,
                                c10::SymInt, int64_t, int64_t,
                                std::optional<double>) {
  return metaForward(Compressed::name, q, k, v);
}

std::tuple<Tensor, Tensor, Tensor>
metaBack(const Tensor &, const std::optional<Tensor> &, const Tensor &q,
         const Tensor &k, const Tensor &v, const Tensor &, const Tensor &,
         const Tensor &, const Tensor &, c10::SymInt, int64_t, int64_t,
         std::optional<double>) {
  return metaBackward(q, k, v);
}

using Function =
    AttentionFunction<Compressed, const Tensor &, const Tensor &, c10::SymInt,
                      int64_t, int64_t, std::optional<double>>;

void implement(torch::Library &m) {
  m.impl(Compressed::name, forward);
  m.impl(Compressed::backwardName, backward);
}

TORCH_LIBRARY_IMPL(tessera, CPU, m) { implement(m); }

TORCH_LIBRARY_IMPL(tessera, CUDA, m) { implement(m); }

TORCH_LIBRARY_IMPL(tessera, Meta, m) {
  m.impl(Compressed::name, meta);
  m.impl(Compressed::backwardName, metaBack);
}

TORCH_LIBRARY_IMPL(tessera, Autograd, m) {
  m.impl(Compressed::name, Function::call);
}

} // namespace compressed_attention_op
} // namespace
} // namespace tessera::runtime
