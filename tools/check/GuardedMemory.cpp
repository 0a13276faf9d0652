// tools/check/GuardedMemory.cpp - allocates memory between inaccessible pages.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/check/GuardedMemory.h"

#include "support/Error.h"
#include "support/File.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::tools {
namespace {

constexpr char pattern = char(0xa5);
// Size of the guard on each side. It uses addresses only, no memory.
constexpr size_t guard = size_t(64) << 20;

size_t roundedUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

} // namespace

GuardedMemory::GuardedMemory(size_t bytes) : size(bytes) {
  const size_t page = size_t(::sysconf(_SC_PAGESIZE));
  const size_t there = roundedUp(bytes + alignment, page);
  // The system hands out more addresses than it has memory, and a program that
  // uses them is stopped, or the machine swaps.
  const size_t memory = size_t(::sysconf(_SC_PHYS_PAGES)) * page;
  if (there > memory)
    throw Error("a tensor of " + std::to_string(bytes) +
                    " bytes does not fit the memory of this machine, " +
                    std::to_string(memory) + " bytes",
                "try smaller sizes or fewer instances");
  mapped = there + 2 * guard;
  void *got = ::mmap(nullptr, mapped, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED)
    throw Error("cannot get " + std::to_string(mapped) +
                    " bytes of addresses: " + errnoText(errno),
                "raise the limit of addresses, ulimit -v");
  mapping = static_cast<char *>(got);
  begin = mapping + guard;
  end = begin + there;
  if (::mprotect(begin, there, PROT_READ | PROT_WRITE) != 0) {
    const std::string why = errnoText(errno);
    ::munmap(mapping, mapped);
    throw Error("cannot get " + std::to_string(there) +
                    " bytes of memory: " + why,
                "try smaller sizes or fewer instances");
  }
  first = end - roundedUp(bytes, alignment);
  std::memset(begin, pattern, size_t(first - begin));
  std::memset(first + size, pattern, size_t(end - first) - size);
}

GuardedMemory::~GuardedMemory() { ::munmap(mapping, mapped); }

ptrdiff_t GuardedMemory::writtenAfter() const {
  for (const char *p = first + size; p < end; ++p)
    if (*p != pattern)
      return p - (first + size);
  return -1;
}

ptrdiff_t GuardedMemory::writtenBefore() const {
  for (const char *p = first; p > begin; --p)
    if (p[-1] != pattern)
      return first - p;
  return -1;
}

} // namespace tessera::tools
