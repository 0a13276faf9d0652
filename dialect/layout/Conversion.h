// dialect/layout/Conversion.h - how to move a tile from one layout to another.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A plan is data: linear maps that give the source register and lane of each
// element. codegen/gpu/lower emits code for a plan; the tests execute it on
// numbers.
#pragma once

#include "dialect/layout/SharedSearch.h"

namespace tessera::layout {

enum class ConversionKind : uint8_t {
  None,      // the same registers
  Registers, // renamed, repeated or dropped registers: no instruction
  Movmatrix, // movmatrix.trans on pairs of 16-bit elements
  Shuffle,   // selects and shfl.idx within a warp
  Shared,    // store, barrier, load
};
const char *conversionName(ConversionKind kind);

// What a warp executes, and how many slots that takes. A slot is one issue of
// an ALU instruction; shuffles and 128-byte passes over shared memory share a
// pipe of half that rate; a barrier is as long as the pipe is deep. A model for
// choosing between plans, not a promise.
struct ConversionCost {
  int selects = 0, shuffles = 0, accesses = 0, wavefronts = 0, permutes = 0;
  int warpBarriers = 0, blockBarriers = 0;
  int64_t scratchBytes = 0;

  int slots() const {
    return selects + permutes + 2 * (shuffles + wavefronts) + accesses +
           8 * warpBarriers + 24 * blockBarriers;
  }
};

// In step s lane l of warp w passes register send(s, l, w) to shfl.idx, reads
// the lane source(s, l, w) and puts what it gets into register
// receive(s, l, w). Input dims register (the step), lane, warp.
struct ShufflePlan {
  LinearLayout send, source, receive;
  int steps = 0;
  // Steps whose source is the lane itself need no shuffle.
  int shuffles = 0;
  // Steps that differ in these bits move whole neighbours the same way: their
  // elements may share a 32-bit register (elements of 16 or 8 bits).
  std::vector<int> packedBits;
};

// movmatrix.sync.aligned.m8n8.trans.b16: source registers with bit sourceBit 0
// and 1 are one operand, result registers with resultBit 0 and 1 one result.
struct MovmatrixPlan {
  int sourceBit = 0, resultBit = 0;
  int instructions = 0;
};

struct ConversionPlan {
  ConversionKind kind = ConversionKind::None;
  // (register, lane, warp) of the result -> (register, lane, warp) of the
  // source that holds its element, as near as there is one.
  LinearLayout from;
  // Result register -> register of the result without replication
  // (dropReplication); Shuffle, Movmatrix and Shared produce the latter.
  LinearLayout replication;
  // The same for the source: register without replication -> source register.
  LinearLayout sources;
  std::optional<ShufflePlan> shuffle;
  std::optional<MovmatrixPlan> movmatrix;
  std::optional<SharedTrip> shared;
  // No warp needs what another warp holds: __syncwarp serves as barrier.
  bool withinWarp = false;
  ConversionCost cost;
};

struct ConversionOptions {
  int elementBits = 32;
  bool shuffles = true, movmatrix = true, ldmatrix = true;
  int64_t maxScratchBytes = int64_t(1) << 40;
};

// Returns the cheapest plan. src and dst have ins among register, lane, warp
// (the last two of equal size in both), the same outs, and hold every element.
// Throws LayoutError otherwise.
ConversionPlan planConversion(const LinearLayout &src, const LinearLayout &dst,
                              const ConversionOptions &options = {});

} // namespace tessera::layout
