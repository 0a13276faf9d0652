// tests/unit/models/CountedMemory.h - counts the memory of tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <c10/core/CPUAllocator.h>
#include <cstdint>
#include <unordered_map>

/// Bytes of the CPU's tensors, as long as it lives. Of one thread.
class CountedMemory final : public c10::Allocator {
public:
  CountedMemory() : before(c10::GetCPUAllocator()) {
    c10::SetCPUAllocator(this, 1);
  }
  ~CountedMemory() override { c10::SetCPUAllocator(before, 1); }

  c10::DataPtr allocate(size_t bytes) override {
    c10::DataPtr data = before->allocate(bytes);
    void *place = data.get();
    if (!place)
      return data;
    held[place] = {std::move(data), int64_t(bytes)};
    now += int64_t(bytes);
    most = std::max(most, now);
    return {place, place, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void *to, const void *from, size_t bytes) const override {
    before->copy_data(to, from, bytes);
  }

  static inline int64_t now = 0, most = 0;

private:
  struct Held {
    c10::DataPtr data;
    int64_t bytes = 0;
  };
  /// Never destroyed: tensors may outlive it.
  static inline auto &held = *new std::unordered_map<void *, Held>;

  static void release(void *place) {
    const auto found = held.find(place);
    now -= found->second.bytes;
    held.erase(found);
  }
  c10::Allocator *before;
};
