// dialect/layout/RegisterLayouts.h - constructors: blocked, mma, dot operands.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// All have ins register, lane (5 bits), warp and outs dim0, dim1, ... of the
// given shape. If the constructor's pattern is larger than the tile, it
// replicates elements (bases of zero); if it is smaller, it repeats in
// registers.
#pragma once

#include "dialect/layout/LinearLayout.h"

namespace tessera::layout {

constexpr int lanesPerWarp = 32;

// A layout for loads, stores and arithmetic: along each axis the elements of
// one lane are fastest, then lanes, then warps. The lists have one entry per
// axis.
struct Blocked {
  std::vector<int64_t> perThread, lanes, warps;
  std::vector<int> order; // axes, fastest first; empty: last axis first
};
// Returns the axes of a tensor of that rank, last axis first.
std::vector<int> lastFirst(size_t rank);

LinearLayout blocked(const std::vector<int64_t> &shape, const Blocked &how);

// Tensor-core fragments (PTX ISA, "Matrix Fragments for mma..."). The last two
// axes are the matrix; the fragments repeat in registers along other axes.
// `warps` has one entry per axis of the result, {.., M, N}; warp numbers
// increase along N first.
struct MmaTile {
  std::vector<int64_t> warps;
  // Rows of the instruction: 16 for all sm_80 types but f64, which has m8n8k4.
  int m = 16;
};

// Returns the layout of the accumulator of m16n8 (f32, s32, f16) or m8n8 (f64),
// of shape {.., M, N}. Two adjacent f16 share a 32-bit register.
LinearLayout mmaAccumulator(const std::vector<int64_t> &shape,
                            const MmaTile &tile);
// Return the layouts of the operands: A has shape {.., M, K} and B {.., K, N}.
// kWidth is the number of consecutive elements along K that a lane holds.
// naturalKWidth(bits) gives the fragment of the ISA. A larger kWidth permutes K
// in A and B alike, which gives the same products and wider loads from shared
// memory.
LinearLayout mmaOperandA(const std::vector<int64_t> &shape, const MmaTile &tile,
                         int64_t kWidth);
LinearLayout mmaOperandB(const std::vector<int64_t> &shape, const MmaTile &tile,
                         int64_t kWidth);
// Returns the number of elements in a 32-bit register: 2 for 16 bits, 1 for
// tf32, 4 for 8 bits; 1 for f64.
int64_t naturalKWidth(int elementBits);

// Returns the layout of the accumulator of wgmma.m64nNk16 and related
// instructions: each of 4 warps holds 16 of the 64 rows. `warps` is {M, N},
// with M a multiple of 4.
LinearLayout wgmmaAccumulator(const std::vector<int64_t> &shape,
                              const std::vector<int64_t> &warps, int64_t n);

} // namespace tessera::layout
