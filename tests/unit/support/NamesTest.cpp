// tests/unit/support/NamesTest.cpp - tests of support/Names.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Names.h"

#include <gtest/gtest.h>
using namespace tessera;

TEST(Names, EditDistance) {
  EXPECT_EQ(editDistance("", "abc"), 3u);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(editDistance("form", "from"), 1u);
  EXPECT_EQ(editDistance("same", "same"), 0u);
}

TEST(Names, NearestName) {
  const std::vector<std::string> known = {"compile", "cache", "version"};
  EXPECT_EQ(nearestName("complie", known), "compile");
  EXPECT_EQ(nearestName("CACHE", known), "cache");
  EXPECT_EQ(nearestName("caches", known), "cache");
  EXPECT_EQ(nearestName("zebra", known), "");
  EXPECT_EQ(nearestName("", known), "");
  EXPECT_EQ(nearestName("x", {"y"}), "");
}

TEST(Names, Hint) {
  EXPECT_EQ(nearestNameHint("vesion", {"version"}, "verbs"),
            "did you mean `version`?");
  EXPECT_EQ(nearestNameHint("zebra", {"a", "b"}, "verbs"), "known verbs: a, b");
  EXPECT_EQ(nearestNameHint("zebra", {}, "kernels"), "there are no kernels");
  const std::string hint =
      nearestNameHint("zebra", std::vector<std::string>(2000, "%r1"), "names");
  EXPECT_LT(hint.size(), 300u) << hint;
  EXPECT_NE(hint.find("%r1 and 1952 more"), std::string::npos) << hint;
}
