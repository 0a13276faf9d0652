// ops/attention/KeyStreams.cpp - one softmax over several streams of keys.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/KeyStreams.h"
#include "ops/attention/BlockPasses.h"
#include "ops/launch/EmptyTensor.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace tessera::runtime {
namespace {
namespace key_streams {

using at::Tensor;

constexpr const char *file = "kernels/nsa/joint.py";

// Writes o and lse of one stream.
void streamForward(const KeyStreams &s, int stream, const Output &to) {
  if (stream == 0 && s.selects())
    return selectedForward(s.listed, s.selection, {}, to);
  if (s.window > 0 && stream == s.selects())
    return launchForward(s.attention, {{{"W", s.window}}},
                         "kernels/nsa/window_fwd.py", "window_fwd", to);
  Branch branch{
      {{"L", s.extraLength}, {"STRIDE", s.extraStride}, {"STREAM", 1}}};
  branch.tensors = {{"CU_CMP", s.extraCu}};
  launchForward(s.extra, branch, "kernels/nsa/cmp_fwd.py", "cmp_fwd", to);
}

Output merge(const KeyStreams &s) {
  const Attention &a = s.attention;
  constexpr int64_t aligned = 16; // elements; alignment of each stream
  const auto round = [](int64_t n) { return ceilDiv(n, aligned) * aligned; };
  const int64_t heads = a.tokens * a.queryHeads, rows = round(heads);
  const int64_t plane = round(heads * a.valueDim);
  const auto numbers = a.q.options().dtype(at::kFloat);
  const Tensor part = emptyTensor({s.count(), plane}, numbers),
               lses = emptyTensor({s.count(), rows}, numbers);
  for (int i = 0; i < s.count(); ++i)
    streamForward(s, i,
                  {part[i]
                       .narrow(0, 0, heads * a.valueDim)
                       .view({a.tokens, a.queryHeads, a.valueDim}),
                   lses[i].narrow(0, 0, heads).view({a.tokens, a.queryHeads})});
  const Output to = a.newOutput();
  Launch launch(file, "merge_streams");
  launch.tensor(part).tensor(lses);
  s.sink ? launch.tensor(*s.sink) : launch.none();
  launch.tensor(to.o).tensor(to.lse).integer(a.tokens);
  launch.integer(plane).integer(rows).strides(to.o).strides(to.lse);
  launch.constant("H", a.queryHeads).constant("STREAMS", s.count());
  launch.padded("E", "EP", a.valueDim).sequence(a.maxSeqlen);
  launch.run(ceilDiv(a.tokens, launch.tile("BT")), a.queryHeads);
  return to;
}

// Returns the rows for the joint softmax with a sink, and the gradient of the
// sink.
std::tuple<RowGradient, Tensor> sinkRows(const KeyStreams &s,
                                         const Tensor &gradO,
                                         const std::optional<Tensor> &gradLse,
                                         const Tensor &o, const Tensor &lse) {
  const Attention &a = s.attention;
  const Tensor grad = outputGradient(a, gradO), excluding = lseRows(a, lse);
  const Tensor delta = attentionDelta(a, grad, o, std::nullopt);
  const Tensor total = a.emptyRows();
  const Tensor sum = at::empty({a.queryHeads}, total.options());
  if (gradLse)
    checkShape(a.op, "grad_lse", *gradLse, {a.queryHeads, a.tokens},
               "[query heads, tokens]");
  const std::optional<Tensor> change =
      gradLse ? std::optional(byTokens(gradLse->to(at::kFloat))) : std::nullopt;
  Launch launch(file, "sink_rows");
  launch.tensor(excluding).tensor(*s.sink).tensor(delta);
  change ? launch.tensor(*change) : launch.none();
  launch.tensor(total).scratch(at::kFloat).integer(a.tokens);
  launch.strides(excluding).strides(change ? *change : excluding);
  launch.padded("H", "HP", a.queryHeads).sequence(a.maxSeqlen);
  const int64_t programs = ceilDiv(a.tokens, launch.tile("BT"));
  const Tensor part = at::empty({programs, a.queryHeads}, total.options());
  launch.bindScratch(part).run(programs);
  Launch reduce("kernels/nn/reduce_rows.py", "reduce_rows");
  reduce.tensor(part).tensor(sum).integer(programs).integer(a.queryHeads);
  reduce.run(ceilDiv(a.queryHeads, reduce.tile("BC")));
  return {{grad, total, delta}, sum};
}

// Returns the sum of the streams' gradients of k or v, in the type of `like`.
// An undefined gradient is zero.
Tensor addStreams(const Tensor &a, const Tensor &b, const Tensor &like) {
  if (!a.defined() && !b.defined())
    return at::zeros(like.sizes(), like.options());
  if (!a.defined() || !b.defined())
    return (a.defined() ? a : b).to(like.scalar_type());
  return a.add(b).to(like.scalar_type());
}

// Converts lists of small blocks to lists of super-blocks, which takes a
// launch.
KeyStreams prepared(const KeyStreams &streams) {
  KeyStreams s = streams;
  if (s.selects() && !s.selection.kernels &&
      needsSuperBlocks(s.selection.length))
    s.selection = superBlocks(s.listed, s.selection);
  return s;
}

} // namespace key_streams
} // namespace

