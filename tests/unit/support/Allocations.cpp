// tests/unit/support/Allocations.cpp - operators that count allocations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/support/Allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

static thread_local uint64_t allocationsHere = 0;
static std::atomic<size_t> mostBytes{SIZE_MAX};

// The other forms of the standard library end here, but for aligned ones and
// the address sanitizer's, which has every form by itself.
void *operator new(size_t bytes) {
  ++allocationsHere;
  void *const memory =
      bytes > mostBytes ? nullptr : std::malloc(bytes + !bytes);
  if (!memory)
    throw std::bad_alloc();
  return memory;
}
void *operator new(size_t bytes, const std::nothrow_t &) noexcept try {
  return operator new(bytes);
} catch (const std::bad_alloc &) {
  return nullptr;
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace tessera {

uint64_t allocationsOfThread() { return allocationsHere; }

LargestAllocation::LargestAllocation(size_t bytes) { mostBytes = bytes; }
LargestAllocation::~LargestAllocation() { mostBytes = SIZE_MAX; }

} // namespace tessera
