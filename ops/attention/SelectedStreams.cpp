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

constexpr const char *name = "selected_attention";
constexpr const char *backwardName = "selected_attention_backward";

Pair forward(const Tensor &q, const Tensor &k, const Tensor &v,
             const Tensor &cuSeqlens, int64_t maxSeqlen, const Tensor &indices,
             int64_t block, int64_t window, const MaybeTensor &sink,
             const MaybeTensor &extraK, const MaybeTensor &extraV,
             const MaybeTensor &extraCu, int64_t extraLength,
             int64_t extraStride, std::optional<double> scale) {
  return streamsForward(
      checkStreams(name, q, k, v,
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
      checkStreams(backwardName, q, k, v,
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
  return metaForward(name, q, k, v);
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

using Forward = Pair(const Tensor &, const Tensor &, const Tensor &,
                     const Tensor &, c10::SymInt, const Tensor &, int64_t,
                     int64_t, const MaybeTensor &, const MaybeTensor &,
                     const MaybeTensor &, const MaybeTensor &, int64_t, int64_t,
                     std::optional<double>);
using Backward = Gradients(const Tensor &, const MaybeTensor &, const Tensor &,
                           const Tensor &, const Tensor &, const Tensor &,
                           const Tensor &, const Tensor &, c10::SymInt,
                           const Tensor &, int64_t, int64_t,
                           const MaybeTensor &, const MaybeTensor &,
                           const MaybeTensor &, const MaybeTensor &, int64_t,
                           int64_t, std::optional<double>);

struct Function : torch::autograd::Function<Function> {
  static variable_list
  forward(AutogradContext *ctx, const Tensor &q, const Tensor &k,
          const Tensor &v, const Tensor &cuSeqlens, c10::SymInt maxSeqlen,
          const Tensor &indices, int64_t block, int64_t window,
          const MaybeTensor &sink, const MaybeTensor &extraK,
          const MaybeTensor &extraV, const MaybeTensor &extraCu,
          int64_t extraLength, int64_t extraStride,
          std::optional<double> scale) {
    at::AutoDispatchBelowADInplaceOrView below;
    ctx->set_materialize_grads(false); // backward() asks which are defined
    static const auto op = findOp<Forward>(name);
    auto [o, lse] =
        op.call(q, k, v, cuSeqlens, maxSeqlen, indices, block, window, sink,
                extraK, extraV, extraCu, extraLength, extraStride, scale);
    const auto tensor = [](const MaybeTensor &x) {
      return x.value_or(Tensor());
    };
    ctx->save_for_backward({q, k, v, o, lse, cuSeqlens, indices, tensor(sink),
                            tensor(extraK), tensor(extraV), tensor(extraCu)});
    ctx->saved_data["max_seqlen"] = maxSeqlen;
    ctx->saved_data["integers"] =
        std::vector<int64_t>{block, window, extraLength, extraStride};
    ctx->saved_data["scale"] = scale;
    return {o, lse};
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    static const auto op = findOp<Backward>(backwardName);
    const variable_list saved = ctx->get_saved_variables();
    const Tensor gradO =
        grads[0].defined()
            ? grads[0]
            : Tensor(saved[3].new_zeros_symint(saved[3].sym_sizes()));
    const auto maybe = [](const Tensor &x) {
      return x.defined() ? MaybeTensor(x) : std::nullopt;
    };
    const std::vector<int64_t> integers =
        ctx->saved_data["integers"].toIntVector();
    auto [dq, dk, dv, dsink, dextraK, dextraV] =
        op.call(gradO, maybe(grads[1]), saved[0], saved[1], saved[2], saved[3],
                saved[4], saved[5], ctx->saved_data["max_seqlen"].toSymInt(),
                saved[6], integers[0], integers[1], maybe(saved[7]),
                maybe(saved[8]), maybe(saved[9]), maybe(saved[10]), integers[2],
                integers[3], ctx->saved_data["scale"].toOptional<double>());
    const auto of = [](const Tensor &x, const Tensor &gradient) {
      return x.defined() ? gradient : Tensor();
    };
    return {dq,
            dk,
            dv,
            {},
            {},
            {},
            {},
            {},
            of(saved[7], dsink),
            of(saved[8], dextraK),
            of(saved[9], dextraV),
            {},
            {},
            {},
            {}};
  }
};

Pair autograd(const Tensor &q, const Tensor &k, const Tensor &v,
              const Tensor &cuSeqlens, c10::SymInt maxSeqlen,
              const Tensor &indices, int64_t block, int64_t window,
              const MaybeTensor &sink, const MaybeTensor &extraK,
              const MaybeTensor &extraV, const MaybeTensor &extraCu,
              int64_t extraLength, int64_t extraStride,
              std::optional<double> scale) {
  const variable_list out = Function::apply(
      q, k, v, cuSeqlens, std::move(maxSeqlen), indices, block, window, sink,
      extraK, extraV, extraCu, extraLength, extraStride, scale);
  return {out[0], out[1]};
}

TESSERA_AUTOGRAD_OP(name, forward, meta, autograd);
TESSERA_OP(backwardName, backward, metaBack);

} // namespace selected_streams_op
} // namespace
} // namespace tessera::runtime
