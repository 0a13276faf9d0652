// dialect/layout/SharedLayouts.h - constructors of layouts in shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Offset (in elements) -> dim0, dim1, ...: one input dim, invertible. Shared
// memory has 32 banks of 4 bytes; lanes that touch different rows of 128 bytes
// in the same bank wait for each other. Swizzling XORs bits of the row into the
// column so that the lanes of one access fall into different banks.
#pragma once

#include "dialect/layout/LinearLayout.h"

namespace tessera::layout {

// Rows one after the other; order: axes, fastest first, empty: last axis first.
LinearLayout rowMajorShared(const std::vector<int64_t> &shape,
                            std::vector<int> order = {});

// Row r, column c (of the two fastest axes) lies at column
// c ^ (vec * ((r / perPhase) % maxPhase)).
struct Swizzle {
  int64_t vec = 1, perPhase = 1, maxPhase = 1;
  bool operator==(const Swizzle &) const = default;
};
LinearLayout swizzledShared(const std::vector<int64_t> &shape,
                            const Swizzle &swizzle,
                            std::vector<int> order = {});
// The swizzle under which ldmatrix and 16-byte stores of rows of `columns`
// elements have no conflicts.
Swizzle operandSwizzle(int64_t columns, int elementBits);

// What TMA and wgmma read: cores of 8 rows by 32, 64 or 128 bytes, stacked
// along rows, then along columns. `bytes` 0 has no swizzle and 16-byte cores.
LinearLayout coreShared(const std::vector<int64_t> &shape, int bytes,
                        int elementBits);

} // namespace tessera::layout
