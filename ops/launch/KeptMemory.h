// ops/launch/KeptMemory.h - an allocator that keeps large blocks for the next
// tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Allocator.h>

namespace tessera::runtime {

/// From this size on, in bytes, malloc() of glibc maps every block anew and
/// free() unmaps it, so that each result pays its page faults again.
constexpr size_t kKeptLeast = size_t(32) << 20;

/// CPU memory in huge pages for tensors of kKeptLeast bytes or more. A freed
/// block serves a later tensor of at least 4/5 of its size. The bytes of freed
/// blocks are limited to `limit`: beyond it, the oldest are unmapped. The
/// system may take the pages of freed blocks. Safe to use from several threads.
/// Without memory, allocate() throws what torch's allocator throws.
class KeptMemory final : public c10::Allocator {
public:
  explicit KeptMemory(size_t limit);
  ~KeptMemory() override;
  KeptMemory(const KeptMemory &) = delete;
  KeptMemory &operator=(const KeptMemory &) = delete;

  /// The allocator of all ops: keeps a sixteenth of the machine's memory, 1 GiB
  /// at most. It lives until the process ends.
  static KeptMemory &instance();

  c10::DataPtr allocate(size_t bytes) override;
  void copy_data(void *to, const void *from, size_t bytes) const override;

  /// Bytes of the blocks that no tensor uses.
  size_t keptBytes() const;
  /// Unmaps these blocks.
  void release();

private:
  struct Blocks;
  Blocks *blocks;
};

} // namespace tessera::runtime
