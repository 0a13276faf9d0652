// ops/attention/BranchSums.h - dk and dv of the compressed and of the selected
// branch where several programs make them: the launch that adds up.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/Estimates.h"
#include "ops/attention/Attention.h"

namespace tessera::runtime {

// dk and dv of the compressed rows: by parts of the tokens in `part`, fp32
// [Tc, Hkv, parts, D + E], or with one part written already.
struct CompressedParts {
  at::Tensor part, dk, dv, cuCmp;
  int64_t parts = 1;
};

// dk and dv of the selected branch: lists of more than `chunk` tokens have
// their chunks in `part`, fp32 [Hkv, chunks, l', D + E].
struct ListChunks {
  at::Tensor part, offsets, dk, dv; // offsets: PTR of docs/kernels.md
  int64_t blocks, selectionLength, chunk;
};

// Each is one launch. The attention is that of either branch: of it only the
// sequences, head sizes and the scale matter here.
void addParts(const Attention &a, const CompressedParts &parts);
void addChunks(const Attention &a, const ListChunks &chunks);
void addBoth(const Attention &a, const ListChunks &chunks,
             const CompressedParts &parts);

} // namespace tessera::runtime
