// dialect/layout/Conversion.h - how to move a tile from one layout to another.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A plan consists of linear maps from each element of the result to its source
// register and lane. codegen/gpu/lower emits code for a plan; the tests
// interpret it on numbers.
#pragma once

#include "dialect/layout/SharedSearch.h"

namespace tessera::layout {

enum class ConversionKind : uint8_t {
  None,      // both layouts have the same registers
  Registers, // renamed, repeated or dropped registers: no instruction
  Movmatrix, // movmatrix.trans on pairs of 16-bit elements
  Shuffle,   // selects and shfl.idx within a warp
  Shared,    // store, barrier, load
};
const char *conversionName(ConversionKind kind);

// The instructions that a warp executes and their modelled cost in slots. A
// slot is the issue of one ALU instruction. Shuffles and wavefronts share a
// pipe of half that rate. A barrier costs the depth of the pipe. The model only
// ranks plans; it does not predict times.
struct ConversionCost {
  int selects = 0, shuffles = 0, accesses = 0, wavefronts = 0, permutes = 0;
  int warpBarriers = 0, blockBarriers = 0;
  int64_t scratchBytes = 0;

  int slots() const {
    return selects + permutes + 2 * (shuffles + wavefronts) + accesses +
           8 * warpBarriers + 24 * blockBarriers;
  }
};

// In step s, lane l of warp w passes register send(s, l, w) to shfl.idx, reads
// from lane source(s, l, w) and writes the result to register receive(s, l, w).
// The input dims of the maps are register (the step), lane and warp.
struct ShufflePlan {
  LinearLayout send, source, receive;
  int steps = 0;
  // Number of steps with a shuffle. A step in which each lane reads its own
  // register needs none.
  int shuffles = 0;
  // Steps that differ only in these bits use the same lanes. Their elements, of
  // 16 or 8 bits, can share a 32-bit register and one shuffle.
  std::vector<int> packedBits;
};

// Plan for movmatrix.sync.aligned.m8n8.trans.b16. Two source registers that
// differ in bit sourceBit form the operand; two result registers that differ in
// resultBit form the result.
struct MovmatrixPlan {
  int sourceBit = 0, resultBit = 0;
  int instructions = 0;
};

struct ConversionPlan {
  ConversionKind kind = ConversionKind::None;
  // (register, lane, warp) of the result -> (register, lane, warp) of a source
  // that holds the same element: in the same lane if possible, then in the same
  // warp.
  LinearLayout from;
  // Result register -> register of the result without replication (see
  // dropReplication). Shuffle, Movmatrix and Shared plans write the latter.
  LinearLayout replication;
  // Source register without replication -> source register.
  LinearLayout sources;
  std::optional<ShufflePlan> shuffle;
  std::optional<MovmatrixPlan> movmatrix;
  std::optional<SharedTrip> shared;
  // True if no warp reads an element of another warp, so that __syncwarp
  // suffices as barrier.
  bool withinWarp = false;
  ConversionCost cost;
};

struct ConversionOptions {
  int elementBits = 32;
  bool shuffles = true, movmatrix = true, ldmatrix = true;
  int64_t maxScratchBytes = int64_t(1) << 40;
};

// Returns the cheapest plan. src and dst must have ins among register, lane and
// warp, with equally many lanes and warps, have the same outs, and hold every
// element. Throws LayoutError otherwise.
ConversionPlan planConversion(const LinearLayout &src, const LinearLayout &dst,
                              const ConversionOptions &options = {});

} // namespace tessera::layout
