// reference/Geometry.h - block geometry of NSA: validation, counts and Eq. 9
// weights.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/Tensor.h"

#include <utility>

namespace tessera::reference {

// Names of shared use: l, d, l', n, w of the paper.
struct Geometry {
  int64_t blockLength = 32;     // l: tokens of one compressed block
  int64_t blockStride = 16;     // d: distance of two compressed blocks
  int64_t selectionLength = 64; // l': tokens of one selection block
  int64_t selected = 16;        // n: selected blocks, forced ones included
  int64_t window = 512;         // w: sliding window, current token included
  int64_t initialBlocks = 1;    // forced from the start of the sequence
  int64_t localBlocks = 2;      // forced up to the current block
  bool generalOverlap = false;  // allow d to divide neither l nor l'
};

// Throws std::invalid_argument that names the field, its value and the rule.
void validate(const Geometry &geometry, int64_t queryHeads, int64_t keyHeads,
              int64_t keyDim);

// Compressed tokens of a sequence of the given length.
int64_t compressedCount(const Geometry &geometry, int64_t length);

// Compressed tokens visible to the query at (0-based) position t.
int64_t visibleCompressed(const Geometry &geometry, int64_t t);

// Prefix sums of the compressed counts of packed sequences.
Offsets compressedOffsets(const Geometry &geometry, const Offsets &cuSeqlens);

// Selection blocks of a sequence; a partial last block counts.
int64_t selectionBlocks(const Geometry &geometry, int64_t length);

// Tokens shared by compressed block i and selection block j.
int64_t overlap(const Geometry &geometry, int64_t i, int64_t j);

// Weight of compressed block i in the score of selection block j (Eq. 9):
// overlap/d, or overlap/l in general-overlap mode.
double scoreWeight(const Geometry &geometry, int64_t i, int64_t j);

// Keys read by the last query of a sequence.
struct ReadCounts {
  int64_t compressed = 0;
  int64_t selected = 0;
  int64_t window = 0;
  int64_t total() const { return compressed + selected + window; }
};
ReadCounts nominalReads(const Geometry &geometry, int64_t length);
ReadCounts exactReads(const Geometry &geometry, int64_t length);

} // namespace tessera::reference
