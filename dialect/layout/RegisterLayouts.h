// dialect/layout/RegisterLayouts.h - constructors: blocked, mma, dot operands.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// All have ins register, lane (5 bits), warp and outs dim0, dim1, ... of the
// given shape. What is larger than the tile becomes replication (bases of
// zero), what is smaller is repeated in registers.
#pragma once

#include "dialect/layout/LinearLayout.h"

namespace tessera::layout {

constexpr int lanesPerWarp = 32;

// Loads, stores, arithmetic. Per axis, fastest first: elements in one lane,
// then lanes, then warps.
struct Blocked {
  std::vector<int64_t> perThread, lanes, warps;
  std::vector<int> order; // axes, fastest first; empty: last axis first
};
// The axes of a tensor of that rank, last axis first.
std::vector<int> lastFirst(size_t rank);

LinearLayout blocked(const std::vector<int64_t> &shape, const Blocked &how);

// Tensor-core fragments (PTX ISA, "Matrix Fragments for mma..."). The last two
// axes are the matrix; axes before them are repeated in registers. `warps` has
// one entry per axis of the result, {.., M, N}; warps are numbered along N
// first.
struct MmaTile {
  std::vector<int64_t> warps;
  // Rows of the instruction: 16 for all sm_80 types but f64, which has m8n8k4.
  int m = 16;
};

// The accumulator of m16n8 (f32, s32, f16) or m8n8 (f64): shape {.., M, N}. Two
// neighbouring f16 share a 32-bit register.
LinearLayout mmaAccumulator(const std::vector<int64_t> &shape,
                            const MmaTile &tile);
// The operands: shape {.., M, K} of A and {.., K, N} of B. kWidth: neighbours
// along K that a lane holds; naturalKWidth(bits) gives the fragment of the ISA,
// more gives the same products with K renumbered alike in A and B (so that a
// lane's loads from shared memory may be wider).
LinearLayout mmaOperandA(const std::vector<int64_t> &shape, const MmaTile &tile,
                         int64_t kWidth);
LinearLayout mmaOperandB(const std::vector<int64_t> &shape, const MmaTile &tile,
                         int64_t kWidth);
// Elements in a 32-bit register: 2 for 16 bits, 1 for tf32, 4 for 8 bits; 1 for
// f64.
int64_t naturalKWidth(int elementBits);

// The accumulator of wgmma.m64nNk16 and related instructions: 4 warps hold 16
// of the 64 rows each. `warps` is {M, N}, with M a multiple of 4.
LinearLayout wgmmaAccumulator(const std::vector<int64_t> &shape,
                              const std::vector<int64_t> &warps, int64_t n);

} // namespace tessera::layout
