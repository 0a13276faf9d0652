// ops/attention/Combine.cpp - gates, and the gated sum of the three branches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Check.h"
#include "ops/Register.h"
#include "ops/launch/EmptyTensor.h"
#include "ops/launch/Launch.h"

#include <ATen/ops/empty.h>

namespace tessera::runtime {
namespace {
namespace combine_op {

using at::Tensor;

bool isSoftmax(const char *op, c10::string_view mode) {
  TESSERA_CHECK(mode == "softmax" || mode == "sigmoid", op, "gate_mode is \"",
                mode, "\" and must be \"softmax\" or \"sigmoid\"");
  return mode == "softmax";
}

void check(const char *op, const Tensor &cmp, const Tensor &sel,
           const Tensor &win, const Tensor &logits, double tau) {
  checkRank(op, "o_cmp", cmp, 3);
  checkFloating(op, "o_cmp", cmp);
  checkSameType(op, "o_sel", sel, "o_cmp", cmp);
  checkSameType(op, "o_win", win, "o_cmp", cmp);
  checkShape(op, "o_sel", sel, cmp.sizes(), "the shape of o_cmp");
  checkShape(op, "o_win", win, cmp.sizes(), "the shape of o_cmp");
  checkRank(op, "gate_logits", logits, 3);
  checkFloating(op, "gate_logits", logits);
  TESSERA_CHECK(logits.size(0) == cmp.size(0) && logits.size(2) == 3 &&
                    logits.size(1) > 0 && cmp.size(1) % logits.size(1) == 0,
                op, "gate_logits has shape ", logits.sizes(), " and must be [",
                cmp.size(0), ", key heads, 3] where the key heads divide ",
                cmp.size(1), " query heads");
  TESSERA_CHECK(tau > 0, op, "tau is ", tau, " and must be positive");
}

// Makes the three branches share one pair of strides, because the kernels take
// only one.
void shareStrides(Tensor &cmp, Tensor &sel, Tensor &win) {
  if (cmp.stride(2) == 1 && cmp.strides() == sel.strides() &&
      cmp.strides() == win.strides())
    return;
  cmp = cmp.contiguous();
  sel = sel.contiguous();
  win = win.contiguous();
}

std::tuple<Tensor, Tensor> forward(const Tensor &oCmp, const Tensor &oSel,
                                   const Tensor &oWin, const Tensor &gateLogits,
                                   c10::string_view mode, double tau) {
  const char *op = "nsa_combine";
  const bool softmax = isSoftmax(op, mode);
  check(op, oCmp, oSel, oWin, gateLogits, tau);
  Tensor cmp = oCmp, sel = oSel, win = oWin;
  shareStrides(cmp, sel, win);
  const Tensor logits = unitLast(gateLogits);
  Tensor gates = at::empty(logits.sizes(), logits.options().dtype(at::kFloat));
  Tensor out = emptyTensor(cmp.sizes(), cmp.options());
  Launch launch("kernels/nsa/gate_fwd.py", "gate_fwd");
  launch.tensor(cmp)
      .tensor(sel)
      .tensor(win)
      .tensor(logits)
      .tensor(gates)
      .tensor(out);
  launch.integer(cmp.size(0)).real(1 / tau);
  launch.strides(cmp).strides(logits).strides(gates).strides(out);
  launch.constant("G", cmp.size(1) / logits.size(1))
      .padded("E", "EP", cmp.size(2));
  launch.constant("SOFTMAX", softmax);
  launch.run(ceilDiv(cmp.size(0), launch.tile("BT")), logits.size(1));
  return {out, gates};
}

std::tuple<Tensor, Tensor, Tensor, Tensor>
backward(const Tensor &gradOut, const Tensor &oCmp, const Tensor &oSel,
         const Tensor &oWin, const Tensor &gates, const Tensor &logits,
         c10::string_view mode, double tau) {
  const char *op = "nsa_combine_backward";
  const bool softmax = isSoftmax(op, mode);
  check(op, oCmp, oSel, oWin, logits, tau);
  checkShape(op, "grad", gradOut, oCmp.sizes(), "the shape of o_cmp");
  checkShape(op, "gates", gates, logits.sizes(), "the shape of gate_logits");
  Tensor cmp = oCmp, sel = oSel, win = oWin;
  shareStrides(cmp, sel, win);
  const Tensor grad = unitLast(gradOut.to(cmp.scalar_type()));
  const Tensor weights = unitLast(gates);
  Tensor dcmp = emptyTensor(cmp.sizes(), cmp.options());
  Tensor dsel = emptyTensor(cmp.sizes(), cmp.options());
  Tensor dwin = emptyTensor(cmp.sizes(), cmp.options());
  Tensor dlogits = at::empty(logits.sizes(), logits.options());
  Tensor deltas = at::empty({3, cmp.size(0), cmp.size(1)}, gates.options());
  Launch launch("kernels/nsa/gate_bwd.py", "gate_bwd");
  launch.tensor(grad).tensor(cmp).tensor(sel).tensor(win).tensor(weights);
  launch.tensor(dcmp).tensor(dsel).tensor(dwin).tensor(dlogits).tensor(deltas);
  launch.integer(cmp.size(0)).real(1 / tau);
  launch.strides(grad).strides(cmp).strides(weights).strides(dcmp).strides(
      dlogits);
  launch.constant("G", cmp.size(1) / logits.size(1))
      .padded("E", "EP", cmp.size(2));
  launch.constant("SOFTMAX", softmax);
  launch.run(ceilDiv(cmp.size(0), launch.tile("BT")), logits.size(1));
  return {dcmp, dsel, dwin, dlogits};
}

std::tuple<Tensor, Tensor> meta(const Tensor &cmp, const Tensor &,
                                const Tensor &, const Tensor &logits,
                                c10::string_view, double) {
  return {
      at::empty_symint(cmp.sym_sizes(), cmp.options()),
      at::empty_symint(logits.sym_sizes(), logits.options().dtype(at::kFloat))};
}

std::tuple<Tensor, Tensor, Tensor, Tensor>
metaBack(const Tensor &, const Tensor &cmp, const Tensor &sel,
         const Tensor &win, const Tensor &, const Tensor &logits,
         c10::string_view, double) {
  return {at::empty_symint(cmp.sym_sizes(), cmp.options()),
          at::empty_symint(sel.sym_sizes(), sel.options()),
          at::empty_symint(win.sym_sizes(), win.options()),
          at::empty_symint(logits.sym_sizes(), logits.options())};
}

struct Function : torch::autograd::Function<Function> {
  static variable_list forward(AutogradContext *ctx, const Tensor &cmp,
                               const Tensor &sel, const Tensor &win,
                               const Tensor &logits, const std::string &mode,
                               double tau) {
    at::AutoDispatchBelowADInplaceOrView below;
    static const auto op = findOp<std::tuple<Tensor, Tensor>(
        const Tensor &, const Tensor &, const Tensor &, const Tensor &,
        c10::string_view, double)>("nsa_combine");
    auto [out, gates] = op.call(cmp, sel, win, logits, mode, tau);
    ctx->save_for_backward({cmp, sel, win, logits, gates});
    ctx->saved_data["mode"] = mode;
    ctx->saved_data["tau"] = tau;
    ctx->mark_non_differentiable({gates});
    return {out, gates};
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    static const auto op = findOp<std::tuple<Tensor, Tensor, Tensor, Tensor>(
        const Tensor &, const Tensor &, const Tensor &, const Tensor &,
        const Tensor &, const Tensor &, c10::string_view, double)>(
        "nsa_combine_backward");
    const variable_list saved = ctx->get_saved_variables();
    auto [dcmp, dsel, dwin, dlogits] =
        op.call(grads[0], saved[0], saved[1], saved[2], saved[4], saved[3],
                ctx->saved_data["mode"].toStringView(),
                ctx->saved_data["tau"].toDouble());
    return {dcmp, dsel, dwin, dlogits, {}, {}};
  }
};

std::tuple<Tensor, Tensor> autograd(const Tensor &cmp, const Tensor &sel,
                                    const Tensor &win, const Tensor &logits,
                                    c10::string_view mode, double tau) {
  const variable_list out =
      Function::apply(cmp, sel, win, logits, std::string(mode), tau);
  return {out[0], out[1]};
}

TESSERA_AUTOGRAD_OP("nsa_combine", forward, meta, autograd);
TESSERA_OP("nsa_combine_backward", backward, metaBack);

} // namespace combine_op
} // namespace
} // namespace tessera::runtime
