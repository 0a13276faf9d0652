// ops/attention/PatternSelection.cpp - attention of a pattern with select(...):
// its scorer, then selected attention.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/SymbolicShape.h"
#include "ops/attention/PatternCall.h"

#include <ATen/ATen.h>

namespace tessera::runtime {
namespace {
namespace pattern_selection {

using at::Tensor;
using language::Scorer;
using language::Selection;
using MaybeTensor = std::optional<Tensor>;
using Text = c10::string_view;

constexpr const char *opName = PatternCall::opName;

// The blocks of each list, and with an indexer the best token of each.
std::pair<Tensor, Tensor> selectBlocks(const PatternCall &c,
                                       const Selection &s) {
  const Tensor q = c.q.detach(), k = c.k.detach();
  const auto heads = [](const Tensor &x) {
    return x.sym_size(1).guard_int(__FILE__, __LINE__);
  };
  const int64_t lists = s.lists(heads(q), heads(k));
  if (s.scorer == Scorer::Compressed) {
    static const auto op =
        findOp<Tensor(const Tensor &, const Tensor &, const Tensor &,
                      c10::SymInt, int64_t, int64_t, int64_t, int64_t, int64_t,
                      int64_t, std::optional<double>)>("compressed_select");
    return {op.call(q, k, c.cuSeqlens, c.maxSeqlen, s.block, s.top, s.length,
                    s.stride, s.first, s.local, c.scale),
            Tensor()};
  }
  if (s.scorer == Scorer::Indexer) {
    static const auto op = findOp<std::tuple<Tensor, Tensor>(
        const Tensor &, const Tensor &, const Tensor &, const Tensor &,
        c10::SymInt, int64_t, int64_t, int64_t, int64_t, const MaybeTensor &,
        int64_t, int64_t)>("indexer_select");
    checkSymbolicShape(opName, "index_q", *c.indexQ,
                       {q.sym_size(0), lists, s.heads, s.width},
                       "[tokens, lists, heads, dim] of the pattern");
    auto [indices, tokens] =
        op.call(c.indexQ->detach(), c.indexK->detach(),
                c.indexWeights->detach(), c.cuSeqlens, c.maxSeqlen, s.block,
                s.top, s.first, s.local, std::nullopt, 1, 1);
    return {indices, tokens};
  }
  static const auto op =
      findOp<Tensor(const Tensor &, const Tensor &, const Tensor &, c10::SymInt,
                    int64_t, int64_t, int64_t, int64_t, int64_t, Text)>(
          "pooled_select");
  return {op.call(q, k, c.cuSeqlens, c.maxSeqlen, s.block, s.top, lists,
                  s.first, s.local,
                  s.scorer == Scorer::PooledMax ? "max" : "mean"),
          Tensor()};
}

// The loss of an indexer that selects nothing: zeros with zero gradients.
Tensor noSelectionLoss(const PatternCall &c) {
  const auto zeros = [](const Tensor &t) {
    return t.to(at::kFloat).flatten(1).sum(1) * 0;
  };
  return zeros(*c.indexQ) + zeros(*c.indexK) + zeros(*c.indexWeights);
}

} // namespace pattern_selection
} // namespace

void checkIndexer(const PatternCall &c, const language::Selection &s) {
  constexpr const char *opName = PatternCall::opName;
  const bool learns = s.scorer == language::Scorer::Indexer;
  TESSERA_CHECK(learns || !(c.indexQ || c.indexK || c.indexWeights), opName,
                c.file,
                " has no indexer; leave index_q, index_k and index_weights "
                "away");
  TESSERA_CHECK(!learns || (c.indexQ && c.indexK && c.indexWeights), opName,
                c.file,
                " selects by an indexer; pass index_q [tokens, lists, heads, "
                "width], index_k [tokens, width] and index_weights [tokens, "
                "lists, heads]");
}

at::Tensor indexerLoss(const PatternCall &c, int64_t block, const at::Tensor &k,
                       const at::Tensor &indexK, const at::Tensor &lse,
                       const at::Tensor &indices, const at::Tensor &tokens) {
  using at::Tensor;
  static const auto massOf =
      findOp<Tensor(const Tensor &, const Tensor &, const Tensor &,
                    const Tensor &, const Tensor &, c10::SymInt, int64_t,
                    std::optional<double>)>("block_mass");
  static const auto lossOf =
      findOp<Tensor(const Tensor &, const Tensor &, const Tensor &,
                    const Tensor &, const Tensor &, const Tensor &)>(
          "indexer_loss");
  const Tensor mass =
      massOf.call(c.q.detach(), k.detach(), lse.detach(), indices, c.cuSeqlens,
                  c.maxSeqlen, block, c.scale);
  return lossOf.call(*c.indexQ, indexK, *c.indexWeights, tokens, mass,
                     c.cuSeqlens);
}

PatternOutput selectedPattern(const PatternCall &c,
                              const language::Selection &s) {
  using namespace pattern_selection;
  const bool learns = s.scorer == Scorer::Indexer;
  checkIndexer(c, s);
  static const auto attend = findOp<std::tuple<Tensor, Tensor>(
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      c10::SymInt, const Tensor &, int64_t, int64_t, const MaybeTensor &,
      const MaybeTensor &, const MaybeTensor &, const MaybeTensor &, int64_t,
      int64_t, std::optional<double>)>("selected_attention");
  const auto run = [&](const Tensor &indices, int64_t window) {
    return attend.call(c.q, c.k, c.v, c.cuSeqlens, c.maxSeqlen, indices,
                       s.block, window, c.sink(), std::nullopt, std::nullopt,
                       std::nullopt, 1, 1, c.scale);
  };
  if (c.maxSeqlen < s.denseBelow) { // a window that no sequence fills
    auto [o, lse] = run(at::empty_symint({1, c.q.sym_size(0), 0},
                                         c.q.options().dtype(at::kInt)),
                        s.denseBelow);
    return {o, lse, c.noIndices(), learns ? noSelectionLoss(c) : c.noLoss()};
  }
  const auto [indices, tokens] = selectBlocks(c, s);
  auto [o, lse] = run(indices, s.window);
  return {o, lse, indices,
          tokens.defined()
              ? indexerLoss(c, s.block, c.k, *c.indexK, lse, indices, tokens)
              : c.noLoss()};
}

} // namespace tessera::runtime
