// ops/selection/BlockSelection.cpp - functions that the ops which select blocks
// share.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/selection/BlockSelection.h"

namespace tessera::runtime {

void checkSelection(const char *op, const BlockSelection &s) {
  TESSERA_CHECK(s.block >= 1 && s.block <= 128, op, "block is ", s.block,
                "; pass 1 to 128 tokens");
  checkNotNegative(op, "first", s.first);
  checkNotNegative(op, "local", s.local);
  TESSERA_CHECK(s.top >= 1 && s.top <= 4096, op, "top is ", s.top,
                "; pass 1 to 4096 blocks");
  TESSERA_CHECK(s.first <= s.top && s.local <= s.top - s.first, op, "top is ",
                s.top, " and must hold the forced blocks, first = ", s.first,
                " and local = ", s.local, "; raise top or force fewer blocks");
}

ListHeads listHeads(const char *op, int64_t lists, int64_t queryHeads,
                    int64_t keyHeads) {
  const int64_t group = queryHeads / keyHeads;
  if (lists == keyHeads)
    return {lists, 1, 1, group};
  if (lists == queryHeads)
    return {lists, 1, group, 1};
  TESSERA_CHECK(lists == 1, op, "lists is ", lists,
                "; pass 1, one for each of the ", keyHeads,
                " key heads, or one for each of the ", queryHeads,
                " query heads");
  return {1, keyHeads, 1, group};
}

int64_t keptColumns(int64_t top, int64_t step) {
  return std::max(nextPowerOfTwo(top), step);
}

void setSelection(Launch &launch, const BlockSelection &s, int64_t step) {
  launch.constant("BLOCK", s.block).constant("TOP", s.top);
  launch.constant("W", keptColumns(s.top, step));
  launch.constant("FIRST", s.first).constant("LOCAL", s.local);
}

} // namespace tessera::runtime
