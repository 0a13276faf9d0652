// ops/attention/PatternSelection.cpp - attention of a pattern with select(...):
// runs its scorer, then selected attention.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/SymbolicShape.h"
#include "ops/attention/HeadSlices.h"
#include "ops/attention/PatternCall.h"
#include "runtime/launch/PatternFile.h"

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

// Returns the blocks of each list and, with an indexer, the best token of each
// block.
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

// Returns lists of all blocks of the longest sequence; shorter sequences do not
// have all of them. The number of blocks is a constexpr of the kernels. It is
// rounded up to a power of two so that batches share kernels.
Tensor allBlocks(const PatternCall &c, const Selection &s) {
  const int64_t longest = c.maxSeqlen.guard_int(__FILE__, __LINE__);
  const int64_t blocks =
      nextPowerOfTwo(std::max<int64_t>((longest + s.block - 1) / s.block, 1));
  return at::arange(blocks, c.q.options().dtype(at::kInt))
      .expand_symint({1, c.q.sym_size(0), blocks})
      .contiguous();
}

// Returns the loss of an indexer that selects nothing: zeros with zero
// gradients.
Tensor noSelectionLoss(const PatternCall &c) {
  const auto zeros = [](const Tensor &t) {
    return t.to(at::kFloat).flatten(1).sum(1) * 0;
  };
  return zeros(*c.indexQ) + zeros(*c.indexK) + zeros(*c.indexWeights);
}

// Returns the loss of an indexer, computed from each block's share of
// attention.
Tensor lossOfMass(const PatternCall &c, const Tensor &indexK,
                  const Tensor &tokens, const Tensor &mass) {
  static const auto op =
      findOp<Tensor(const Tensor &, const Tensor &, const Tensor &,
                    const Tensor &, const Tensor &, const Tensor &)>(
          "indexer_loss");
  return op.call(*c.indexQ, indexK, *c.indexWeights, tokens, mass, c.cuSeqlens);
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
  const Tensor mass =
      massOf.call(c.q.detach(), k.detach(), lse.detach(), indices, c.cuSeqlens,
                  c.maxSeqlen, block, c.scale);
  return pattern_selection::lossOfMass(c, indexK, tokens, mass);
}

PatternOutput derivedLists(const PatternCall &c, const language::Selection &s) {
  using namespace pattern_selection;
  static const auto attend = findOp<std::tuple<Tensor, Tensor>(
      const Tensor &, const Tensor &, const Tensor &, const Tensor &,
      c10::SymInt, const Tensor &, int64_t, Text, Text, const MaybeTensor &,
      std::optional<double>)>("pattern_list_attention");
  checkIndexer(c, s);
  const bool dense = c.maxSeqlen < s.denseBelow;
  const auto [indices, tokens] =
      dense ? std::pair(allBlocks(c, s), Tensor()) : selectBlocks(c, s);
  const std::string constants = constantsOfPattern(c.file, c.parameters);
  const MaybeTensor learned =
      c.learned ? MaybeTensor(c.learned->to(at::kFloat)) : std::nullopt;
  const auto [o, lse] =
      attend.call(c.q, c.k, c.v, c.cuSeqlens, c.maxSeqlen, indices, s.block,
                  c.file, constants, learned, c.scale);
  if (s.scorer != Scorer::Indexer)
    return {o, lse, dense ? c.noIndices() : indices, c.noLoss()};
  if (dense)
    return {o, lse, c.noIndices(), noSelectionLoss(c)};
  static const auto massOf =
      findOp<Tensor(const Tensor &, const Tensor &, const Tensor &,
                    const Tensor &, c10::SymInt, const Tensor &, int64_t, Text,
                    Text, const MaybeTensor &, std::optional<double>)>(
          "pattern_list_mass");
  const Tensor mass = massOf.call(
      c.q.detach(), c.k.detach(), lse.detach(), c.cuSeqlens, c.maxSeqlen,
      indices, s.block, c.file, constants,
      learned ? MaybeTensor(learned->detach()) : std::nullopt, c.scale);
  return {o, lse, indices, lossOfMass(c, *c.indexK, tokens, mass)};
}

PatternOutput selectedPattern(const PatternCall &c,
                              const language::Selection &s) {
  using namespace pattern_selection;
  if (s.derived)
    return derivedLists(c, s);
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
