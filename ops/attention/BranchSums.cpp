// ops/attention/BranchSums.cpp - dk and dv of the compressed and of the
// selected branch where several programs make them: the launch that adds up.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/BranchSums.h"

namespace tessera::runtime {
namespace {
namespace branch_sums_op {

constexpr const char *file = "kernels/nsa/bwd_sum.py";

void headSizes(Launch &launch, const Attention &a) {
  launch.padded("D", "DP", a.keyDim).padded("E", "EP", a.valueDim);
  launch.sequence(a.maxSeqlen);
}

int64_t programsOf(const Attention &a, const CompressedParts &parts,
                   int64_t rows) {
  return tileCount(parts.dk.size(0), rows, a.sequences);
}

int64_t programsOf(const ListChunks &chunks, int64_t rows) {
  return chunks.blocks * ceilDiv(chunks.selectionLength, rows);
}

} // namespace branch_sums_op
} // namespace

void addParts(const Attention &a, const CompressedParts &parts) {
  using namespace branch_sums_op;
  Launch launch(file, "cmp_bwd_sum");
  launch.tensor(parts.part).tensor(parts.dk).tensor(parts.dv);
  launch.tensor(a.cuSeqlens).tensor(parts.cuCmp).real(a.scale);
  launch.integer(a.sequences).integer(parts.parts);
  launch.strides(parts.dk).strides(parts.dv).constant("SPAN", kPartTokens);
  headSizes(launch, a);
  launch.run(a.keyHeads, programsOf(a, parts, launch.tile("BR")));
}

void addChunks(const Attention &a, const ListChunks &chunks) {
  using namespace branch_sums_op;
  Launch launch(file, "select_bwd_sum");
  launch.tensor(chunks.part).tensor(chunks.offsets).tensor(chunks.dk);
  launch.tensor(chunks.dv).tensor(a.cuSeqlens).real(a.scale);
  launch.integer(a.sequences).integer(chunks.blocks);
  launch.integer(chunks.part.size(1)).strides(chunks.dk).strides(chunks.dv);
  launch.constant("LSEL", chunks.selectionLength);
  launch.constant("CHUNK", chunks.chunk);
  headSizes(launch, a);
  launch.run(a.keyHeads, programsOf(chunks, launch.tile("BR")));
}

void addBoth(const Attention &a, const ListChunks &chunks,
             const CompressedParts &parts) {
  using namespace branch_sums_op;
  Launch launch(file, "branch_bwd_sum");
  launch.tensor(chunks.part).tensor(chunks.offsets).tensor(chunks.dk);
  launch.tensor(chunks.dv).tensor(parts.part).tensor(parts.dk);
  launch.tensor(parts.dv).tensor(a.cuSeqlens).tensor(parts.cuCmp);
  launch.real(a.scale).integer(a.sequences).integer(chunks.blocks);
  launch.integer(chunks.part.size(1)).integer(parts.parts);
  launch.strides(chunks.dk).strides(chunks.dv);
  launch.strides(parts.dk).strides(parts.dv);
  launch.constant("LSEL", chunks.selectionLength);
  launch.constant("CHUNK", chunks.chunk).constant("SPAN", kPartTokens);
  headSizes(launch, a);
  const int64_t rows = launch.tile("BR");
  launch.run(a.keyHeads, programsOf(chunks, rows) + programsOf(a, parts, rows));
}

} // namespace tessera::runtime
