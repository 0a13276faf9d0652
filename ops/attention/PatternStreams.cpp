// ops/attention/PatternStreams.cpp - attention of a pattern with several
// streams of keys.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Check.h"
#include "ops/attention/PatternCall.h"

#include <ATen/ATen.h>

namespace tessera::runtime {
namespace {
namespace pattern_streams {

using at::Tensor;
using language::Scorer;
using language::Selection;
using language::Streams;
using MaybeTensor = std::optional<Tensor>;
using Pair = std::tuple<Tensor, Tensor>;

constexpr const char *opName = PatternCall::opName;

// Returns the heads of stream `i` from the keys or values of all streams.
Tensor streamOf(const Tensor &x, int64_t i, const Selection &s) {
  const c10::SymInt heads = x.sym_size(1) / s.pairs();
  return x.narrow_symint(1, heads * i, heads);
}

// First compressed key of each sequence, int32 [sequences + 1], and the number
// of rows that hold all of them.
struct Compressed {
  Tensor offsets;
  c10::SymInt rows;
};

// Does not read offsets on a GPU: returns an upper bound of the rows there.
Compressed compressedRows(const PatternCall &c, const Selection &s) {
  static const auto op =
      findOp<Tensor(const Tensor &, int64_t, int64_t)>("compressed_offsets");
  TESSERA_CHECK(c.cuSeqlens.numel() >= 1, "attention",
                "cu_seqlens has no entries; for one sequence pass [0, tokens]");
  const Tensor offsets = op.call(c.cuSeqlens, s.length, s.stride);
  return {offsets, offsets.is_cpu() ? c10::SymInt(offsets[-1].item<int64_t>())
                                    : c.q.sym_size(0) / s.stride};
}

// Returns the means of blocks of keys and values: [rows, heads, d].
Pair compress(const PatternCall &c, const Selection &s, const Compressed &to,
              const Tensor &k, const Tensor &v) {
  static const auto op =
      findOp<Pair(const Tensor &, const Tensor &, const MaybeTensor &,
                  const MaybeTensor &, const Tensor &, const Tensor &,
                  c10::SymInt, c10::SymInt, int64_t, int64_t)>(
          "nsa_compress_pair");
  return op.call(k, v, std::nullopt, std::nullopt, c.cuSeqlens, to.offsets,
                 c.maxSeqlen, to.rows, s.length, s.stride);
}

// Returns the means of blocks of an indexer's keys [T, width]: [rows, width].
Tensor compressIndex(const PatternCall &c, const Selection &s,
                     const Compressed &to) {
  static const auto op = findOp<Tensor(
      const Tensor &, const MaybeTensor &, const Tensor &, const Tensor &,
      c10::SymInt, c10::SymInt, int64_t, int64_t)>("nsa_compress");
  return op
      .call(c.indexK->unsqueeze(1), std::nullopt, c.cuSeqlens, to.offsets,
            c.maxSeqlen, to.rows, s.length, s.stride)
      .squeeze(1);
}

// Computes Native Sparse Attention (Yuan et al. 2025, equation 5).
PatternOutput gated(const PatternCall &c, const Selection &s) {
  static const auto op = findOp<std::tuple<Tensor, Tensor, Tensor>(
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      const Tensor &, const Tensor &, c10::SymInt, c10::SymInt, int64_t,
      int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, const MaybeTensor &,
      const MaybeTensor &, c10::string_view, double, std::optional<double>)>(
      "nsa_attention");
  const Compressed to = compressedRows(c, s);
  const auto of = [&](const Tensor &x, int64_t i) { return streamOf(x, i, s); };
  const auto [o, indices, gates] =
      op.call(c.q, of(c.k, 0), of(c.v, 0), of(c.k, 1), of(c.v, 1), of(c.k, 2),
              of(c.v, 2), *c.gateLogits, c.cuSeqlens, to.offsets, c.maxSeqlen,
              to.rows, s.length, s.stride, s.block, s.top, s.window, s.first,
              s.local, std::nullopt, std::nullopt, "sigmoid", 1.0, c.scale);
  return {o, c.noLoss(), indices, c.noLoss()};
}

Pair selectedAttention(const PatternCall &c, const Tensor &k, const Tensor &v,
                       const Tensor &indices, int64_t window,
                       const MaybeTensor &sink, const MaybeTensor &extraK,
                       const MaybeTensor &extraV, const MaybeTensor &extraCu,
                       const Selection &s) {
  static const auto op = findOp<Pair(
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      c10::SymInt, const Tensor &, int64_t, int64_t, const MaybeTensor &,
      const MaybeTensor &, const MaybeTensor &, const MaybeTensor &, int64_t,
      int64_t, std::optional<double>)>("selected_attention");
  return op.call(c.q, k, v, c.cuSeqlens, c.maxSeqlen, indices, 1, window, sink,
                 extraK, extraV, extraCu, extraK ? s.length : 1,
                 extraK ? s.stride : 1, c.scale);
}

// Attends to all compressed keys and a window in one softmax: heavily
// compressed attention (DeepSeek-AI 2026, DeepSeek-V4).
PatternOutput joined(const PatternCall &c, const Selection &s) {
  const Compressed to = compressedRows(c, s);
  const auto [k, v] =
      compress(c, s, to, streamOf(c.k, 0, s), streamOf(c.v, 0, s));
  const Tensor none =
      at::empty_symint({1, c.q.sym_size(0), 0}, c.q.options().dtype(at::kInt));
  const auto [o, lse] =
      selectedAttention(c, streamOf(c.k, 1, s), streamOf(c.v, 1, s), none,
                        s.window, c.sink(), k, v, to.offsets, s);
  return {o, lse, c.noIndices(), c.noLoss()};
}

// Returns the row of each compressed key's last token, int64 [rows]. Rows after
// the last key hold T.
Tensor lastTokens(const PatternCall &c, const Selection &s,
                  const Compressed &to) {
  const Tensor rows = at::arange(to.rows.guard_int(__FILE__, __LINE__),
                                 c.cuSeqlens.options().dtype(at::kLong));
  const Tensor next = to.offsets.slice(0, 1).contiguous();
  const Tensor sequence =
      at::searchsorted(next, rows.to(at::kInt), /*out_int32=*/false,
                       /*right=*/true)
          .clamp_max(c.cuSeqlens.sym_numel().guard_int(__FILE__, __LINE__) - 2);
  const Tensor place = rows - to.offsets.index_select(0, sequence);
  const Tensor token =
      c.cuSeqlens.index_select(0, sequence) + place * s.stride + (s.length - 1);
  return at::where(rows < to.offsets.slice(0, -1), token, c.q.size(0));
}

// Returns [T, ...]: row i of x [rows, ...] moves to row tokens[i], the others
// are zero. A query attends to a compressed key from the key's last token on,
// so attention over these rows is causal.
Tensor atLastTokens(const Tensor &x, const Tensor &tokens, int64_t count) {
  std::vector<int64_t> shape = x.sizes().vec();
  shape[0] = count + 1;
  return at::zeros(shape, x.options())
      .index_put({tokens}, x)
      .narrow(0, 0, count);
}

// Merges two passes (o, lse [Hq, T]) and a sink into one softmax.
Pair merge(const Pair &first, const Pair &second, const MaybeTensor &sink) {
  const auto &[o1, lse1] = first;
  const auto &[o2, lse2] = second;
  const Tensor lse = at::logaddexp(lse1, lse2);
  const Tensor total = sink ? at::logaddexp(lse, sink->unsqueeze(1)) : lse;
  const auto part = [&](const Tensor &o, const Tensor &of) {
    return o.to(at::kFloat) * (of - total).exp().t().unsqueeze(-1);
  };
  return {(part(o1, lse1) + part(o2, lse2)).to(o1.scalar_type()), lse};
}

// Attends to the compressed keys that an indexer selects and to a window in one
// softmax: compressed sparse attention (DeepSeek-AI 2026, DeepSeek-V4).
PatternOutput selected(const PatternCall &c, const Selection &s) {
  static const auto select =
      findOp<Pair(const Tensor &, const Tensor &, const Tensor &,
                  const Tensor &, c10::SymInt, int64_t, int64_t, int64_t,
                  int64_t, const MaybeTensor &, int64_t, int64_t)>(
          "indexer_select");
  static const auto windowed =
      findOp<Pair(const Tensor &, const Tensor &, const Tensor &,
                  const Tensor &, c10::SymInt, int64_t, std::optional<double>)>(
          "nsa_window_attention");
  checkIndexer(c, s);
  const int64_t lists = s.lists(c.q.size(1), c.k.size(1) / s.pairs());
  checkShape(opName, "index_q", *c.indexQ,
             {c.q.size(0), lists, s.heads, s.width},
             "[tokens, lists, heads, dim] of the pattern");
  checkShape(opName, "index_k", *c.indexK, {c.q.size(0), s.width},
             "[tokens, dim] of the pattern");
  const Compressed to = compressedRows(c, s);
  const auto [k, v] =
      compress(c, s, to, streamOf(c.k, 0, s), streamOf(c.v, 0, s));
  const Tensor index = compressIndex(c, s, to);
  const Tensor found = std::get<0>(select.call(
      c.indexQ->detach(), index.detach(), c.indexWeights->detach(), c.cuSeqlens,
      c.maxSeqlen, 1, s.top, 0, 0, to.offsets, s.length, s.stride));
  const Tensor rows = lastTokens(c, s, to);
  const auto spread = [&](const Tensor &x) {
    return atLastTokens(x, rows, c.q.size(0));
  };
  const Tensor keys = spread(k);
  const Tensor tokens =
      at::where(found < 0, found, found * s.stride + (s.length - 1));
  const Pair chosen =
      selectedAttention(c, keys, spread(v), tokens, 0, {}, {}, {}, {}, s);
  const Pair near = windowed.call(c.q, streamOf(c.k, 1, s), streamOf(c.v, 1, s),
                                  c.cuSeqlens, c.maxSeqlen, s.window, c.scale);
  const auto [o, lse] = merge(chosen, near, c.sink());
  return {o, lse, found,
          indexerLoss(c, 1, keys, spread(index), lse, tokens, tokens)};
}

} // namespace pattern_streams
} // namespace

PatternOutput streamsPattern(const PatternCall &c,
                             const language::Selection &s) {
  using namespace pattern_streams;
  for (const auto &[name, tensor] :
       {std::pair("k", &c.k), std::pair("v", &c.v)})
    TESSERA_CHECK(tensor->dim() == 3 && tensor->size(1) % s.pairs() == 0,
                  opName, name, " has shape ", tensor->sizes(), "; ", c.file,
                  " has ", s.pairs(),
                  " streams: pass [tokens, streams * key heads, head size]");
  if (s.scorer == Scorer::Indexer)
    return selected(c, s);
  checkIndexer(c, s);
  return s.streams == Streams::Gated ? gated(c, s) : joined(c, s);
}

} // namespace tessera::runtime
