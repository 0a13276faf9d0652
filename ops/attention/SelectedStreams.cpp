// ops/attention/SelectedStreams.cpp - the op tessera::selected_attention.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Register.h"
#include "ops/attention/KeyStreams.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

namespace tessera::runtime {
namespace {
namespace selected_streams_op {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using Pair = std::tuple<Tensor, Tensor>;
using Gradients = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;

struct Streams {
  static constexpr const char *name = "selected_attention";
  static constexpr const char *backwardName = "selected_attention_backward";
  // Argument numbers of the sink, extra_k and extra_v.
  static constexpr std::array<size_t, 3> differentiable = {5, 6, 7};
};

Pair forward(const Tensor &q, const Tensor &k, const Tensor &v,
             const Tensor &cuSeqlens, int64_t maxSeqlen, const Tensor &indices,
             int64_t block, int64_t window, const MaybeTensor &sink,
             const MaybeTensor &extraK, const MaybeTensor &extraV,
             const MaybeTensor &extraCu, int64_t extraLength,
             int64_t extraStride, std::optional<double> scale) {
  return streamsForward(
      checkStreams(Streams::name, q, k, v,
                   {cuSeqlens, maxSeqlen, indices, block, window, sink, extraK,
                    extraV, extraCu, extraLength, extraStride, scale}));
}

Gradients backward(const Tensor &gradO, const MaybeTensor &gradLse,
                   const Tensor &q, const Tensor &k, const Tensor &v,
                   const Tensor &o, const Tensor &lse, const Tensor &cuSeqlens,
                   int64_t maxSeqlen, const Tensor &indices, int64_t block,
                   int64_t window, const MaybeTensor &sink,
                   const MaybeTensor &extraK, const MaybeTensor &extraV,
                   const MaybeTensor &extraCu, int64_t extraLength,
                   int64_t extraStride, std::optional<double> scale) {
  const KeyStreams streams =
      checkStreams(Streams::backwardName, q, k, v,
                   {cuSeqlens, maxSeqlen, indices, block, window, sink, extraK,
                    extraV, extraCu, extraLength, extraStride, scale});
  auto [dq, dk, dv, dsink, dextraK, dextraV] =
      streamsBackward(streams, gradO, gradLse, o, lse);
  return {dq, dk, dv, dsink, dextraK, dextraV};
}

Pair meta(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &,
          c10::SymInt, const Tensor &, int64_t, int64_t, const MaybeTensor &,
          const MaybeTensor &, const MaybeTensor &, const MaybeTensor &,
          int64_t, int64_t, std::optional<double>) {
  return metaForward(Streams::name, q, k, v);
}

Gradients metaBack(const Tensor &, const MaybeTensor &, const Tensor &q,
                   const Tensor &k, const Tensor &v, const Tensor &,
                   const Tensor &, const Tensor &, c10::SymInt, const Tensor &,
                   int64_t, int64_t, const MaybeTensor &sink,
                   const MaybeTensor &extraK, const MaybeTensor &extraV,
                   const MaybeTensor &, int64_t, int64_t,
                   std::optional<double>) {
  const auto like = [&](const MaybeTensor &x) {
    return x ? at::empty_symint(x->sym_sizes(), x->options())
             : at::empty({0}, q.options());
  };
  return std::tuple_cat(metaBackward(q, k, v),
                        std::tuple(like(sink), like(extraK), like(extraV)));
}

using Function = AttentionFunction<
    Streams, const Tensor &, c10::SymInt, const Tensor &, int64_t, int64_t,
    const MaybeTensor &, const MaybeTensor &, const MaybeTensor &,
    const MaybeTensor &, int64_t, int64_t, std::optional<double>>;

TESSERA_AUTOGRAD_OP(Streams::name, forward, meta, Function::call);
TESSERA_OP(Streams::backwardName, backward, metaBack);

} // namespace selected_streams_op
} // namespace
} // namespace tessera::runtime