bool KeyStreams::selects() const {
  return selection.indices.size(2) > 0 && attention.tokens > 0;
}

bool KeyStreams::hasExtra() const {
  return extraCu.defined() && extra.k.size(0) > 0;
}

int KeyStreams::count() const { return selects() + (window > 0) + hasExtra(); }

std::tuple<at::Tensor, at::Tensor> streamsForward(const KeyStreams &streams) {
  using namespace key_streams;
  const Attention &a = streams.attention;
  if (streams.count() == 0 || a.tokens == 0)
    return a.noKeys();
  const KeyStreams s = prepared(streams);
  if (s.count() > 1 || s.sink) {
    const Output to = merge(s);
    return {to.o, byHeads(to.lse)};
  }
  const Output to = a.newOutput();
  streamForward(s, 0, to);
  return {to.o, byHeads(to.lse)};
}

StreamGradients streamsBackward(const KeyStreams &s, const at::Tensor &gradO,
                                const std::optional<at::Tensor> &gradLse,
                                const at::Tensor &o, const at::Tensor &lse) {
  using namespace key_streams;
  const Attention &a = s.attention;
  StreamGradients to;
  const auto none = at::empty({0}, a.q.options());
  to.extraK = s.extraCu.defined() ? at::zeros_like(s.extra.k) : none;
  to.extraV = s.extraCu.defined() ? at::zeros_like(s.extra.v) : none;
  to.sink = s.sink ? at::zeros_like(*s.sink) : none;
  if (s.count() == 0 || a.tokens == 0) {
    std::tie(to.q, to.k, to.v) = a.zeroGradients();
    return to;
  }
  RowGradient rows;
  if (s.sink)
    std::tie(rows, to.sink) = sinkRows(s, gradO, gradLse, o, lse);
  else
    rows = rowGradient(a, gradO, gradLse, o, lse);
  // Several streams add to dq, dk and dv: the sum is fp32 and is rounded once.
  const bool joint = s.count() > 1;
  const Tensor dq = emptyTensor(
      a.q.sizes(), joint ? a.q.options().dtype(at::kFloat) : a.q.options());
  bool add = false;
  if (s.hasExtra()) {
    const CompressedParts made =
        compressedGradients(s.extra, s.extraCu, s.extraLength, s.extraStride,
                            rows, {dq, add}, true);
    if (made.parts > 1)
      addParts(s.extra, made);
    to.extraK = made.dk, to.extraV = made.dv, add = true;
  }
  Selection selection = prepared(s).selection;
  std::optional<at::ScalarType> wide;
  if (s.selects() && s.window > 0)
    selection.gradients = wide = at::kFloat;
  Tensor dk[2], dv[2];
  if (s.selects()) {
    std::tie(dk[0], dv[0]) =
        selectedGradients(s.listed, selection, {}, rows, {dq, add});
    add = true;
  }
  if (s.window > 0)
    std::tie(dk[1], dv[1]) =
        windowGradients(a, s.window, rows, {dq, add}, wide);
  to.q = dq.to(a.q.scalar_type());
  to.k = addStreams(dk[0], dk[1], a.k);
  to.v = addStreams(dv[0], dv[1], a.v);
  return to;
}

} // namespace tessera::runtime
