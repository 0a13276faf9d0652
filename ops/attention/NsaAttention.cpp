// ops/attention/NsaAttention.cpp - NSA: compresses keys and values, then calls
// nsa_gated_attention.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Check.h"

#include <torch/library.h>

namespace tessera::runtime {
namespace {
namespace nsa_attention_op {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

// Calls both ops through torch's dispatcher, so that their autograd formulas
// and meta functions apply.
std::tuple<Tensor, Tensor, Tensor> nsaAttention(
    const Tensor &q, const Tensor &kCmp, const Tensor &vCmp, const Tensor &kSel,
    const Tensor &vSel, const Tensor &kWin, const Tensor &vWin,
    const Tensor &gateLogits, const Tensor &cuSeqlens, const Tensor &cuCmp,
    c10::SymInt maxSeqlen, c10::SymInt totalCmp, int64_t length, int64_t stride,
    int64_t selectionLength, int64_t selected, int64_t window,
    int64_t initialBlocks, int64_t localBlocks, const MaybeTensor &kFilter,
    const MaybeTensor &vFilter, c10::string_view gateMode, double tau,
    std::optional<double> scale) {
  static const auto compress = findOp<std::tuple<Tensor, Tensor>(
      const Tensor &, const Tensor &, const MaybeTensor &, const MaybeTensor &,
      const Tensor &, const Tensor &, c10::SymInt, c10::SymInt, int64_t,
      int64_t)>("nsa_compress_pair");
  static const auto attend = findOp<std::tuple<Tensor, Tensor, Tensor>(
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      const Tensor &, const Tensor &, c10::SymInt, int64_t, int64_t, int64_t,
      int64_t, int64_t, int64_t, int64_t, c10::string_view, double,
      std::optional<double>)>("nsa_gated_attention");

  TESSERA_CHECK(
      q.dim() == 3 && q.sym_size(2) % 2 == 0, "nsa_attention", "q has shape ",
      q.sym_sizes(),
      "; it must be [tokens, query heads, head size] with an even head size");
  const auto [k, v] = compress.call(kCmp, vCmp, kFilter, vFilter, cuSeqlens,
                                    cuCmp, maxSeqlen, totalCmp, length, stride);
  return attend.call(q, k, v, kSel, vSel, kWin, vWin, gateLogits, cuSeqlens,
                     cuCmp, maxSeqlen, length, stride, selectionLength,
                     selected, window, initialBlocks, localBlocks, gateMode,
                     tau, scale);
}

TORCH_LIBRARY_IMPL(tessera, CompositeImplicitAutograd, m) {
  m.impl("nsa_attention", nsaAttention);
}

} // namespace nsa_attention_op
} // namespace
} // namespace tessera::runtime
