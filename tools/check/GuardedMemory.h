// tools/check/GuardedMemory.h - memory between inaccessible pages.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tessera::tools {

// Bytes on a 64-byte boundary whose end, but for less than 64 bytes, is the end
// of the memory there is: what reads or writes beyond it, or a page before it,
// is stopped by the processor. What lies between the bytes and the pages that
// nothing may touch has a pattern that shows writes.
class GuardedMemory {
public:
  static constexpr size_t alignment = 64;

  // Throws Error when the system has no more.
  explicit GuardedMemory(size_t bytes);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory &) = delete;
  GuardedMemory &operator=(const GuardedMemory &) = delete;

  char *data() const { return first; }
  // How far from the bytes the nearest write outside of them is: what lies
  // between, 0 for the byte next to them; -1 when there is none.
  ptrdiff_t writtenAfter() const;
  ptrdiff_t writtenBefore() const;

private:
  char *mapping = nullptr; // with the pages that nothing may touch
  size_t mapped = 0;
  char *begin = nullptr, *end = nullptr; // of what there is
  char *first = nullptr;
  size_t size = 0;
};

} // namespace tessera::tools
