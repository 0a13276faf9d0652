// ops/attention/CompressedAttention.cpp - NSA's compressed branch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Register.h"
#include "ops/attention/Attention.h"
#include "ops/attention/Branches.h"
#include "ops/attention/OrderedBackward.h"
#include "ops/launch/EmptyTensor.h"

#include <ATen/ops/empty.h>

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
  const RowGradient rows = rowGradient(a, gradO, gradLse, o, lse);
  if (takesOrderedBackward(a, compressedPartCount(a))) {
    // Early tokens attend to no compressed token, so no program writes their
    // sum.
    const Tensor sum = emptyQuerySum(a).zero_();
    const CompressedParts made =
        orderedCompressedGradients(a, cuCmp, length, stride, rows, sum);
    if (made.parts > 1)
      addParts(a, made);
    return {finishedQuerySum(a, sum), made.dk, made.dv};
  }
  const Tensor dq = emptyTensor(a.q.sizes(), a.q.options());
  const CompressedParts made =
      compressedGradients(a, cuCmp, length, stride, rows, {dq});
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

// Allocates the partial sums of dk and dv; leaves dk and dv undefined.
CompressedParts emptyParts(const Attention &a, const Tensor &cuCmp,
                           const RowGradient &rows) {
  CompressedParts made;
  made.parts = compressedPartCount(a);
  made.cuCmp = cuCmp;
  made.part = at::empty({made.parts > 1 ? a.k.size(0) : 0, a.keyHeads,
                         made.parts, a.keyDim + a.valueDim},
                        rows.lse.options());
  return made;
}

// Returns the arguments of a kernel that is tiled over compressed tokens.
Branch keyBranch(const CompressedParts &made, int64_t length, int64_t stride) {
  Branch branch{{{"L", length}, {"STRIDE", stride}, {"SPAN", kPartTokens}}};
  branch.tensors = {{"CU_CMP", made.cuCmp}, {"PART", made.part}};
  branch.integers = {{"parts", made.parts}};
  branch.parts = made.parts;
  return branch;
}

} // namespace compressed_attention_op
} // namespace

int64_t compressedPartCount(const Attention &a) {
  // A CPU has few cores, and complete tiles of keys keep them busy.
  return takesCpuKernels(a.q) ? 1 : compressedPartsOnGpu(a.maxSeqlen);
}

CompressedParts orderedCompressedGradients(const Attention &a,
                                           const at::Tensor &cuCmp,
                                           int64_t length, int64_t stride,
                                           const RowGradient &rows,
                                           const at::Tensor &sum) {
  using namespace compressed_attention_op;
  CompressedParts made = emptyParts(a, cuCmp, rows);
  const Branch branch = keyBranch(made, length, stride);
  std::tie(made.dk, made.dv) =
      launchOrdered(a, branch, rows, sum, true,
                    "kernels/nsa/cmp_bwd_ordered.py", "cmp_bwd_ordered");
  return made;
}

CompressedParts compressedGradients(const Attention &a, const at::Tensor &cuCmp,
                                    int64_t length, int64_t stride,
                                    const RowGradient &rows,
                                    const QueryGradient &to, bool stream) {
  using namespace compressed_attention_op;
  const char *file = "kernels/nsa/cmp_bwd.py";
  Branch branch{{{"L", length}, {"STRIDE", stride}}};
  branch.tensors = {{"CU_CMP", cuCmp}};
  branch.ownTiles = true;
  if (stream)
    branch.constants.emplace_back("STREAM", 1);
  launchDq(a, branch, rows, to, file, "cmp_bwd_dq");
  CompressedParts made = emptyParts(a, cuCmp, rows);
  Branch keys = keyBranch(made, length, stride);
  keys.ownTiles = true;
  if (stream)
    keys.constants.emplace_back("STREAM", 1);
  std::tie(made.dk, made.dv) = launchDkDv(a, keys, rows, file, "cmp_bwd_dkdv");
  return made;
}

} // namespace tessera::runtime
