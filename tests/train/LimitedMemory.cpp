// tests/train/LimitedMemory.cpp - preloaded into a program: its tensors find no
// more memory than TESSERA_TENSOR_BYTES.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// torch's CPU allocator asks posix_memalign. Blocks of 64 KiB and more count.
#include <cerrno>
#include <cstdlib>
#include <malloc.h>
#include <map>
#include <mutex>

extern "C" {
// glibc's implementations of the functions that this file replaces.
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);
}

namespace {

constexpr size_t counted = 64 << 10;

struct Blocks {
  std::mutex mutex;
  std::map<void *, size_t> sizes;
  size_t held = 0;
};

Blocks &blocks() {
  static auto *const all = new Blocks;
  return *all;
}

size_t limit() {
  static const size_t bytes = [] {
    const char *text = std::getenv("TESSERA_TENSOR_BYTES");
    return text ? size_t(std::atoll(text)) : size_t(-1);
  }();
  return bytes;
}

} // namespace

extern "C" __attribute__((visibility("default"))) int
posix_memalign(void **block, size_t alignment, size_t size) {
  if (size < counted) {
    *block = __libc_memalign(alignment, size);
    return *block ? 0 : ENOMEM;
  }
  Blocks &all = blocks();
  const std::lock_guard lock(all.mutex);
  if (size > limit() - all.held)
    return ENOMEM;
  *block = __libc_memalign(alignment, size);
  if (!*block)
    return ENOMEM;
  all.sizes[*block] = size;
  all.held += size;
  return 0;
}

extern "C" __attribute__((visibility("default"))) void free(void *block) {
  if (block && malloc_usable_size(block) >= counted) {
    Blocks &all = blocks();
    const std::lock_guard lock(all.mutex);
    const auto found = all.sizes.find(block);
    if (found != all.sizes.end()) {
      all.held -= found->second;
      all.sizes.erase(found);
    }
  }
  __libc_free(block);
}
