// dialect/layout/SharedSearch.h - shared layouts without bank conflicts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Finds the shared layout through which a layout conversion stores and loads.
// A phase is the part of an access that one wavefront serves. It touches a
// subspace of at most 128 bytes. Let the *segment* be the span of the offset
// bits above 128 bytes. A phase has no bank conflicts if its subspace and the
// segment have only 0 in common. The search needs one segment that avoids two
// subspaces: P (the store's phase) and Q (the load's phase).
//
// Such a segment always exists. Let p_1.. extend a basis of the intersection
// of P and Q to P, and q_1.. extend it to Q. The span of the sums p_i + q_i and
// of a complement of P + Q avoids P and Q: a sum in P would imply that a
// combination of the q_i is in the intersection. If the tile has dimension n
// and P and Q at most d, these are at least n - d vectors. The segment needs
// exactly n - d if 2^d elements are 128 bytes. XORing the sums into the address
// is the swizzle.
#pragma once

#include "dialect/layout/SharedAccess.h"

namespace tessera::layout {

struct SearchOptions {
  int elementBits = 32;
  bool ldmatrix = true; // true if the load may use ldmatrix
  // For cp.async, n: a lane copies 2^n elements, which the lowest n register
  // bits of src number, from global memory at once. -1: stores of any vector.
  int storedBits = -1;
  // A tile that needs more bytes than this goes through the scratch buffer in
  // several iterations.
  int64_t maxBytes = int64_t(1) << 40;
};

// The stores and loads that move a tile through a scratch buffer in shared
// memory, from layout src to layout dst.
struct SharedTrip {
  // Offset -> element of the tile, for the elements of one iteration.
  LinearLayout scratch;
  SharedAccess store, load;
  // If bit i of the iteration number is set, the iteration's elements are XORed
  // with iterations[i] (a flat element). That bit is register bit
  // store.iterationBits[i] of the source and load.iterationBits[i] of the
  // destination.
  std::vector<Word> iterations;

  int64_t bytes() const;
  int iterationCount() const { return 1 << iterations.size(); }
  int wavefronts() const;
  int instructions() const;
};

// Returns the cheapest trip. The criteria, in order: bytes() at most maxBytes;
// fewest wavefronts; fewest instructions (with permutes and, for tiles of two
// or more axes, moves); fewest loads; then ldmatrix for tiles of two or more
// axes and vector loads for tiles of one axis. bytes() exceeds maxBytes if too
// few register bits of src and dst have the same basis.
//
// src and dst must hold every element of the tile, and no element twice in a
// lane. Throws LayoutError if they do not, if their shapes differ, if
// elementBits is not a power of two from 8 to 128, or if src cannot store
// aligned vectors of 2^storedBits elements.
SharedTrip findSharedTrip(const LinearLayout &src, const LinearLayout &dst,
                          const SearchOptions &options);

// Returns the bases of the offset bits, which span the same space as `space`
// and begin with `low` in this order. The bases from index segmentStart on are
// the segment: its intersections with span(p) and span(q) are as small as
// possible, {0} if both have at most segmentStart dimensions. findSharedTrip
// and the tests call it.
std::vector<Word> findOffsetBases(const std::vector<Word> &space,
                                  const std::vector<Word> &low,
                                  const std::vector<Word> &p,
                                  const std::vector<Word> &q, int segmentStart);

} // namespace tessera::layout
