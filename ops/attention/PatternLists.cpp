// ops/attention/PatternLists.cpp - attention to selected blocks by the kernels
// that are derived from a pattern.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Register.h"
#include "ops/attention/KeyStreams.h"
#include "runtime/launch/PatternFile.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

namespace tessera::runtime {
namespace {
namespace pattern_lists_op {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using Text = c10::string_view;
using Pair = std::tuple<Tensor, Tensor>;
using Gradients = std::tuple<Tensor, Tensor, Tensor, Tensor>;

constexpr const char *opName = "pattern_list_attention";
constexpr const char *backwardName = "pattern_list_attention_backward";
constexpr const char *massName = "pattern_list_mass";

struct Call {
  KeyStreams streams; // `selection.kernels` is null: it may be copied
  ListKernels kernels;
  bool hasSink = false;

  // Those of the kernels included; the call outlives the result.
  KeyStreams withKernels() const {
    KeyStreams all = streams;
    all.selection.kernels = &kernels;
    return all;
  }
};

// Checks the arguments. `learned` is fp32 [names, Hq], the sink first.
Call callOf(const char *op, const Tensor &q, const Tensor &k, const Tensor &v,
            const Tensor &cuSeqlens, int64_t maxSeqlen, const Tensor &indices,
            int64_t block, Text file, Text constexprs,
            const MaybeTensor &learned, std::optional<double> scale) {
  const auto pattern =
      withValueErrors([&] { return readPatternFile(std::string(file)); });
  TESSERA_CHECK(pattern->selection && pattern->selection->derived, op,
                pattern->path,
                " has no kernels for selected blocks; name a pattern with "
                "select(...) and a function modify or a sees other than "
                "pos <= t");
  const auto &names = pattern->learned;
  TESSERA_CHECK(learned.has_value() == !names.empty(), op, pattern->path,
                " has ", names.size(),
                " learned tensors; pass learned [names, "
                "query heads] where there are any");
  Call call;
  call.hasSink = !names.empty() && names.front() == "SINK";
  MaybeTensor sink;
  if (learned) {
    checkRank(op, "q", q, 3);
    checkShape(op, "learned", *learned, {int64_t(names.size()), q.size(1)},
               "[names, query heads]");
    TESSERA_CHECK(learned->scalar_type() == at::kFloat, op, "learned is ",
                  learned->scalar_type(), "; pass it in float32");
    if (call.hasSink)
      sink = learned->select(0, 0);
  }
  call.streams = checkStreams(
      op, q, k, v,
      {cuSeqlens, maxSeqlen, indices, block, 0, sink, {}, {}, {}, 1, 1, scale});
  call.streams.selection.byBlocks = false;
  call.kernels = {
      pattern->path, pattern->name, std::string(constexprs), {}, {}, {}};
  // The same number for all tokens.
  const auto rows = [&](int64_t i) {
    return learned->select(0, i).contiguous().expand({q.size(0), q.size(1)});
  };
  if (int64_t(names.size()) > int64_t(call.hasSink)) {
    call.kernels.learned = rows(call.hasSink);
    if (call.hasSink)
      call.kernels.sink = rows(0);
  }
  return call;
}

Pair forward(const Tensor &q, const Tensor &k, const Tensor &v,
             const Tensor &cuSeqlens, int64_t maxSeqlen, const Tensor &indices,
             int64_t block, Text file, Text constexprs,
             const MaybeTensor &learned, std::optional<double> scale) {
  const Call call = callOf(opName, q, k, v, cuSeqlens, maxSeqlen, indices,
                           block, file, constexprs, learned, scale);
  return streamsForward(call.withKernels());
}

Gradients backward(const Tensor &gradO, const MaybeTensor &gradLse,
                   const Tensor &q, const Tensor &k, const Tensor &v,
                   const Tensor &o, const Tensor &lse, const Tensor &cuSeqlens,
                   int64_t maxSeqlen, const Tensor &indices, int64_t block,
                   Text file, Text constexprs, const MaybeTensor &learned,
                   std::optional<double> scale) {
  Call call = callOf(backwardName, q, k, v, cuSeqlens, maxSeqlen, indices,
                     block, file, constexprs, learned, scale);
  ListKernels &kernels = call.kernels;
  TESSERA_CHECK(!gradLse || !kernels.learned.defined(), opName,
                "lse has a gradient, which a learned number of modify does not "
                "receive; use o alone");
  if (kernels.learned.defined())
    kernels.learnedGradient = call.streams.attention.emptyRows().zero_();
  const StreamGradients made =
      streamsBackward(call.withKernels(), gradO, gradLse, o, lse);
  if (!learned)
    return {made.q, made.k, made.v, at::empty({0}, q.options())};
  Tensor gradient = at::zeros_like(*learned);
  if (call.hasSink)
    gradient.select(0, 0).copy_(made.sink);
  if (kernels.learned.defined())
    gradient.select(0, call.hasSink).copy_(kernels.learnedGradient.sum(0));
  return {made.q, made.k, made.v, gradient};
}

Tensor mass(const Tensor &q, const Tensor &k, const Tensor &lse,
            const Tensor &cuSeqlens, int64_t maxSeqlen, const Tensor &indices,
            int64_t block, Text file, Text constexprs,
            const MaybeTensor &learned, std::optional<double> scale) {
  const Call call = callOf(massName, q, k, k, cuSeqlens, maxSeqlen, indices,
                           block, file, constexprs, learned, scale);
  const Attention &a = call.streams.listed;
  const Selection &of = call.streams.selection;
  const Tensor rows = lseRows(a, lse);
  const Tensor result =
      at::empty(of.indices.sizes(), q.options().dtype(at::kFloat));
  const std::string name = call.kernels.name + "_list_mass";
  if (result.numel() > 0) {
    Launch launch(call.kernels.file, name, call.kernels.constants);
    launch.rows("q", a.q).rows("k", a.k).rows("lse", rows);
    launch.tensor("IDX", of.indices).tensor("MASS", result);
    launch.tensor("CU", cuSeqlens).real("scale", a.scale);
    launch.integer("T", a.tokens).integer("nseq", a.sequences);
    if (call.kernels.learned.defined())
      launch.rows("LEARNED", call.kernels.learned);
    launch.padded("G", "GP", a.group).constant("LSEL", block);
    launch.constant("NSEL", of.indices.size(2)).constant("SHARE", of.share);
    launch.keyHead(a.keyDim).sequence(maxSeqlen);
    launch.run(tileCount(a.tokens, 1, a.sequences), a.keyHeads);
  }
  // The list of all heads was read for each key head.
  return result.unflatten(0, {indices.size(0), -1}).sum(1);
}

Pair meta(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &,
          c10::SymInt, const Tensor &, int64_t, Text, Text, const MaybeTensor &,
          std::optional<double>) {
  return metaForward(opName, q, k, v);
}

Gradients metaBack(const Tensor &, const MaybeTensor &, const Tensor &q,
                   const Tensor &k, const Tensor &v, const Tensor &,
                   const Tensor &, const Tensor &, c10::SymInt, const Tensor &,
                   int64_t, Text, Text, const MaybeTensor &learned,
                   std::optional<double>) {
  return std::tuple_cat(metaBackward(q, k, v),
                        std::tuple(learned ? at::empty_like(*learned)
                                           : at::empty({0}, q.options())));
}

Tensor metaMass(const Tensor &q, const Tensor &, const Tensor &, const Tensor &,
                c10::SymInt, const Tensor &indices, int64_t, Text, Text,
                const MaybeTensor &, std::optional<double>) {
  return at::empty_symint(indices.sym_sizes(), q.options().dtype(at::kFloat));
}

using Forward = Pair(const Tensor &, const Tensor &, const Tensor &,
                     const Tensor &, c10::SymInt, const Tensor &, int64_t, Text,
                     Text, const MaybeTensor &, std::optional<double>);
using Backward = Gradients(const Tensor &, const MaybeTensor &, const Tensor &,
                           const Tensor &, const Tensor &, const Tensor &,
                           const Tensor &, const Tensor &, c10::SymInt,
                           const Tensor &, int64_t, Text, Text,
                           const MaybeTensor &, std::optional<double>);

struct Function : torch::autograd::Function<Function> {
  static variable_list
  forward(AutogradContext *ctx, const Tensor &q, const Tensor &k,
          const Tensor &v, const Tensor &cuSeqlens, c10::SymInt maxSeqlen,
          const Tensor &indices, int64_t block, const std::string &file,
          const std::string &constexprs, const MaybeTensor &learned,
          std::optional<double> scale) {
    at::AutoDispatchBelowADInplaceOrView below;
    ctx->set_materialize_grads(false); // backward() asks which are defined
    static const auto op = findOp<Forward>(opName);
    auto [o, lse] = op.call(q, k, v, cuSeqlens, maxSeqlen, indices, block, file,
                            constexprs, learned, scale);
    ctx->save_for_backward(
        {q, k, v, o, lse, cuSeqlens, indices, learned.value_or(Tensor())});
    ctx->saved_data["max_seqlen"] = maxSeqlen;
    ctx->saved_data["block"] = block;
    ctx->saved_data["file"] = file;
    ctx->saved_data["constexprs"] = constexprs;
    ctx->saved_data["scale"] = scale;
    return {o, lse};
  }

