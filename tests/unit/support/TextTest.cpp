// tests/unit/support/TextTest.cpp - text by lines.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Text.h"

#include <gtest/gtest.h>

using namespace tessera;
using Lines = std::vector<std::string_view>;

TEST(Text, LinesEndWithOrWithoutANewline) {
  EXPECT_EQ(splitLines(""), Lines{});
  EXPECT_EQ(splitLines("\n"), Lines{""});
  EXPECT_EQ(splitLines("a\n\nb"), (Lines{"a", "", "b"}));
  EXPECT_EQ(splitLines("a\nb\n"), (Lines{"a", "b"}));
}

TEST(Text, SpacesAtBothEnds) {
  EXPECT_EQ(trimSpaces(" \t a b\r"), "a b");
  EXPECT_EQ(trimSpaces(" \r\t"), "");
  EXPECT_EQ(trimSpaces(""), "");
}

TEST(Text, LastPartOfAPath) {
  EXPECT_EQ(lastPart("/home/me/k.py"), "k.py");
  EXPECT_EQ(lastPart("k.py"), "k.py");
  EXPECT_EQ(lastPart("folder/"), "");
}
