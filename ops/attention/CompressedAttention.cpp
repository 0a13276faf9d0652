// ops/attention/CompressedAttention.cpp - NSA's compressed branch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Register.h"
#include "ops/attention/Attention.h"
#include "ops/attention/Branches.h"
#include "ops/launch/EmptyTensor.h"

#include <ATen/ops/empty.h>
#include <algorithm>

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
  Branch branch{{{"L", length}, {"STRIDE", stride}}};
  branch.tensors = {{"CU_CMP", cuCmp}};
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
  const Tensor dq = emptyTensor(a.q.sizes(), a.q.options());
  const CompressedParts made = compressedGradients(
      a, cuCmp, length, stride, rowGradient(a, gradO, gradLse, o, lse), {dq});
  if (made.parts > 1)
    addParts(a, made);
  return {dq, made.dk, made.dv};
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

TESSERA_AUTOGRAD_OP(Compressed::name, forward, meta, Function::call);
TESSERA_OP(Compressed::backwardName, backward, metaBack);

} // namespace compressed_attention_op
} // namespace

CompressedParts compressedGradients(const Attention &a, const at::Tensor &cuCmp,
                                    int64_t length, int64_t stride,
                                    const RowGradient &rows,
                                    const QueryGradient &to, bool stream) {
  const char *file = "kernels/nsa/cmp_bwd.py";
  Branch branch{{{"L", length}, {"STRIDE", stride}}};
  branch.tensors = {{"CU_CMP", cuCmp}};
  branch.ownTiles = true;
  if (stream)
    branch.constants.emplace_back("STREAM", 1);
  launchDq(a, branch, rows, to, file, "cmp_bwd_dq");
  // A CPU has few processors, which whole tiles of keys keep busy.
  const int64_t parts =
      takesCpuKernels(a.q)
          ? 1
          : std::clamp<int64_t>(ceilDiv(a.maxSeqlen, kPartTokens), 1,
                                kMostParts);
  CompressedParts made;
  made.parts = branch.parts = parts;
  made.cuCmp = cuCmp;
  made.part = at::empty(
      {parts > 1 ? a.k.size(0) : 0, a.keyHeads, parts, a.keyDim + a.valueDim},
      rows.lse.options());
  branch.constants.emplace_back("SPAN", kPartTokens);
  branch.tensors.emplace_back("PART", made.part);
  branch.integers = {{"parts", parts}};
  std::tie(made.dk, made.dv) =
      launchDkDv(a, branch, rows, file, "cmp_bwd_dkdv");
  return made;
}

} // namespace tessera::runtime
