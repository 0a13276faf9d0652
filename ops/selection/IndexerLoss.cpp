// ops/selection/IndexerLoss.cpp - the loss that trains a learned indexer.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/SymbolicShape.h"
#include "ops/selection/BlockSelection.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <limits>

namespace tessera::runtime {
namespace {
namespace indexer_loss_op {

using at::Tensor;

constexpr const char *opName = "indexer_loss";

void check(const Tensor &q, const Tensor &k, const Tensor &weights,
           const Tensor &tokens, const Tensor &mass, const Tensor &cuSeqlens) {
  for (const auto &[name, tensor] :
       {std::pair("q", &q), std::pair("k", &k), std::pair("weights", &weights),
        std::pair("mass", &mass)})
    checkFloating(opName, name, *tensor);
  checkRank(opName, "q", q, 4);
  checkRank(opName, "k", k, 2);
  const c10::SymIntArrayRef of = q.sym_sizes();
  if (!isTraced(cuSeqlens))
    checkSequences(opName, cuSeqlens, std::max<int64_t>(q.size(0), 1),
                   q.size(0), "q", q);
  checkSymbolicShape(opName, "k", k, {of[0], of[3]}, "[tokens, width] of q");
  checkSymbolicShape(opName, "weights", weights, of.slice(0, 3),
                     "[tokens, lists, heads] of q");
  checkRank(opName, "tokens", tokens, 3);
  checkInt32(opName, "tokens", tokens);
  checkSymbolicShape(
      opName, "tokens", tokens, {of[1], of[0], tokens.sym_size(2)},
      "[lists, tokens, blocks] as tessera::indexer_select gives it");
  checkSymbolicShape(opName, "mass", mass, tokens.sym_sizes(),
                     "[lists, tokens, blocks] as tessera::block_mass gives it");
  for (const auto &[name, tensor] :
       {std::pair("k", &k), std::pair("weights", &weights),
        std::pair("tokens", &tokens), std::pair("mass", &mass),
        std::pair("cu_seqlens", &cuSeqlens)})
    checkSameDevice(opName, name, *tensor, "q", q);
}

// Returns the first token of each token's sequence, int64 [T].
Tensor sequenceStarts(const Tensor &cuSeqlens, c10::SymInt tokens) {
  const Tensor starts = cuSeqlens.slice(0, 0, -1).to(at::kLong);
  const Tensor lengths = cuSeqlens.diff().to(at::kLong);
  return at::repeat_interleave_symint(starts, lengths, 0, std::move(tokens));
}

// Returns the indexer's scores of the selected blocks, fp32 [T, lists, blocks].
// The score of a block is that of the token that `tokens` names for it.
Tensor blockScores(const Tensor &q, const Tensor &k, const Tensor &weights,
                   const Tensor &tokens, const Tensor &cuSeqlens) {
  const c10::SymInt count = q.sym_size(0), lists = q.sym_size(1),
                    blocks = tokens.sym_size(2);
  const Tensor at = tokens.transpose(0, 1).to(at::kLong).clamp_min(0) +
                    sequenceStarts(cuSeqlens, count).view({-1, 1, 1});
  const Tensor rows =
      k.index_select(0, at.clamp_max(count - 1).flatten())
          .to(at::kFloat)
          .view_symint({count * lists, blocks, k.sym_size(1)}); // of each block
  const Tensor products =
      at::bmm(q.to(at::kFloat).flatten(0, 1), rows.transpose(1, 2)).relu();
  return (products * weights.to(at::kFloat).flatten(0, 1).unsqueeze(-1))
      .sum(1)
      .view_symint({count, lists, blocks});
}

Tensor loss(const Tensor &q, const Tensor &k, const Tensor &weights,
            const Tensor &tokens, const Tensor &mass, const Tensor &cuSeqlens) {
  check(q, k, weights, tokens, mass, cuSeqlens);
  if (tokens.sym_numel() == 0)
    return (q.sum({1, 2, 3}) * 0).to(at::kFloat);
  const Tensor absent = tokens.transpose(0, 1) < 0; // [T, lists, blocks]
  const Tensor scores =
      blockScores(q, k, weights, tokens, cuSeqlens)
          .masked_fill(absent, std::numeric_limits<float>::lowest());
  const Tensor given =
      mass.detach().to(at::kFloat).transpose(0, 1).masked_fill(absent, 0);
  const Tensor share = given / given.sum(-1, true).clamp_min(1e-30);
  const Tensor terms = at::xlogy(share, share) -
                       share * scores.log_softmax(-1).masked_fill(absent, 0);
  return terms.sum(2).mean(1);
}

TORCH_LIBRARY_IMPL(tessera, CompositeImplicitAutograd, m) {
  m.impl(opName, loss);
}

} // namespace indexer_loss_op
} // namespace
} // namespace tessera::runtime
