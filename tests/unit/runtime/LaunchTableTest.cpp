// tests/unit/runtime/LaunchTableTest.cpp - tests of
// runtime/launch/LaunchTable.h. Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/LaunchTable.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

TEST(LaunchTable, FindsWhatWasInserted) {
  LaunchTable<int> table;
  EXPECT_FALSE(table.find("a"));
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(*table.insert(std::to_string(i), std::make_shared<int>(i)), i);
  EXPECT_EQ(table.size(), 1000u);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(*table.find(std::to_string(i)), i);
  EXPECT_FALSE(table.find("1000"));
  EXPECT_FALSE(table.find(""));
}

TEST(LaunchTable, TheFirstValueStays) {
  LaunchTable<int> table;
  table.insert(std::string("k\0a", 3), std::make_shared<int>(1));
  EXPECT_EQ(*table.insert(std::string("k\0a", 3), std::make_shared<int>(2)), 1);
  EXPECT_FALSE(table.find("k"));
  EXPECT_EQ(table.size(), 1u);
}
