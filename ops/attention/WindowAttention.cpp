// ops/attention/WindowAttention.cpp - NSA's sliding-window branch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Register.h"
#include "ops/attention/Attention.h"
#include "ops/attention/Branches.h"
#include "ops/attention/OrderedBackward.h"
#include "ops/launch/EmptyTensor.h"

namespace tessera::runtime {
namespace {
namespace window_attention_op {

using at::Tensor;

struct Window {
  static constexpr const char *name = "nsa_window_attention";
  static constexpr const char *backwardName = "nsa_window_attention_backward";
};

std::tuple<Tensor, Tensor> forward(const Tensor &q, const Tensor &k,
                                   const Tensor &v, const Tensor &cuSeqlens,
                                   int64_t maxSeqlen, int64_t window,
                                   std::optional<double> scale) {
  const Attention a =
      checkAttention(Window::name, q, k, v, cuSeqlens, maxSeqlen, scale);
  checkNotNegative(Window::name, "window", window);
  if (window == 0) // the branch is off
    return a.noKeys();
  return launchForward(a, {{{"W", window}}}, "kernels/nsa/window_fwd.py",
                       "window_fwd");
}

std::tuple<Tensor, Tensor, Tensor>
backward(const Tensor &gradO, const std::optional<Tensor> &gradLse,
         const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &o,
         const Tensor &lse, const Tensor &cuSeqlens, int64_t maxSeqlen,
         int64_t window, std::optional<double> scale) {
  const Attention a = checkAttention(Window::backwardName, q, k, v, cuSeqlens,
                                     maxSeqlen, scale);
  if (window == 0)
    return a.zeroGradients();
  const RowGradient rows = rowGradient(a, gradO, gradLse, o, lse);
  if (takesOrderedBackward(a)) {
    const Tensor sum = emptyQuerySum(a);
    auto [dk, dv] = orderedWindowGradients(a, window, rows, sum);
    return {finishedQuerySum(a, sum), dk, dv};
  }
  const Tensor dq = emptyTensor(a.q.sizes(), a.q.options());
  auto [dk, dv] = windowGradients(a, window, rows, {dq});
  return {dq, dk, dv};
}

std::tuple<Tensor, Tensor> meta(const Tensor &q, const Tensor &k,
                                const Tensor &v, const Tensor &, c10::SymInt,
                                int64_t, std::optional<double>) {
  return metaForward(Window::name, q, k, v);
}

std::tuple<Tensor, Tensor, Tensor>
metaBack(const Tensor &, const std::optional<Tensor> &, const Tensor &q,
         const Tensor &k, const Tensor &v, const Tensor &, const Tensor &,
         const Tensor &, c10::SymInt, int64_t, std::optional<double>) {
  return metaBackward(q, k, v);
}

using Function = AttentionFunction<Window, const Tensor &, c10::SymInt, int64_t,
                                   std::optional<double>>;

TESSERA_AUTOGRAD_OP(Window::name, forward, meta, Function::call);
TESSERA_OP(Window::backwardName, backward, metaBack);

} // namespace window_attention_op
} // namespace

std::tuple<at::Tensor, at::Tensor>
windowGradients(const Attention &a, int64_t window, const RowGradient &rows,
                const QueryGradient &to,
                std::optional<at::ScalarType> gradients) {
  const char *file = "kernels/nsa/window_bwd.py";
  Branch branch{{{"W", window}}};
  branch.ownTiles = true;
  branch.gradients = gradients;
  launchDq(a, branch, rows, to, file, "window_bwd_dq");
  return launchDkDv(a, branch, rows, file, "window_bwd_dkdv");
}

std::tuple<at::Tensor, at::Tensor>
orderedWindowGradients(const Attention &a, int64_t window,
                       const RowGradient &rows, const at::Tensor &sum) {
  return launchOrdered(a, {{{"W", window}}}, rows, sum, false,
                       "kernels/nsa/window_bwd_ordered.py",
                       "window_bwd_ordered");
}

} // namespace tessera::runtime
