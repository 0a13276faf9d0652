// ops/attention/BranchSums.cpp - sums the partial dk and dv of the compressed
// and selected branches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/BranchSums.h"

namespace tessera::runtime {
namespace {
namespace branch_sums_op {

constexpr const char *file = "kernels/nsa/bwd_sum.py";

void commonArguments(Launch &launch, const Attention &a) {
  launch.tensor("CU", a.cuSeqlens).real("scale", a.scale);
  launch.integer("nseq", a.sequences);
  launch.padded("D", "DP", a.keyDim).padded("E", "EP", a.valueDim);
  launch.sequence(a.maxSeqlen);
}

void chunkArguments(Launch &launch, const ListChunks &chunks) {
  launch.tensor("PART", chunks.part).tensor("PTR", chunks.offsets);
  launch.rows("dk", chunks.dk).rows("dv", chunks.dv);
  launch.integer("nblk", chunks.blocks).integer("chunks", chunks.part.size(1));
  launch.constant("LSEL", chunks.selectionLength);
  launch.constant("CHUNK", chunks.chunk);
}

// Adds the tensors of partial sums. If one kernel sums both branches, their
// names differ by branch.
void partArguments(Launch &launch, const CompressedParts &parts,
                   const char *sums, const char *dk, const char *dv) {
  launch.tensor(sums, parts.part).rows(dk, parts.dk).rows(dv, parts.dv);
  launch.tensor("CU_CMP", parts.cuCmp).integer("parts", parts.parts);
  launch.constant("SPAN", kPartTokens);
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
  partArguments(launch, parts, "PART", "dk", "dv");
  commonArguments(launch, a);
  launch.run(a.keyHeads, programsOf(a, parts, launch.tile("BR")));
}

void addChunks(const Attention &a, const ListChunks &chunks) {
  using namespace branch_sums_op;
  Launch launch(file, "select_bwd_sum");
  chunkArguments(launch, chunks);
  commonArguments(launch, a);
  launch.run(a.keyHeads, programsOf(chunks, launch.tile("BR")));
}

void addBoth(const Attention &a, const ListChunks &chunks,
             const CompressedParts &parts) {
  using namespace branch_sums_op;
  Launch launch(file, "branch_bwd_sum");
  chunkArguments(launch, chunks);
  partArguments(launch, parts, "CPART", "cdk", "cdv");
  commonArguments(launch, a);
  const int64_t rows = launch.tile("BR");
  launch.run(a.keyHeads, programsOf(chunks, rows) + programsOf(a, parts, rows));
}

} // namespace tessera::runtime
