// tests/unit/runtime/LaunchTableTest.cpp - tests of
// runtime/launch/LaunchTable.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/LaunchTable.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace tessera::runtime;

namespace {

using Wide = unsigned __int128;

std::vector<uint64_t> key(std::initializer_list<uint64_t> words) {
  return words;
}

} // namespace

TEST(LaunchTable, FindsWhatWasInserted) {
  LaunchTable<int> table;
  EXPECT_FALSE(table.find(key({1})));
  std::vector<int *> places;
  for (int i = 0; i < 1000; ++i) {
    places.push_back(
        &table.insert(key({uint64_t(i), 7}), std::make_unique<int>(i)));
    EXPECT_EQ(*places.back(), i);
  }
  EXPECT_EQ(table.size(), 1000u);
  // Values stay where they were while the table grew.
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(table.find(key({uint64_t(i), 7})), places[size_t(i)]);
  EXPECT_FALSE(table.find(key({1000, 7})));
  EXPECT_FALSE(table.find(key({})));
}

TEST(LaunchTable, TheFirstValueStays) {
  LaunchTable<int> table;
  table.insert(key({5, 0}), std::make_unique<int>(1));
  EXPECT_EQ(table.insert(key({5, 0}), std::make_unique<int>(2)), 1);
  EXPECT_FALSE(table.find(key({5})));
  EXPECT_EQ(table.size(), 1u);
}

// Keys that share a hash are told apart by their words. The first word of each
// differs, and the third is what the hash has by then: exclusive or leaves 0.
TEST(LaunchTable, EqualHashesAreNotEqualKeys) {
  const auto colliding = [](uint64_t first) {
    constexpr uint64_t k0 = 0xa0761d6478bd642f, k1 = 0xe7037ed1a0b428db;
    const auto product = static_cast<Wide>(k0 ^ 4 ^ first) * k1;
    return key({first, 1, uint64_t(product) ^ uint64_t(product >> 64), 1});
  };
  LaunchTable<int> table;
  for (int i = 0; i < 100; ++i) {
    const auto made = colliding(uint64_t(i));
    ASSERT_EQ(hashOf(made), hashOf(colliding(0)));
    EXPECT_EQ(table.insert(made, std::make_unique<int>(i)), i);
  }
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(*table.find(colliding(uint64_t(i))), i);
  EXPECT_FALSE(table.find(colliding(100)));
}

// Readers never see a torn value while another thread inserts and the table
// grows.
TEST(LaunchTable, ThreadsReadWhileOneInserts) {
  LaunchTable<uint64_t> table;
  std::atomic<uint64_t> inserted{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t)
    readers.emplace_back([&] {
      uint64_t seen = 0;
      while (seen < 2000) {
        seen = inserted.load();
        for (uint64_t i = 0; i < seen; i += 1 + seen / 50) {
          const uint64_t *found = table.find(key({i, i * i, 3}));
          ASSERT_TRUE(found);
          ASSERT_EQ(*found, i);
        }
        std::this_thread::yield();
      }
    });
  for (uint64_t i = 0; i < 2000; ++i) {
    table.insert(key({i, i * i, 3}), std::make_unique<uint64_t>(i));
    inserted = i + 1;
  }
  for (std::thread &reader : readers)
    reader.join();
}
