// runtime/torch/NsaAttention.cpp - a whole NSA attention from the ops of its
// stages. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
#include "runtime/torch/Autograd.h"
#include "runtime/torch/Check.h"

#include <torch/library.h>

namespace tessera::runtime {
namespace {
namespace nsa_attention_op {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

using Pair = std::tuple<Tensor, Tensor>;

// Calls the ops through the dispatcher, so that autograd and meta tensors work
// by way of theirs.
std::tuple<Tensor, Tensor, Tensor> nsaAttention(
    const Tensor &q, const Tensor &kCmp, const Tensor &vCmp, const Tensor &kSel,
    const Tensor &vSel, const Tensor &kWin, const Tensor &vWin,
    const Tensor &gateLogits, const Tensor &cuSeqlens, const Tensor &cuCmp,
    c10::SymInt maxSeqlen, c10::SymInt totalCmp, int64_t length, int64_t stride,
    int64_t selectionLength, int64_t selected, int64_t window,
    int64_t initialBlocks, int64_t localBlocks, const MaybeTensor &kFilter,
    const MaybeTensor &vFilter, c10::string_view gateMode, double tau,
    std::optional<double> scale) {
  static const auto compress = findOp<Tensor(
      const Tensor &, const MaybeTensor &, const Tensor &, const Tensor &,
      c10::SymInt, c10::SymInt, int64_t, int64_t)>("nsa_compress");
  static const auto compressed =
      findOp<Pair(const Tensor &, const Tensor &, const Tensor &,
                  const Tensor &, const Tensor &, c10::SymInt, int64_t, int64_t,
                  std::optional<double>)>("nsa_compressed_attention");
  static const auto select = findOp<Tensor(
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      const Tensor &, c10::SymInt, int64_t, int64_t, int64_t, int64_t, int64_t,
      int64_t, std::optional<double>, bool)>("nsa_select");
  static const auto selectedAttention =
      findOp<Pair(const Tensor &, const Tensor &, const Tensor &,
                  const Tensor &, const Tensor &, c10::SymInt, int64_t,
                  std::optional<double>)>("nsa_selected_attention");
  static const auto windowAttention =
      findOp<Pair(const Tensor &, const Tensor &, const Tensor &,
                  const Tensor &, c10::SymInt, int64_t, std::optional<double>)>(
          "nsa_window_attention");
  static const auto combine =
      findOp<Pair(const Tensor &, const Tensor &, const Tensor &,
                  const Tensor &, c10::string_view, double)>("nsa_combine");

  TESSERA_CHECK(
      q.dim() == 3 && q.sym_size(2) % 2 == 0, "nsa_attention", "q has shape ",
      q.sym_sizes(),
      " and must be [tokens, query heads, head size], head size even");
  const Tensor k = compress.call(kCmp, kFilter, cuSeqlens, cuCmp, maxSeqlen,
                                 totalCmp, length, stride);
  const Tensor v = compress.call(vCmp, vFilter, cuSeqlens, cuCmp, maxSeqlen,
                                 totalCmp, length, stride);
  const auto [oCmp, lse] = compressed.call(q, k, v, cuSeqlens, cuCmp, maxSeqlen,
                                           length, stride, scale);
  const Tensor indices = select.call(q, k, lse, cuSeqlens, cuCmp, maxSeqlen,
                                     length, stride, selectionLength, selected,
                                     initialBlocks, localBlocks, scale, false);
  const Tensor oSel = std::get<0>(selectedAttention.call(
      q, kSel, vSel, indices, cuSeqlens, maxSeqlen, selectionLength, scale));
  const Tensor oWin = std::get<0>(
      windowAttention.call(q, kWin, vWin, cuSeqlens, maxSeqlen, window, scale));
  auto [out, gates] = combine.call(oCmp, oSel, oWin, gateLogits, gateMode, tau);
  return {out, indices, gates};
}

TORCH_LIBRARY_IMPL(tessera, CompositeImplicitAutograd, m) {
  m.impl("nsa_attention", nsaAttention);
}

} // namespace nsa_attention_op
} // namespace
} // namespace tessera::runtime