  static variable_list backward(AutogradContext *ctx, variable_list grads) {
    static const auto op = findOp<Backward>(backwardName);
    const variable_list saved = ctx->get_saved_variables();
    const auto maybe = [](const Tensor &x) {
      return x.defined() ? MaybeTensor(x) : std::nullopt;
    };
    const Tensor gradO =
        grads[0].defined()
            ? grads[0]
            : Tensor(saved[3].new_zeros_symint(saved[3].sym_sizes()));
    auto [dq, dk, dv, dlearned] =
        op.call(gradO, maybe(grads[1]), saved[0], saved[1], saved[2], saved[3],
                saved[4], saved[5], ctx->saved_data["max_seqlen"].toSymInt(),
                saved[6], ctx->saved_data["block"].toInt(),
                ctx->saved_data["file"].toStringView(),
                ctx->saved_data["constexprs"].toStringView(), maybe(saved[7]),
                ctx->saved_data["scale"].toOptional<double>());
    variable_list gradients(11);
    gradients[0] = dq;
    gradients[1] = dk;
    gradients[2] = dv;
    if (saved[7].defined())
      gradients[9] = dlearned;
    return gradients;
  }
};

Pair autograd(const Tensor &q, const Tensor &k, const Tensor &v,
              const Tensor &cuSeqlens, c10::SymInt maxSeqlen,
              const Tensor &indices, int64_t block, Text file, Text constexprs,
              const MaybeTensor &learned, std::optional<double> scale) {
  const variable_list out = Function::apply(
      q, k, v, cuSeqlens, std::move(maxSeqlen), indices, block,
      std::string(file), std::string(constexprs), learned, scale);
  return {out[0], out[1]};
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("pattern_list_attention(Tensor q, Tensor k, Tensor v, Tensor "
        "cu_seqlens, SymInt max_seqlen, Tensor indices, int block, str file, "
        "str constexprs=\"\", Tensor? learned=None, float? scale=None) -> "
        "(Tensor o, Tensor lse)");
  m.def("pattern_list_attention_backward(Tensor grad_o, Tensor? grad_lse, "
        "Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, Tensor "
        "cu_seqlens, SymInt max_seqlen, Tensor indices, int block, str file, "
        "str constexprs=\"\", Tensor? learned=None, float? scale=None) -> "
        "(Tensor, Tensor, Tensor, Tensor)");
  m.def("pattern_list_mass(Tensor q, Tensor k, Tensor lse, Tensor cu_seqlens, "
        "SymInt max_seqlen, Tensor indices, int block, str file, str "
        "constexprs=\"\", Tensor? learned=None, float? scale=None) -> Tensor");
}

TESSERA_AUTOGRAD_OP(opName, forward, meta, autograd);
TESSERA_OP(backwardName, backward, metaBack);
TESSERA_OP(massName, mass, metaMass);

} // namespace pattern_lists_op
} // namespace
} // namespace tessera::runtime
