// ops/attention/BlockPasses.cpp - the forward pass and dq of selected blocks.
// Each program visits blocks together with the tokens that selected them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/BlockPasses.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <limits>

namespace tessera::runtime {
namespace {
namespace block_passes {

using at::Tensor;

constexpr const char *file = "kernels/nsa/select_blocks.py";

constexpr int64_t kFewHeads = 2;

// Number of tokens of a program. If all selections differ, each block has on
// average kListedTokens of them. A power of two, so it is a multiple of a tile
// of the inverse index.
constexpr int64_t kListedTokens = 64, kLeastSpan = 256, kMostSpan = 1 << 20;

int64_t spanOf(const Attention &a, const Selection &of) {
  const int64_t selected = of.indices.size(2) * of.length;
  return std::clamp(
      nextPowerOfTwo(ceilDiv(kListedTokens * a.maxSeqlen, selected)),
      kLeastSpan, kMostSpan);
}

void addIndex(Launch &launch, const InverseIndex &inverse) {
  launch.tensor("PTR", inverse.offsets).tensor("STARTS", inverse.starts);
  launch.tensor("INV", inverse.tokens);
}

void runSpans(Launch &launch, const Attention &a, const Selection &of,
              const InverseIndex &inverse) {
  const int64_t span = spanOf(a, of);
  launch.tensor("CU", a.cuSeqlens).real("scale", a.scale);
  launch.integer("T", a.tokens).integer("nseq", a.sequences);
  launch.integer("nblk", inverse.blocks).integer("tiles", inverse.tiles);
  launch.constant("G", a.group).constant("LSEL", of.length);
  launch.constant("NSEL", of.indices.size(2));
  launch.constant("BT", inverse.tileTokens).constant("SPAN", span);
  launch.keyHead(a.keyDim).padded("E", "EP", a.valueDim);
  wholeTokens(launch, a.group);
  if (of.sub > 0)
    setTiles(launch, superTiles(a), a.group > kLeastTileRows);
  for (const auto &[name, value] : keyRule(of))
    launch.constant(name, value);
  launch.sequence(a.maxSeqlen);
  launch.run(tileCount(a.tokens, span, a.sequences), a.keyHeads);
}

} // namespace block_passes
} // namespace

bool visitsBlocks(const Attention &listed) {
  return takesCpuKernels(listed.q) && listed.group <= block_passes::kFewHeads;
}

void blocksForward(const Attention &a, const Selection &of, const Output &to) {
  using namespace block_passes;
  const InverseIndex inverse = invert(a, of, takesCpuKernels(a.q));
  const auto numbers = to.lse.options();
  const Tensor sums = at::zeros(
      {a.keyHeads, a.tokens, a.group, nextPowerOfTwo(a.valueDim)}, numbers);
  const Tensor state = at::zeros({2, a.keyHeads, a.tokens, a.group}, numbers);
  state[0].fill_(-std::numeric_limits<float>::infinity());
  Launch launch(file, "select_blocks_fwd");
  launch.rows("q", a.q).rows("k", a.k).rows("v", a.v);
  addIndex(launch, inverse);
  launch.tensor("ACC", sums).tensor("STATE", state);
  launch.rows("o", to.o).rows("lse", to.lse);
  runSpans(launch, a, of, inverse);
}

void blocksDq(const Attention &a, const Selection &of,
              const InverseIndex &inverse, const RowGradient &rows,
              const QueryGradient &to) {
  using namespace block_passes;
  const bool inPlace = to.dq.scalar_type() == at::kFloat;
  const Tensor dq =
      inPlace ? to.dq
              : at::zeros(to.dq.sizes(), to.dq.options().dtype(at::kFloat));
  if (inPlace && !to.add)
    dq.zero_();
  Launch launch(file, "select_blocks_bwd_dq");
  addRows(launch, a, rows).rows("dq", dq);
  addIndex(launch, inverse);
  runSpans(launch, a, of, inverse);
  if (inPlace)
    return;
  to.add ? to.dq.add_(dq) : to.dq.copy_(dq);
}

} // namespace tessera::runtime
