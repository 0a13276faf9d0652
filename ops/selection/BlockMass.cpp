// ops/selection/BlockMass.cpp - the op that computes the share of attention of
// each selected block.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Register.h"
#include "ops/selection/BlockSelection.h"

#include <ATen/ops/empty.h>

namespace tessera::runtime {
namespace {
namespace block_mass_op {

using at::Tensor;

constexpr const char *opName = "block_mass";

Tensor mass(const Tensor &q, const Tensor &k, const Tensor &lse,
            const Tensor &indices, const Tensor &cuSeqlens, int64_t maxSeqlen,
            int64_t block, std::optional<double> scale) {
  TESSERA_CHECK(block >= 1 && block <= 128, opName, "block is ", block,
                "; pass 1 to 128 tokens");
  const Attention a =
      checkAttention(opName, q, k, k, cuSeqlens, maxSeqlen, scale);
  checkRank(opName, "indices", indices, 3);
  checkInt32(opName, "indices", indices);
  checkSameDevice(opName, "indices", indices, "q", q);
  const int64_t lists = indices.size(0), top = indices.size(2);
  checkShape(opName, "indices", indices, {lists, a.tokens, top},
             "[lists, tokens of q, blocks]");
  const ListHeads heads = listHeads(opName, lists, a.queryHeads, a.keyHeads);
  const Tensor rows = lseRows(a, lse);
  Tensor result = at::empty(indices.sizes(), q.options().dtype(at::kFloat));
  if (result.numel() == 0)
    return result;
  Launch launch("kernels/selection/block_mass.py", "block_mass");
  launch.tensor(a.q).tensor(a.k).tensor(rows).tensor(indices).tensor(result);
  launch.tensor(a.cuSeqlens).real(a.scale).integer(a.tokens);
  launch.integer(a.sequences).strides(a.q).strides(a.k).strides(rows);
  launch.padded("HEADS", "HP", heads.heads).constant("SHARE", heads.share);
  launch.constant("KEYS", heads.keys).constant("BLOCK", block);
  launch.constant("TOP", top).keyHead(a.keyDim).sequence(a.maxSeqlen);
  launch.run(tileCount(a.tokens, 1, a.sequences), lists);
  return result;
}

Tensor meta(const Tensor &q, const Tensor &, const Tensor &,
            const Tensor &indices, const Tensor &, c10::SymInt, int64_t,
            std::optional<double>) {
  return at::empty_symint(indices.sym_sizes(), q.options().dtype(at::kFloat));
}

TESSERA_OP(opName, mass, meta);

} // namespace block_mass_op
} // namespace
} // namespace tessera::runtime
