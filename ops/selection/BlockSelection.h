// ops/selection/BlockSelection.h - code that the ops which select blocks share.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/attention/Attention.h"

namespace tessera::runtime {

// The number of blocks that a query keeps, and the forced ones.
struct BlockSelection {
  int64_t block; // tokens of a block
  int64_t top;   // blocks that a list holds, forced ones included
  int64_t first; // forced blocks at the start of the sequence
  int64_t local; // forced blocks up to the query's own
};

// Throws Error unless 1 <= block <= 128, first and local are not negative and
// top holds at least the forced blocks and one block.
void checkSelection(const char *op, const BlockSelection &selection);

// The heads that share a list of selected blocks. Lists are numbered like the
// heads.
struct ListHeads {
  int64_t lists; // 1, one for each key head or one for each query head
  int64_t keys;  // key heads of a list
  int64_t share; // lists that use one key head
  int64_t heads; // query heads of a list for each of its key heads
};

// Throws Error if `lists` is neither 1 nor the number of key heads nor that of
// query heads.
ListHeads listHeads(const char *op, int64_t lists, int64_t queryHeads,
                    int64_t keyHeads);

// Returns the columns of a row in which a kernel keeps its best blocks: a power
// of two, at least `step`, the number of blocks per step.
int64_t keptColumns(int64_t top, int64_t step);

// Adds FIRST, LOCAL, BLOCK, TOP and W to a launch; `step` as above.
void setSelection(Launch &launch, const BlockSelection &selection,
                  int64_t step);

} // namespace tessera::runtime
