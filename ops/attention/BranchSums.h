// ops/attention/BranchSums.h - sums the partial dk and dv that several programs
// compute, of the compressed and selected branches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/Estimates.h"
#include "ops/attention/Attention.h"

namespace tessera::runtime {

// dk and dv of the compressed rows. `part` holds the partial sums of chunks of
// the tokens, fp32 [Tc, Hkv, parts, D + E]. With one chunk, dk and dv are
// already complete.
struct CompressedParts {
  at::Tensor part, dk, dv, cuCmp;
  int64_t parts = 1;
};

// dk and dv of the selected branch. For lists of more than `chunk` tokens,
// `part` holds the partial sums of their chunks, fp32 [Hkv, chunks, l', D + E].
struct ListChunks {
  at::Tensor part, offsets, dk, dv; // offsets: PTR of docs/kernel-reference.md
  int64_t blocks, selectionLength, chunk;
};

// Each function is one launch. `a` may belong to either branch: only its
// sequences, head sizes and scale are used.
void addParts(const Attention &a, const CompressedParts &parts);
void addChunks(const Attention &a, const ListChunks &chunks);
void addBoth(const Attention &a, const ListChunks &chunks,
             const CompressedParts &parts);

} // namespace tessera::runtime
