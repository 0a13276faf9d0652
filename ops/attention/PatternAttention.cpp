// ops/attention/PatternAttention.cpp - attention by a pattern's file: the
// derived kernels, or selected attention with the pattern's scorer.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Check.h"
#include "runtime/launch/PatternFile.h"

#include <ATen/ATen.h>
#include <torch/library.h>

namespace tessera::runtime {
namespace {
namespace pattern_attention_op {

using at::Tensor;
using language::Scorer;
using language::Selection;
using MaybeTensor = std::optional<Tensor>;
using Text = c10::string_view;

constexpr const char *opName = "attention";

// The arguments of the op.
struct Call {
  const Tensor &q, &k, &v, &cuSeqlens;
  c10::SymInt maxSeqlen;
  std::string file, parameters;
  MaybeTensor learned; // [names, Hq]
  MaybeTensor indexQ, indexK, indexWeights;
  std::optional<double> scale;
};

// What attention gives, and with a selection what it selected.
struct Result {
  Tensor o, lse;
  Tensor indices;   // int32 [lists, T, top]; [0, T, 0] without a selection
  Tensor indexLoss; // fp32 [T]; [0] without an indexer
};

Tensor noIndices(const Call &c) {
  return at::empty_symint({0, c.q.sym_size(0), 0},
                          c.q.options().dtype(at::kInt));
}

Tensor noLoss(const Call &c) {
  return at::empty({0}, c.q.options().dtype(at::kFloat));
}

void checkLearned(const Call &c, const std::vector<std::string> &names) {
  TESSERA_CHECK(names.empty() == !c.learned, opName, c.file, " has ",
                names.size(), " learned numbers for each head, and learned is ",
                c.learned ? "a tensor" : "None",
                "; pass [learned numbers, query heads] exactly if there are "
                "any");
  if (c.learned)
    checkShape(opName, "learned", *c.learned,
               {int64_t(names.size()), c.q.size(1)},
               "[learned numbers of the pattern, query heads]");
}

// The kernels that are derived from the pattern.
Result derived(const Call &c, const PatternFile &pattern) {
  static const auto op = findOp<std::tuple<Tensor, Tensor>(
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      c10::SymInt, Text, Text, Text, Text, std::optional<double>,
      const MaybeTensor &, Text)>("custom_attention");
  TESSERA_CHECK(!c.indexQ && !c.indexK && !c.indexWeights, opName, c.file,
                " has no indexer; leave index_q, index_k and index_weights "
                "away");
  std::string names;
  for (const std::string &name : pattern.learned)
    names += (names.empty() ? "" : ",") + name;
  MaybeTensor learned;
  if (c.learned)
    learned = c.learned->to(at::kFloat)
                  .unsqueeze(0)
                  .expand_symint({c.q.sym_size(0), c.learned->sym_size(0),
                                  c.learned->sym_size(1)});
  auto [o, lse] = op.call(c.q, c.k, c.v, c.cuSeqlens, c.maxSeqlen, pattern.path,
                          pattern.name, pattern.name + "_bwd", c.parameters,
                          c.scale, learned, names);
  return {o, lse, noIndices(c), noLoss(c)};
}

// The blocks of each list, and with an indexer the best token of each.
std::pair<Tensor, Tensor> selectBlocks(const Call &c, const Selection &s) {
  const Tensor q = c.q.detach(), k = c.k.detach();
  const int64_t lists = s.lists(q.size(1), k.size(1));
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
        c10::SymInt, int64_t, int64_t, int64_t, int64_t)>("indexer_select");
    checkShape(opName, "index_q", *c.indexQ,
               {q.size(0), lists, s.heads, s.width},
               "[tokens, lists, heads, dim] of the pattern");
    auto [indices, tokens] = op.call(
        c.indexQ->detach(), c.indexK->detach(), c.indexWeights->detach(),
        c.cuSeqlens, c.maxSeqlen, s.block, s.top, s.first, s.local);
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

// The divergence that trains an indexer; q, k and lse receive no gradient.
Tensor indexLoss(const Call &c, const Selection &s, const Tensor &lse,
                 const Tensor &indices, const Tensor &tokens) {
  static const auto massOf =
      findOp<Tensor(const Tensor &, const Tensor &, const Tensor &,
                    const Tensor &, const Tensor &, c10::SymInt, int64_t,
                    std::optional<double>)>("block_mass");
  static const auto lossOf =
      findOp<Tensor(const Tensor &, const Tensor &, const Tensor &,
                    const Tensor &, const Tensor &, const Tensor &)>(
          "indexer_loss");
  const Tensor mass =
      massOf.call(c.q.detach(), c.k.detach(), lse.detach(), indices,
                  c.cuSeqlens, c.maxSeqlen, s.block, c.scale);
  return lossOf.call(*c.indexQ, *c.indexK, *c.indexWeights, tokens, mass,
                     c.cuSeqlens);
}

// The loss of an indexer that selects nothing: zeros with zero gradients.
Tensor noSelectionLoss(const Call &c) {
  const auto zeros = [](const Tensor &t) {
    return t.to(at::kFloat).flatten(1).sum(1) * 0;
  };
  return zeros(*c.indexQ) + zeros(*c.indexK) + zeros(*c.indexWeights);
}

void checkIndex(const Call &c, bool learns) {
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

Result selected(const Call &c, const Selection &s) {
  const bool learns = s.scorer == Scorer::Indexer;
  checkIndex(c, learns);
  static const auto attend = findOp<std::tuple<Tensor, Tensor>(
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      c10::SymInt, const Tensor &, int64_t, int64_t, const MaybeTensor &,
      const MaybeTensor &, const MaybeTensor &, const MaybeTensor &, int64_t,
      int64_t, std::optional<double>)>("selected_attention");
  const auto run = [&](const Tensor &indices, c10::SymInt window) {
    return attend.call(c.q, c.k, c.v, c.cuSeqlens, c.maxSeqlen, indices,
                       s.block, window.guard_int(__FILE__, __LINE__),
                       c.learned ? MaybeTensor(c.learned->select(0, 0))
                                 : std::nullopt,
                       std::nullopt, std::nullopt, std::nullopt, 1, 1, c.scale);
  };
  if (c.maxSeqlen < s.denseBelow) {
    auto [o, lse] = run(at::empty_symint({1, c.q.sym_size(0), 0},
                                         c.q.options().dtype(at::kInt)),
                        c.maxSeqlen);
    return {o, lse, noIndices(c), learns ? noSelectionLoss(c) : noLoss(c)};
  }
  const auto [indices, tokens] = selectBlocks(c, s);
  auto [o, lse] = run(indices, s.window);
  return {o, lse, indices,
          tokens.defined() ? indexLoss(c, s, lse, indices, tokens) : noLoss(c)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor>
attention(const Tensor &q, const Tensor &k, const Tensor &v,
          const Tensor &cuSeqlens, c10::SymInt maxSeqlen, Text pattern,
          Text parameters, const MaybeTensor &learned,
          const MaybeTensor &indexQ, const MaybeTensor &indexK,
          const MaybeTensor &indexWeights, std::optional<double> scale) {
  checkRank(opName, "q", q, 3);
  checkRank(opName, "k", k, 3);
  const Call call{q,
                  k,
                  v,
                  cuSeqlens,
                  std::move(maxSeqlen),
                  std::string(pattern),
                  std::string(parameters),
                  learned,
                  indexQ,
                  indexK,
                  indexWeights ? MaybeTensor(indexWeights->to(at::kFloat))
                               : std::nullopt,
                  scale};
  const Result r = withValueErrors([&] {
    const auto file = readPatternFile(call.file);
    checkLearned(call, file->learned);
    return file->selection
               ? selected(call, *selectionOfPattern(call.file, call.parameters))
               : derived(call, *file);
  });
  return {r.o, r.lse, r.indices, r.indexLoss};
}

TORCH_LIBRARY_IMPL(tessera, CompositeImplicitAutograd, m) {
  m.impl(opName, attention);
}

} // namespace pattern_attention_op
} // namespace
} // namespace tessera::runtime
