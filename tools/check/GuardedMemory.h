// tools/check/GuardedMemory.h - memory between inaccessible pages.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tessera::tools {

// Bytes on a 64-byte boundary between inaccessible pages. Fewer than 64 bytes
// separate their end from the next guard page, so a read or write beyond it, or
// before the first page, faults. The gap between the bytes and the guard pages
// holds a pattern that reveals writes.
//
//      | guard | pattern | bytes | pattern (< 64) | guard |
class GuardedMemory {
public:
  static constexpr size_t alignment = 64;

  // Throws Error if the system has no memory left.
  explicit GuardedMemory(size_t bytes);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory &) = delete;
  GuardedMemory &operator=(const GuardedMemory &) = delete;

  char *data() const { return first; }
  // Distance from the bytes to the nearest write outside of them: the number of
  // bytes in between, 0 for an adjacent byte, -1 without a write.
  ptrdiff_t writtenAfter() const;
  ptrdiff_t writtenBefore() const;

private:
  char *mapping = nullptr; // including guard pages
  size_t mapped = 0;
  char *begin = nullptr, *end = nullptr; // accessible part
  char *first = nullptr;
  size_t size = 0;
};

} // namespace tessera::tools
