// tests/unit/support/LineTableTest.cpp - lines of instructions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/LineTable.h"
#include "support/Error.h"

#include "gtest/gtest.h"

using namespace tessera;

static LineTable example() {
  return {{"copy.py", "rows.py"}, {{4, 12, 0}, {9, 3, 1}, {300, 0, 0}}};
}

TEST(LineTable, ARowHoldsUntilTheNext) {
  const LineTable table = example();
  EXPECT_EQ(table.placeOf(3), "");
  EXPECT_EQ(table.placeOf(4), "copy.py:12");
  EXPECT_EQ(table.placeOf(8), "copy.py:12");
  EXPECT_EQ(table.placeOf(9), "rows.py:3");
  EXPECT_EQ(table.placeOf(299), "rows.py:3");
  EXPECT_EQ(table.placeOf(300), "");
  EXPECT_EQ(LineTable().placeOf(0), "");
}

TEST(LineTable, ComesBackFromJson) {
  const Json json = example().toJson();
  EXPECT_EQ(json.dump(), R"({"files":["copy.py","rows.py"],)"
                         R"("rows":[4,12,0,5,3,1,291,0,0]})");
  EXPECT_EQ(LineTable::fromJson(json, "x").toJson(), json);
}

TEST(LineTable, AnythingElseIsAnError) {
  for (const char *text :
       {"1", "{}", R"({"files":[],"rows":{}})", R"({"files":[1],"rows":[]})",
        R"({"files":["a"],"rows":[1,2]})", R"({"files":["a"],"rows":[1,-2,0]})",
        R"({"files":["a"],"rows":[1,4294967296,0]})",
        R"({"files":["a"],"rows":[1,2,1]})",
        R"({"files":["a"],"rows":[1,2,0,0,3,0]})",
        R"({"files":["a"],"rows":[4294967295,2,0,1,3,0]})"})
    EXPECT_THROW(LineTable::fromJson(Json::parse(text), "x"), Error) << text;
}
