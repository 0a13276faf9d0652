// tests/unit/support/TextTest.cpp - text by lines, and texts of lists.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Text.h"
#include "support/Lists.h"

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

struct Named {
  std::string name;
  int64_t size;
};

TEST(Lists, NamesInOrder) {
  const std::vector<Named> all = {{"b", 2}, {"a", -1}};
  EXPECT_EQ(namesOf(all, &Named::name), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(namesOf(all, [](const Named &one) { return one.name + "!"; }),
            (std::vector<std::string>{"b!", "a!"}));
}

TEST(Lists, JoinsTextsAndIntegers) {
  const std::vector<Named> all = {{"b", 2}, {"", -1}, {"c", 0}};
  EXPECT_EQ(joined(all, ", ", &Named::name), "b, , c");
  EXPECT_EQ(joined(all, "x", &Named::size), "2x-1x0");
  EXPECT_EQ(joined(std::vector<std::string>{"one"}, ", "), "one");
  EXPECT_EQ(joined(std::vector<std::string>(), ", "), "");
}
