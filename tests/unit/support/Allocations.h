// tests/unit/support/Allocations.h - allocations of this program, counted and
// limited.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

// Calls of operator new by this thread so far.
uint64_t allocationsOfThread();

// While it lives, operator new of more bytes throws std::bad_alloc, in all
// threads.
class LargestAllocation {
public:
  explicit LargestAllocation(size_t bytes);
  LargestAllocation(const LargestAllocation &) = delete;
  ~LargestAllocation();
};

} // namespace tessera
