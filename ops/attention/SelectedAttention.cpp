// ops/attention/SelectedAttention.cpp - NSA's selected branch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Register.h"
#include "ops/attention/Attention.h"
#include "ops/attention/Branches.h"
#include "ops/launch/EmptyTensor.h"

#include <ATen/ops/empty.h>

namespace tessera::runtime {
namespace {
namespace selected_attention_op {

using at::Tensor;

struct Selected {
  static constexpr const char *name = "nsa_selected_attention";
  static constexpr const char *backwardName = "nsa_selected_attention_backward";
};

Attention check(const char *op, const Tensor &q, const Tensor &k,
                const Tensor &v, const Tensor &indices, const Tensor &cuSeqlens,
                int64_t maxSeqlen, int64_t selectionLength,
                std::optional<double> scale) {
  const Attention a = checkAttention(op, q, k, v, cuSeqlens, maxSeqlen, scale);
  checkIndices(a, indices, selectionLength);
  return a;
}

constexpr const char *listedName = "nsa_listed_attention";

// Runs the forward pass tiled over tokens, with given block lists.
std::tuple<Tensor, Tensor> listed(const Tensor &q, const Tensor &k,
                                  const Tensor &v, const Tensor &indices,
                                  const Tensor &lists, const Tensor &counts,
                                  const Tensor &cuSeqlens, int64_t maxSeqlen,
                                  int64_t selectionLength,
                                  std::optional<double> scale) {
  const Attention a = check(listedName, q, k, v, indices, cuSeqlens, maxSeqlen,
                            selectionLength, scale);
  checkLists(a, indices, {lists, counts}, selectionLength);
  const Output to = a.newOutput();
  selectedForward(a, {indices, selectionLength}, {lists, counts}, to);
  return {to.o, byHeads(to.lse)};
}

std::tuple<Tensor, Tensor> makeLists(const Tensor &indices,
                                     const Tensor &cuSeqlens, int64_t maxSeqlen,
                                     int64_t selectionLength, int64_t group) {
  const char *op = "nsa_block_lists";
  checkRank(op, "indices", indices, 3);
  checkInt32(op, "indices", indices);
  checkPositive(op, "selection_length", selectionLength);
  checkPositive(op, "group", group);
  checkSequences(op, cuSeqlens, maxSeqlen, indices.size(1), "indices", indices);
  const BlockLists made =
      blockLists(indices, cuSeqlens, maxSeqlen, selectionLength, group);
  return {made.lists, made.counts};
}

std::tuple<Tensor, Tensor> forward(const Tensor &q, const Tensor &k,
                                   const Tensor &v, const Tensor &indices,
                                   const Tensor &cuSeqlens, int64_t maxSeqlen,
                                   int64_t selectionLength,
                                   std::optional<double> scale) {
  const Attention a = check(Selected::name, q, k, v, indices, cuSeqlens,
                            maxSeqlen, selectionLength, scale);
  if (indices.size(2) == 0) // the branch is off
    return a.noKeys();
  const Output to = a.newOutput();
  selectedForward(a, {indices, selectionLength}, {}, to);
  return {to.o, byHeads(to.lse)};
}

std::tuple<Tensor, Tensor, Tensor>
backward(const Tensor &gradO, const std::optional<Tensor> &gradLse,
         const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &o,
         const Tensor &lse, const Tensor &indices, const Tensor &cuSeqlens,
         int64_t maxSeqlen, int64_t selectionLength,
         std::optional<double> scale) {
  const Attention a = check(Selected::backwardName, q, k, v, indices, cuSeqlens,
                            maxSeqlen, selectionLength, scale);
  if (indices.size(2) == 0 || a.tokens == 0)
    return a.zeroGradients();
  const Tensor dq = emptyTensor(a.q.sizes(), a.q.options());
  auto [dk, dv] =
      selectedGradients(a, {indices, selectionLength}, {},
                        rowGradient(a, gradO, gradLse, o, lse), {dq});
  return {dq, dk, dv};
}

std::tuple<Tensor, Tensor> meta(const Tensor &q, const Tensor &k,
                                const Tensor &v, const Tensor &, const Tensor &,
                                c10::SymInt, int64_t, std::optional<double>) {
  return metaForward(Selected::name, q, k, v);
}

std::tuple<Tensor, Tensor, Tensor>
metaBack(const Tensor &, const std::optional<Tensor> &, const Tensor &q,
         const Tensor &k, const Tensor &v, const Tensor &, const Tensor &,
         const Tensor &, const Tensor &, c10::SymInt, int64_t,
         std::optional<double>) {
  return metaBackward(q, k, v);
}

std::tuple<Tensor, Tensor> metaListed(const Tensor &q, const Tensor &k,
                                      const Tensor &v, const Tensor &,
                                      const Tensor &, const Tensor &,
                                      const Tensor &, c10::SymInt, int64_t,
                                      std::optional<double>) {
  return metaForward(listedName, q, k, v);
}

std::tuple<Tensor, Tensor> metaLists(const Tensor &indices,
                                     const Tensor &cuSeqlens,
                                     c10::SymInt maxSeqlen,
                                     int64_t selectionLength, int64_t group) {
  const int64_t selected = indices.size(2);
  const int64_t tokens =
      listTokens(group, maxSeqlen.guard_int(__FILE__, __LINE__), selected,
                 selectionLength);
  const c10::SymInt tiles =
      indices.sym_size(1) / tokens + (cuSeqlens.sym_size(0) - 1);
  return {at::empty_symint({indices.sym_size(0), tiles, tokens * selected},
                           indices.options().dtype(at::kLong)),
          at::empty_symint({indices.sym_size(0), tiles}, indices.options())};
}

using Function = AttentionFunction<Selected, const Tensor &, const Tensor &,
                                   c10::SymInt, int64_t, std::optional<double>>;

TESSERA_AUTOGRAD_OP(Selected::name, forward, meta, Function::call);
TESSERA_OP(Selected::backwardName, backward, metaBack);
TESSERA_OP(listedName, listed, metaListed);
TESSERA_OP("nsa_block_lists", makeLists, metaLists);

} // namespace selected_attention_op
} // namespace
} // namespace tessera::runtime
