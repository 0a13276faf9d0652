// ops/selection/CompressedScores.cpp - selects blocks by the attention weights
// of their compressed keys.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Register.h"
#include "ops/selection/BlockSelection.h"

#include <ATen/ops/empty.h>

namespace tessera::runtime {
namespace {
namespace compressed_scores_op {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

constexpr const char *opName = "compressed_select";

// Returns the number of compressed keys of all sequences. On a GPU it returns
// an upper bound without reading cu_cmp, because kernels read the offsets from
// cu_cmp.
int64_t compressedRows(const Tensor &cuCmp, int64_t tokens, int64_t stride) {
  return cuCmp.is_cpu() ? cuCmp.data_ptr<int32_t>()[cuCmp.numel() - 1]
                        : tokens / stride;
}

Tensor select(const Tensor &q, const Tensor &k, const Tensor &cuSeqlens,
              int64_t maxSeqlen, int64_t block, int64_t top, int64_t length,
              int64_t stride, int64_t first, int64_t local,
              std::optional<double> scale) {
  static const auto offsets =
      findOp<Tensor(const Tensor &, int64_t, int64_t)>("compressed_offsets");
  static const auto compress = findOp<Tensor(
      const Tensor &, const MaybeTensor &, const Tensor &, const Tensor &,
      c10::SymInt, c10::SymInt, int64_t, int64_t)>("nsa_compress");
  static const auto attend = findOp<std::tuple<Tensor, Tensor, Tensor>(
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      const Tensor &, c10::SymInt, int64_t, int64_t, int64_t, int64_t, int64_t,
      int64_t, std::optional<double>)>("nsa_compressed_selection");
  const at::AutoDispatchBelowADInplaceOrView below; // scores have no gradient
  checkSelection(opName, {block, top, first, local});
  const Attention a =
      checkAttention(opName, q, k, k, cuSeqlens, maxSeqlen, scale);
  TESSERA_CHECK(stride >= 1 && length >= stride && length % stride == 0 &&
                    block % stride == 0,
                opName, "stride is ", stride,
                " and must divide length = ", length, " and block = ", block,
                "; choose others");
  const Tensor cuCmp = offsets.call(cuSeqlens, length, stride);
  const Tensor keys =
      compress.call(a.k, std::nullopt, cuSeqlens, cuCmp, maxSeqlen,
                    compressedRows(cuCmp, a.tokens, stride), length, stride);
  return std::get<2>(attend.call(a.q, keys, keys, cuSeqlens, cuCmp, maxSeqlen,
                                 length, stride, block, top, first, local,
                                 scale));
}

Tensor meta(const Tensor &q, const Tensor &k, const Tensor &cuSeqlens,
            c10::SymInt, int64_t, int64_t top, int64_t, int64_t, int64_t,
            int64_t, std::optional<double>) {
  return at::empty_symint({k.sym_size(1), q.sym_size(0), top},
                          cuSeqlens.options());
}

TESSERA_OP(opName, select, meta);

} // namespace compressed_scores_op
} // namespace
} // namespace tessera::runtime
