// ops/launch/KeptMemory.cpp - maps blocks, keeps freed ones, and unmaps the
// oldest.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/launch/KeptMemory.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::runtime {
namespace {

constexpr size_t kHugePage = size_t(2) << 20;

// Returns a block that begins at a huge page, or nullptr.
void *map(size_t bytes) {
  void *const got = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED)
    return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(got);
  const uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  if (first > begin)
    munmap(got, first - begin);
  if (const size_t rest = begin + kHugePage - first)
    munmap(reinterpret_cast<void *>(first + bytes), rest);
  // The call is a hint. A system without huge pages rejects it without effect.
  (void)madvise(reinterpret_cast<void *>(first), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<void *>(first);
}

} // namespace

struct KeptMemory::Blocks {
  struct Block {
    void *begin;
    size_t bytes;
  };
  // What the storage of a tensor keeps of its block.
  struct Holder {
    Blocks *all;
    Block block;
  };

  explicit Blocks(size_t limit) : limit(limit) {}

  const size_t limit;
  std::mutex mutex;
  std::list<Block> freed; // the oldest first
  size_t freedBytes = 0;

  // Returns the smallest freed block that fits and is not much larger.
  Block take(size_t bytes) {
    const std::lock_guard lock(mutex);
    auto best = freed.end();
    for (auto it = freed.begin(); it != freed.end(); ++it)
      if (it->bytes >= bytes && it->bytes - bytes <= it->bytes / 5 &&
          (best == freed.end() || it->bytes < best->bytes))
        best = it;
    if (best == freed.end())
      return {nullptr, 0};
    const Block found = *best;
    freed.erase(best);
    freedBytes -= found.bytes;
    return found;
  }

  void unmapOldest(size_t most) {
    while (freedBytes > most) {
      munmap(freed.front().begin, freed.front().bytes);
      freedBytes -= freed.front().bytes;
      freed.pop_front();
    }
  }

  void give(Block block) {
    // If memory runs short, the system takes the pages instead of ending a
    // process; else the next tensor finds them without page faults.
    (void)madvise(block.begin, block.bytes, MADV_FREE);
    const std::lock_guard lock(mutex);
    freed.push_back(block);
    freedBytes += block.bytes;
    unmapOldest(limit);
  }
};

KeptMemory::KeptMemory(size_t limit) : blocks(new Blocks(limit)) {}

KeptMemory::~KeptMemory() {
  release();
  delete blocks;
}

KeptMemory &KeptMemory::instance() {
  static auto *const all = [] {
    const size_t memory =
        size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGESIZE));
    return new KeptMemory(std::min(memory / 16, size_t(1) << 30));
  }();
  return *all;
}

c10::DataPtr KeptMemory::allocate(size_t bytes) {
  const size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  Blocks::Block block = blocks->take(rounded);
  if (!block.begin)
    block = {map(rounded), rounded};
  if (!block.begin) {
    release();
    block.begin = map(rounded);
  }
  if (!block.begin)
    return c10::GetCPUAllocator()->allocate(bytes);
  const auto free = [](void *held) {
    auto *holder = static_cast<Blocks::Holder *>(held);
    c10::profiledCPUMemoryReporter().Delete(holder->block.begin);
    holder->all->give(holder->block);
    delete holder;
  };
  // torch's profiler counts tensors, not blocks.
  c10::profiledCPUMemoryReporter().New(block.begin, bytes);
  return {block.begin, new Blocks::Holder{blocks, block}, free, c10::kCPU};
}

void KeptMemory::copy_data(void *to, const void *from, size_t bytes) const {
  default_copy_data(to, from, bytes);
}

size_t KeptMemory::keptBytes() const {
  const std::lock_guard lock(blocks->mutex);
  return blocks->freedBytes;
}

void KeptMemory::release() {
  const std::lock_guard lock(blocks->mutex);
  blocks->unmapOldest(0);
}

} // namespace tessera::runtime
