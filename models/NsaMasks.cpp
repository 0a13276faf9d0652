// models/NsaMasks.cpp - computes the weights of block scores, the selection of
// blocks and the masks of NSA's branches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/NsaMasks.h"

#include <ATen/ATen.h>
#include <limits>

namespace tessera::models {

at::Tensor compressedVisible(const NsaGeometry &g, int64_t first, int64_t last,
                             int64_t count) {
  const at::Tensor end =
      at::arange(count, at::kLong) * g.stride + g.blockLength;
  return end.unsqueeze(0) <=
         at::arange(first + 1, last + 1, at::kLong).unsqueeze(1);
}

at::Tensor scoreWeights(const NsaGeometry &g, int64_t count, int64_t blocks) {
  const at::Tensor key = at::arange(count, at::kLong).unsqueeze(1) * g.stride;
  const at::Tensor block =
      at::arange(blocks, at::kLong).unsqueeze(0) * g.selectionLength;
  const at::Tensor overlap =
      at::minimum(key + g.blockLength, block + g.selectionLength) -
      at::maximum(key, block);
  return overlap.clamp_min(0).to(at::kFloat) / double(g.stride);
}

at::Tensor selectBlocks(const at::Tensor &scores, const NsaGeometry &g,
                        int64_t first, int64_t last) {
  const float infinity = std::numeric_limits<float>::infinity();
  const int64_t blocks = scores.size(-1);
  const at::Tensor block = at::arange(blocks, at::kLong);
  const at::Tensor own =
      at::floor_divide(at::arange(first, last, at::kLong), g.selectionLength)
          .unsqueeze(1);
  const at::Tensor future = block > own;
  const at::Tensor forced = (block < g.initialBlocks)
                                .logical_or(block > own - g.localBlocks)
                                .logical_and(future.logical_not());
  // NaN becomes the lowest finite value: it ranks after every other score, but
  // before future blocks.
  at::Tensor rank = scores.detach().nan_to_num(
      std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max(),
      std::numeric_limits<float>::lowest());
  rank = rank.masked_fill(forced, infinity).masked_fill(future, -infinity);
  const auto [sorted, order] =
      at::sort(rank, /*stable=*/true, /*dim=*/-1, /*descending=*/true);
  const int64_t kept = std::min(g.selectedBlocks, blocks);
  const at::Tensor dropped = sorted.narrow(-1, 0, kept) == -infinity;
  // Dropped slots sort to the end and only then become -1.
  at::Tensor picked = order.narrow(-1, 0, kept).masked_fill(dropped, blocks);
  picked = std::get<0>(picked.sort(-1));
  picked = picked.masked_fill(picked == blocks, -1);
  return at::constant_pad_nd(picked, {0, g.selectedBlocks - kept}, -1);
}

at::Tensor selectedVisible(const at::Tensor &indices, const NsaGeometry &g,
                           int64_t first, int64_t last) {
  const int64_t blocks = (last + g.selectionLength - 1) / g.selectionLength;
  std::vector<int64_t> shape = indices.sizes().vec();
  shape.back() = blocks + 1;
  // Column 0 receives the indices that do not name a block (-1 padding).
  at::Tensor kept = at::zeros(shape, at::kBool);
  kept.scatter_(-1, indices.clamp(-1, blocks).add(1).remainder(blocks + 1),
                true);
  const at::Tensor keys = kept.narrow(-1, 1, blocks)
                              .repeat_interleave(g.selectionLength, -1)
                              .narrow(-1, 0, last);
  const at::Tensor causal = at::arange(last, at::kLong).unsqueeze(0) <=
                            at::arange(first, last, at::kLong).unsqueeze(1);
  return keys.logical_and(causal);
}

at::Tensor windowVisible(int64_t window, int64_t first, int64_t last,
                         int64_t firstKey) {
  const at::Tensor query = at::arange(first, last, at::kLong).unsqueeze(1);
  const at::Tensor key = at::arange(firstKey, last, at::kLong).unsqueeze(0);
  return (key <= query).logical_and(key > query - window);
}

at::Tensor additiveMask(const at::Tensor &visible) {
  return at::zeros(visible.sizes(), at::kFloat)
      .masked_fill_(visible.logical_not(),
                    -std::numeric_limits<float>::infinity());
}

} // namespace tessera::models
