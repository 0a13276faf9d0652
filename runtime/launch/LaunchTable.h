// runtime/launch/LaunchTable.h - from launch keys to loaded kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::runtime {

// An open-addressing table that only grows. A key is compared in full, so two
// launches never share code because their hashes do.
template <typename T>
class LaunchTable {
public:
  std::shared_ptr<T> find(std::string_view key) const {
    if (slots.empty())
      return nullptr;
    for (size_t i = hashOf(key) & mask();; i = (i + 1) & mask()) {
      if (!slots[i].value)
        return nullptr;
      if (slots[i].key == key)
        return slots[i].value;
    }
  }

  // The value that is there afterwards: the first one inserted under the key.
  std::shared_ptr<T> insert(std::string key, std::shared_ptr<T> value) {
    if (auto present = find(key))
      return present;
    if (2 * (count + 1) > slots.size())
      grow();
    place(std::move(key), value);
    ++count;
    return value;
  }

  size_t size() const { return count; }

private:
  struct Slot {
    std::string key;
    std::shared_ptr<T> value;
  };

  size_t mask() const { return slots.size() - 1; }

  static size_t hashOf(std::string_view key) {
    // FNV-1a with a final mix: keys are short and differ in single bytes.
    uint64_t hash = 0xcbf29ce484222325u;
    for (unsigned char byte : key)
      hash = (hash ^ byte) * 0x100000001b3u;
    return size_t(hash ^ (hash >> 29));
  }

  void place(std::string key, std::shared_ptr<T> value) {
    size_t i = hashOf(key) & mask();
    while (slots[i].value)
      i = (i + 1) & mask();
    slots[i] = {std::move(key), std::move(value)};
  }

  void grow() {
    std::vector<Slot> old = std::move(slots);
    slots = std::vector<Slot>(old.empty() ? 16 : 2 * old.size());
    for (Slot &slot : old)
      if (slot.value)
        place(std::move(slot.key), std::move(slot.value));
  }

  std::vector<Slot> slots;
  size_t count = 0;
};

} // namespace tessera::runtime
