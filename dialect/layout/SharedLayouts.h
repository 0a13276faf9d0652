// dialect/layout/SharedLayouts.h - constructors of layouts in shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// These layouts are invertible maps from Offset, in elements, to dim0, dim1,
// ... Shared memory has 32 banks of 4 bytes. Accesses of lanes to different
// rows of 128 bytes in the same bank conflict and are serialized. Swizzling
// XORs bits of the row into the column, so that the lanes of one access use
// different banks.
#pragma once

#include "dialect/layout/LinearLayout.h"

namespace tessera::layout {

// Returns a layout without swizzle or padding. `order` lists the axes, fastest
// first; empty means last axis first.
LinearLayout rowMajorShared(const std::vector<int64_t> &shape,
                            std::vector<int> order = {});

// Stores the element of row r and column c (of the two fastest axes) at column
// c ^ (vec * ((r / perPhase) % maxPhase)) of row r.
struct Swizzle {
  int64_t vec = 1, perPhase = 1, maxPhase = 1;
  bool operator==(const Swizzle &) const = default;
};
LinearLayout swizzledShared(const std::vector<int64_t> &shape,
                            const Swizzle &swizzle,
                            std::vector<int> order = {});
// Returns the swizzle with which ldmatrix and 16-byte stores of rows of
// `columns` elements have no bank conflicts.
Swizzle operandSwizzle(int64_t columns, int elementBits);

// Returns a layout of TMA and wgmma: core matrices of 8 rows by 32, 64 or 128
// `bytes`, in order along rows, then along columns. `bytes` 0 gives core
// matrices of 16 bytes without swizzle.
LinearLayout coreShared(const std::vector<int64_t> &shape, int bytes,
                        int elementBits);

} // namespace tessera::layout
