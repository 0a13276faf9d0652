// ops/attention/CustomAttention.cpp - attention by kernels of a user's file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Register.h"
#include "ops/attention/Attention.h"
#include "ops/attention/CustomKernels.h"
#include "ops/attention/Shares.h"

namespace tessera::runtime {
namespace {
namespace custom_attention_op {

using at::Tensor;
using Text = c10::string_view;
using MaybeTensor = std::optional<Tensor>;

struct Custom {
  static constexpr const char *name = "custom_attention";
  static constexpr const char *backwardName = "custom_attention_backward";
  static constexpr std::array<size_t, 1> differentiable = {7}; // learned
};
constexpr const char *opName = Custom::name;

// Adds the learned tensors of a user's kernels, one slice of [T, n, Hq] fp32
// for each name.
void addLearned(NamedTensors &tensors, const CustomKernels &kernels,
                const Attention &a, const MaybeTensor &learned,
                const std::string &prefix = "") {
  const auto &names = kernels.learned;
  TESSERA_CHECK(learned.has_value() == !names.empty(), opName,
                "learned and learned_names go together: a tensor, and a name "
                "for each of its slices");
  if (!learned)
    return;
  TESSERA_CHECK(learned->dim() == 3 && learned->size(0) == a.tokens &&
                    learned->size(1) == int64_t(names.size()) &&
                    learned->size(2) == a.q.size(1),
                opName, "learned is ", learned->sizes(),
                "; it holds a number for each token, name and query head: [",
                a.tokens, ", ", names.size(), ", ", a.q.size(1), "]");
  TESSERA_CHECK(learned->scalar_type() == at::kFloat, opName, "learned is ",
                learned->scalar_type(), "; pass it in float32");
  for (size_t i = 0; i < names.size(); ++i)
    tensors[prefix + names[i]] = learned->select(1, int64_t(i));
}

// Adds the values of the sequences, one row of int32 [n, B] for each name.
void addSequences(NamedTensors &tensors, const CustomKernels &kernels,
                  const Attention &a, const MaybeTensor &values) {
  const auto &names = kernels.perSequence;
  TESSERA_CHECK(values.has_value() == !names.empty(), opName,
                "per_sequence and per_sequence_names go together: a tensor, "
                "and a name for each of its rows");
  if (!values)
    return;
  checkInt32(opName, "per_sequence", *values);
  checkShape(opName, "per_sequence", *values,
             {int64_t(names.size()), a.sequences}, "[names, sequences]");
  for (size_t i = 0; i < names.size(); ++i)
    tensors[names[i]] = values->select(0, int64_t(i)).contiguous();
}

// Allocates LSE or DELTA in the layout of these kernels: fp32 [Hq, T].
Tensor byHeadsContiguous(const Attention &a) {
  return at::empty({a.queryHeads, a.tokens}, a.q.options().dtype(at::kFloat));
}

std::shared_ptr<const CustomKernels> kernelsOf(Text file, Text fwd, Text bwd,
                                               Text constexprs, Text learned,
                                               Text perSequence) {
  return withValueErrors([&] {
    return CustomKernels::find(std::string(file), std::string(fwd),
                               std::string(bwd), std::string(constexprs),
                               std::string(learned), std::string(perSequence));
  });
}

std::tuple<Tensor, Tensor>
forward(const Tensor &q, const Tensor &k, const Tensor &v,
        const Tensor &cuSeqlens, int64_t maxSeqlen, Text file, Text fwd,
        Text bwd, Text constexprs, std::optional<double> scale,
        const MaybeTensor &learned, Text learnedNames,
        const MaybeTensor &perSequence, Text perSequenceNames) {
  const Attention a =
      checkAttention(opName, q, k, v, cuSeqlens, maxSeqlen, scale);
  const auto kernels =
      kernelsOf(file, fwd, bwd, constexprs, learnedNames, perSequenceNames);
  Tensor o = a.emptyOutput(), lse = byHeadsContiguous(a);
  if (!kernels->forward.has("LSE"))
    lse.zero_();
  NamedTensors tensors = {{"Q", a.q}, {"K", a.k},   {"V", a.v},
                          {"O", o},   {"LSE", lse}, {"CU", cuSeqlens}};
  addLearned(tensors, *kernels, a, learned);
  addSequences(tensors, *kernels, a, perSequence);
  kernels->run(kernels->forward, a, tensors);
  return {o, lse};
}

// Adds DK and DV to the tensors. One kernel computes both if the shapes and the
// machine's processors allow it. One kernel rounds differently from two;
// neither result depends on the number of threads.
void launchBackward(const CustomKernels &kernels, const Attention &a,
                    NamedTensors &tensors) {
  const int64_t shares = kernels.onePass ? attentionShares(a) : 0;
  if (shares > 0) {
    tensors["DK"] = emptyShares(a.k, shares);
    tensors["DV"] = emptyShares(a.v, shares);
    kernels.run(*kernels.onePass, a, tensors, shares);
    tensors["DK"] = sumOfShares(tensors["DK"], a.k);
    tensors["DV"] = sumOfShares(tensors["DV"], a.v);
    return;
  }
  tensors["DK"] = at::empty(a.k.sizes(), a.k.options());
  tensors["DV"] = at::empty(a.v.sizes(), a.v.options());
  for (const NamedKernel &kernel : kernels.backward)
    kernels.run(kernel, a, tensors);
}

using Gradients = std::tuple<Tensor, Tensor, Tensor, Tensor>;

Gradients backward(const Tensor &gradO, const MaybeTensor &gradLse,
                   const Tensor &q, const Tensor &k, const Tensor &v,
                   const Tensor &o, const Tensor &lse, const Tensor &cuSeqlens,
                   int64_t maxSeqlen, Text file, Text fwd, Text bwd,
                   Text constexprs, std::optional<double> scale,
                   const MaybeTensor &learned, Text learnedNames,
                   const MaybeTensor &perSequence, Text perSequenceNames) {
  const Attention a = checkAttention(Custom::backwardName, q, k, v, cuSeqlens,
                                     maxSeqlen, scale);
  const auto kernels =
      kernelsOf(file, fwd, bwd, constexprs, learnedNames, perSequenceNames);
  TESSERA_CHECK(!kernels->backward.empty(), opName, "`", fwd, "` of ", file,
                " was given no backward; name its kernel in bwd");
  const bool wantsDelta = kernels->backwardHas("DELTA");
  TESSERA_CHECK(!gradLse || wantsDelta, opName,
                "lse has a gradient, which only a backward with a parameter "
                "DELTA can take; use o alone");
  TESSERA_CHECK(!gradLse || !kernels->forward.has("SINK"), opName,
                "lse has a gradient, which kernels with a sink do not pass on; "
                "use o alone");
  TESSERA_CHECK(!gradLse || !kernels->derived || kernels->learned.empty(),
                opName,
                "lse has a gradient, which a learned number of modify does not "
                "receive; use o alone");
  const Tensor dout = outputGradient(a, gradO);
  NamedTensors tensors = {{"Q", a.q},
                          {"K", a.k},
                          {"V", a.v},
                          {"O", unitLast(o)},
                          {"LSE", lse.contiguous()},
                          {"CU", cuSeqlens},
                          {"DO", dout},
                          {"DQ", at::empty(a.q.sizes(), a.q.options())}};
  if (wantsDelta) {
    const Tensor delta = byHeadsContiguous(a);
    attentionDelta(a, dout, o, gradLse, byTokens(delta));
    tensors["DELTA"] = delta;
  }
  // The gradient needs the strides of the tensor, because the kernels take one
  // set of strides for both.
  const MaybeTensor given =
      learned ? MaybeTensor(learned->contiguous()) : std::nullopt;
  const MaybeTensor gradient =
      given ? MaybeTensor(at::empty_like(*given)) : std::nullopt;
  addLearned(tensors, *kernels, a, given);
  addLearned(tensors, *kernels, a, gradient, "D");
  addSequences(tensors, *kernels, a, perSequence);
  launchBackward(*kernels, a, tensors);
  return {tensors["DQ"], tensors["DK"], tensors["DV"],
          gradient.value_or(at::empty({0}, a.q.options()))};
}

std::tuple<Tensor, Tensor> meta(const Tensor &q, const Tensor &k,
                                const Tensor &v, const Tensor &, c10::SymInt,
                                Text, Text, Text, Text, std::optional<double>,
                                const MaybeTensor &, Text, const MaybeTensor &,
                                Text) {
  auto [o, lse] = metaForward(opName, q, k, v);
  return {o, lse.contiguous()};
}

Gradients metaBack(const Tensor &, const MaybeTensor &, const Tensor &q,
                   const Tensor &k, const Tensor &v, const Tensor &,
                   const Tensor &, const Tensor &, c10::SymInt, Text, Text,
                   Text, Text, std::optional<double>,
                   const MaybeTensor &learned, Text, const MaybeTensor &,
                   Text) {
  return std::tuple_cat(metaBackward(q, k, v),
                        std::tuple(learned ? at::empty_like(*learned)
                                           : at::empty({0}, q.options())));
}

using Function =
    AttentionFunction<Custom, const Tensor &, c10::SymInt, Text, Text, Text,
                      Text, std::optional<double>, const MaybeTensor &, Text,
                      const MaybeTensor &, Text>;

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("custom_attention(Tensor q, Tensor k, Tensor v, Tensor cu_seqlens, "
        "SymInt max_seqlen, str file, str fwd, str bwd, str constexprs=\"\", "
        "float? scale=None, Tensor? learned=None, str learned_names=\"\", "
        "Tensor? per_sequence=None, str per_sequence_names=\"\") -> (Tensor o, "
        "Tensor lse)");
  m.def("custom_attention_backward(Tensor grad_o, Tensor? grad_lse, Tensor q, "
        "Tensor k, Tensor v, Tensor o, Tensor lse, Tensor cu_seqlens, SymInt "
        "max_seqlen, str file, str fwd, str bwd, str constexprs=\"\", float? "
        "scale=None, Tensor? learned=None, str learned_names=\"\", Tensor? "
        "per_sequence=None, str per_sequence_names=\"\") -> (Tensor, Tensor, "
        "Tensor, Tensor)");
}

TESSERA_AUTOGRAD_OP(opName, forward, meta, Function::call);
TESSERA_OP(Custom::backwardName, backward, metaBack);

} // namespace custom_attention_op
} // namespace
} // namespace tessera::runtime
