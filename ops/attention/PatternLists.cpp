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

struct Lists {
  static constexpr const char *name = "pattern_list_attention";
  static constexpr const char *backwardName = "pattern_list_attention_backward";
  static constexpr std::array<size_t, 1> differentiable = {6}; // learned
};
constexpr const char *massName = "pattern_list_mass";

struct Call {
  KeyStreams streams; // `selection.kernels` is null, so a copy is safe
  ListKernels kernels;
  bool hasSink = false;

  // Returns the streams with a pointer to `kernels`. The call must outlive the
  // result.
  KeyStreams withKernels() const {
    KeyStreams all = streams;
    all.selection.kernels = &kernels;
    return all;
  }
};

// Checks the arguments. `learned` is fp32 [names, Hq] with the sink first.
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
  // Expands a learned number to all tokens: [T, Hq] with token stride 0.
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
  const Call call = callOf(Lists::name, q, k, v, cuSeqlens, maxSeqlen, indices,
                           block, file, constexprs, learned, scale);
  return streamsForward(call.withKernels());
}

Gradients backward(const Tensor &gradO, const MaybeTensor &gradLse,
                   const Tensor &q, const Tensor &k, const Tensor &v,
                   const Tensor &o, const Tensor &lse, const Tensor &cuSeqlens,
                   int64_t maxSeqlen, const Tensor &indices, int64_t block,
                   Text file, Text constexprs, const MaybeTensor &learned,
                   std::optional<double> scale) {
  Call call = callOf(Lists::backwardName, q, k, v, cuSeqlens, maxSeqlen,
                     indices, block, file, constexprs, learned, scale);
  ListKernels &kernels = call.kernels;
  TESSERA_CHECK(!gradLse || !kernels.learned.defined(), Lists::name,
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
  const auto pattern = readPatternFile(std::string(file));
  TESSERA_CHECK(pattern->selection->scorer == language::Scorer::Indexer,
                massName, pattern->path,
                " does not select by an indexer; name a pattern with "
                "select(score=indexer(...))");
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
  // If one list serves all heads, it was read once for each key head: sums
  // these.
  return result.unflatten(0, {indices.size(0), -1}).sum(1);
}

Pair meta(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &,
          c10::SymInt, const Tensor &, int64_t, Text, Text, const MaybeTensor &,
          std::optional<double>) {
  return metaForward(Lists::name, q, k, v);
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

using Function = AttentionFunction<Lists, const Tensor &, c10::SymInt,
                                   const Tensor &, int64_t, Text, Text,
                                   const MaybeTensor &, std::optional<double>>;

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

TESSERA_AUTOGRAD_OP(Lists::name, forward, meta, Function::call);
TESSERA_OP(Lists::backwardName, backward, metaBack);
TESSERA_OP(massName, mass, metaMass);

} // namespace pattern_lists_op
} // namespace
} // namespace tessera::runtime
