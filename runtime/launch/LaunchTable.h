// runtime/launch/LaunchTable.h - hash table from launch keys to launch state.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/launch/LaunchKey.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace tessera::runtime {

// An open-addressing hash table that only grows, so a value's address is
// stable. find() takes no lock: each slot is written once, and a full array is
// replaced by a larger one but not freed.
template <typename T>
class LaunchTable {
public:
  LaunchTable() { publish(16); }

  // Returns the value of a key, or null.
  T *find(LaunchKey::View key) const {
    const Entry *entry =
        search(*current.load(std::memory_order_acquire), hashOf(key), key);
    return entry ? entry->value.get() : nullptr;
  }

  // Returns the value of the key after the call: the first one inserted wins.
  T &insert(LaunchKey::View key, std::unique_ptr<T> value) {
    std::lock_guard<std::mutex> guard(mutex);
    const uint64_t hash = hashOf(key);
    if (const Entry *present = search(*current, hash, key))
      return *present->value;
    if (2 * (entries.size() + 1) > current.load()->size)
      publish(2 * current.load()->size);
    entries.push_back(std::make_unique<Entry>(
        Entry{hash, {key.begin(), key.end()}, std::move(value)}));
    place(*current, *entries.back());
    return *entries.back()->value;
  }

  size_t size() const {
    std::lock_guard<std::mutex> guard(mutex);
    return entries.size();
  }

private:
  struct Entry {
    uint64_t hash;
    std::vector<uint64_t> key;
    std::unique_ptr<T> value;
  };
  struct Slots {
    explicit Slots(size_t size)
        : size(size), slot(new std::atomic<const Entry *>[size]()) {}
    size_t size; // a power of two
    std::unique_ptr<std::atomic<const Entry *>[]> slot;
  };

  static const Entry *search(const Slots &slots, uint64_t hash,
                             LaunchKey::View key) {
    for (size_t i = hash & (slots.size - 1);; i = (i + 1) & (slots.size - 1)) {
      const Entry *entry = slots.slot[i].load(std::memory_order_acquire);
      if (!entry || (entry->hash == hash && sameKey(entry->key, key)))
        return entry;
    }
  }

  static void place(Slots &slots, const Entry &entry) {
    size_t i = entry.hash & (slots.size - 1);
    while (slots.slot[i].load(std::memory_order_relaxed))
      i = (i + 1) & (slots.size - 1);
    slots.slot[i].store(&entry, std::memory_order_release);
  }

  void publish(size_t size) {
    auto larger = std::make_unique<Slots>(size);
    for (const auto &entry : entries)
      place(*larger, *entry);
    current.store(larger.get(), std::memory_order_release);
    all.push_back(std::move(larger));
  }

  mutable std::mutex mutex; // held while inserting
  std::atomic<Slots *> current{nullptr};
  std::vector<std::unique_ptr<Slots>> all; // readers may still be in old ones
  std::vector<std::unique_ptr<Entry>> entries;
};

} // namespace tessera::runtime
