// ops/attention/GatedAttention.cpp - the three branches over compressed tokens
// and their gated sum, as one autograd node.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Register.h"
#include "ops/attention/Branches.h"

namespace tessera::runtime {
namespace {
namespace gated_attention_op {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using Pair = std::tuple<Tensor, Tensor>;
using Triple = std::tuple<Tensor, Tensor, Tensor>;

constexpr const char *name = "nsa_gated_attention";

// Arguments of the op, in the order of its schema.
struct Inputs {
  const Tensor &q, &kCmp, &vCmp, &kSel, &vSel, &kWin, &vWin, &gateLogits;
  const Tensor &cuSeqlens, &cuCmp;
  c10::SymInt maxSeqlen;
  int64_t length, stride, selectionLength, selected, window, initialBlocks,
      localBlocks;
  c10::string_view gateMode;
  double tau;
  std::optional<double> scale;
};

constexpr size_t numArguments = 21;

struct Outputs {
  Tensor out, indices, gates;
  Pair cmp, sel, win;             // o and lse
  MaybeTensor lists, counts = {}; // empty if kernels take no lists
};

Pair selectedBranch(const Inputs &in, Outputs &to) {
  static const auto plain =
      findOp<Pair(const Tensor &, const Tensor &, const Tensor &,
                  const Tensor &, const Tensor &, c10::SymInt, int64_t,
                  std::optional<double>)>("nsa_selected_attention");
  static const auto makeLists =
      findOp<Pair(const Tensor &, const Tensor &, c10::SymInt, int64_t,
                  int64_t)>("nsa_block_lists");
  static const auto listed =
      findOp<Pair(const Tensor &, const Tensor &, const Tensor &,
                  const Tensor &, const Tensor &, const Tensor &,
                  const Tensor &, c10::SymInt, int64_t, std::optional<double>)>(
          "nsa_listed_attention");
  if (in.selected == 0 || readsPackedKeys(in.q))
    return plain.call(in.q, in.kSel, in.vSel, to.indices, in.cuSeqlens,
                      in.maxSeqlen, in.selectionLength, in.scale);
  std::tie(to.lists, to.counts) =
      makeLists.call(to.indices, in.cuSeqlens, in.maxSeqlen, in.selectionLength,
                     in.q.size(1) / in.kSel.size(1));
  return listed.call(in.q, in.kSel, in.vSel, to.indices, *to.lists, *to.counts,
                     in.cuSeqlens, in.maxSeqlen, in.selectionLength, in.scale);
}

// Calls the ops through torch's dispatcher, so that their meta functions apply
// to meta tensors.
Outputs runStages(const Inputs &in) {
  static const auto compressed = findOp<Triple(
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      const Tensor &, c10::SymInt, int64_t, int64_t, int64_t, int64_t, int64_t,
      int64_t, std::optional<double>)>("nsa_compressed_selection");
  static const auto windowed =
      findOp<Pair(const Tensor &, const Tensor &, const Tensor &,
                  const Tensor &, c10::SymInt, int64_t, std::optional<double>)>(
          "nsa_window_attention");
  static const auto combine =
      findOp<Pair(const Tensor &, const Tensor &, const Tensor &,
                  const Tensor &, c10::string_view, double)>("nsa_combine");
  TESSERA_CHECK(in.gateLogits.dim() == 3 &&
                    in.gateLogits.sym_size(1) == in.kCmp.sym_size(1),
                name, "gate_logits has shape ", in.gateLogits.sym_sizes(),
                " and must be [tokens, key heads, 3] for ", in.kCmp.sym_size(1),
                " key heads");
  Outputs to;
  std::tie(std::get<0>(to.cmp), std::get<1>(to.cmp), to.indices) =
      compressed.call(in.q, in.kCmp, in.vCmp, in.cuSeqlens, in.cuCmp,
                      in.maxSeqlen, in.length, in.stride, in.selectionLength,
                      in.selected, in.initialBlocks, in.localBlocks, in.scale);
  to.sel = selectedBranch(in, to);
  to.win = windowed.call(in.q, in.kWin, in.vWin, in.cuSeqlens, in.maxSeqlen,
                         in.window, in.scale);
  std::tie(to.out, to.gates) =
      combine.call(std::get<0>(to.cmp), std::get<0>(to.sel),
                   std::get<0>(to.win), in.gateLogits, in.gateMode, in.tau);
  return to;
}

using Gradients =
    std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;
using Backward = Gradients(const Tensor &, at::TensorList, const Tensor &,
                           const Tensor &, const Tensor &, const Tensor &,
                           at::TensorList, at::TensorList, at::TensorList,
                           const Tensor &, const Tensor &, c10::SymInt, int64_t,
                           int64_t, int64_t, int64_t, c10::string_view, double,
                           std::optional<double>);

struct Function : torch::autograd::Function<Function> {
  template <typename... Argument>
  static variable_list forward(AutogradContext *ctx,
                               const Argument &...arguments) {
    at::AutoDispatchBelowADInplaceOrView below;
    const Inputs in = {arguments...};
    const Outputs to = runStages(in);
    const auto &[oCmp, lseCmp] = to.cmp;
    const auto &[oSel, lseSel] = to.sel;
    const auto &[oWin, lseWin] = to.win;
    ctx->save_for_backward({in.q,
                            in.kCmp,
                            in.vCmp,
                            in.kSel,
                            in.vSel,
                            in.kWin,
                            in.vWin,
                            in.gateLogits,
                            in.cuSeqlens,
                            in.cuCmp,
                            to.gates,
                            to.indices,
                            oCmp,
                            oSel,
                            oWin,
                            lseCmp,
                            lseSel,
                            lseWin,
                            to.lists.value_or(Tensor()),
                            to.counts.value_or(Tensor())});
    auto &data = ctx->saved_data;
    data["max_seqlen"] = in.maxSeqlen;
    data["sizes"] = std::vector<int64_t>{in.length, in.stride,
                                         in.selectionLength, in.window};
    data["gate_mode"] = std::string(in.gateMode);
    data["tau"] = in.tau;
    data["scale"] = in.scale;
    ctx->mark_non_differentiable({to.indices, to.gates});
    ctx->set_materialize_grads(false); // zeros for indices and gates
    return {to.out, to.indices, to.gates};
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    if (!grads[0].defined())
      return variable_list(numArguments);
    static const auto op = findOp<Backward>("nsa_gated_attention_backward");
    const variable_list s = ctx->get_saved_variables();
    auto &data = ctx->saved_data;
    const std::vector<int64_t> sizes = data["sizes"].toIntVector();
    const variable_list pairs(s.begin() + 1, s.begin() + 7),
        outputs(s.begin() + 12, s.begin() + 15),
        lses(s.begin() + 15, s.begin() + 18);
    variable_list lists;
    if (s[18].defined())
      lists = {s[18], s[19]};
    auto [dq, dkCmp, dvCmp, dkSel, dvSel, dkWin, dvWin, dLogits] =
        op.call(grads[0], pairs, s[0], s[7], s[10], s[11], outputs, lses, lists,
                s[8], s[9], data["max_seqlen"].toSymInt(), sizes[0], sizes[1],
                sizes[2], sizes[3], data["gate_mode"].toStringView(),
                data["tau"].toDouble(), data["scale"].toOptional<double>());
    variable_list result{dq, dkCmp, dvCmp, dkSel, dvSel, dkWin, dvWin, dLogits};
    result.resize(numArguments);
    return result;
  }
};

// The kernels that are registered with torch. `Argument` are the types of the
// schema.
template <typename... Argument>
struct Kernels {
  static_assert(sizeof...(Argument) == numArguments);
  static Triple forward(Argument... arguments) {
    const Outputs to = runStages({std::forward<Argument>(arguments)...});
    return {to.out, to.indices, to.gates};
  }
  static Triple autograd(Argument... arguments) {
    const variable_list out = Function::apply(arguments...);
    return {out[0], out[1], out[2]};
  }
};

using Op =
    Kernels<const Tensor &, const Tensor &, const Tensor &, const Tensor &,
            const Tensor &, const Tensor &, const Tensor &, const Tensor &,
            const Tensor &, const Tensor &, c10::SymInt, int64_t, int64_t,
            int64_t, int64_t, int64_t, int64_t, int64_t, c10::string_view,
            double, std::optional<double>>;

TESSERA_AUTOGRAD_OP(name, Op::forward, Op::forward, Op::autograd);

} // namespace gated_attention_op
} // namespace
} // namespace tessera::runtime
