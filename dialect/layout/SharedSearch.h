// dialect/layout/SharedSearch.h - shared layouts without bank conflicts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A phase of an access touches a subspace of at most 128 bytes; it is free of
// conflicts when that subspace meets the *segment*, the span of the offset bits
// above 128 bytes, in 0 only. So the task is to find a segment that avoids two
// subspaces P (the store's phase) and Q (the load's phase) at once.
//
// It always exists. Let p_1.. extend P n Q to P and q_1.. extend it to Q: the
// sums p_i + q_i lie in neither (a sum in P would put a combination of the q
// into P n Q), nor does a complement of P + Q. With dim P, dim Q at most d
// these are at least n - d vectors, as many as the segment needs when 2^d
// elements are 128 bytes. XORing the sums into the address is the swizzle.
#pragma once

#include "dialect/layout/SharedAccess.h"

namespace tessera::layout {

struct SearchOptions {
  int elementBits = 32;
  bool ldmatrix = true; // may the load be ldmatrix
  // cp.async: a store is what a lane reads from global memory at once, 2^n
  // elements in the lowest n register bits of src. -1: any vector.
  int storedBits = -1;
  // Scratch is used in iterations when a tile needs more bytes than this.
  int64_t maxBytes = int64_t(1) << 40;
};

// The way of a tile through shared memory.
struct SharedTrip {
  // Offset -> element of the tile; one iteration's share of it.
  LinearLayout scratch;
  SharedAccess store, load;
  // What the elements of an iteration differ by: bit i of the iteration number
  // adds iterations[i] (a flat element) and is bit store.iterationBits[i] of
  // the source registers and load.iterationBits[i] of the destination's.
  std::vector<Word> iterations;

  int64_t bytes() const;
  int iterationCount() const { return 1 << iterations.size(); }
  int wavefronts() const;
  int instructions() const;
};

// The cheapest trip: fewest wavefronts, then fewest instructions (permutes and,
// for tiles of two axes, moves included), then fewest loads, then ldmatrix (see
// bestLoad; for a vector the other way). src and dst hold every element of the
// tile, and none twice in a lane. ways is 1 on both sides of the result.
// bytes() may exceed maxBytes where not enough registers of src and dst hold
// the same elements.
SharedTrip findSharedTrip(const LinearLayout &src, const LinearLayout &dst,
                          const SearchOptions &options);

// The span-level core, for tests and other searches: offset bases of the space
// spanned by `space`, beginning with `low` (in this order), such that the span
// of the bases from `segmentStart` on meets span(p) and span(q) as little as
// possible: in 0 only if both have at most segmentStart dimensions.
std::vector<Word> findOffsetBases(const std::vector<Word> &space,
                                  const std::vector<Word> &low,
                                  const std::vector<Word> &p,
                                  const std::vector<Word> &q, int segmentStart);

} // namespace tessera::layout
