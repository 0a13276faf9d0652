// tests/unit/support/JsonTest.cpp - tests of support/Json.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Json.h"

#include <gtest/gtest.h>
using namespace tessera;

template <typename F>
static std::string messageOf(F &&function) {
  try {
    function();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(JsonGlue, UnknownKeyNamesTheNearest) {
  Json value = {{"kernle", 1}};
  EXPECT_EQ(messageOf([&] { checkKeys(value, {"file", "kernel"}, "request"); }),
            "request has no key `kernle`\nHINT: did you mean `kernel`?");
  EXPECT_EQ(messageOf([&] { checkKeys({{"file", 1}}, {"file"}, "request"); }),
            "no error");
  EXPECT_NE(messageOf([&] { checkKeys(Json(3), {"file"}, "request"); }),
            "no error");
}

TEST(JsonGlue, Members) {
  Json value = {{"a", 3}, {"b", "text"}};
  EXPECT_EQ(member<int>(value, "a", "doc"), 3);
  EXPECT_EQ(memberOr<int>(value, "c", 7, "doc"), 7);
  EXPECT_NE(messageOf([&] { member<int>(value, "b", "doc"); }), "no error");
  EXPECT_NE(messageOf([&] { member<int>(value, "c", "doc"); }), "no error");
  EXPECT_NE(messageOf([&] { member<int>(Json(1), "c", "doc"); }), "no error");
  EXPECT_NE(messageOf([&] { memberOr<int>(Json(1), "c", 1, "doc"); }),
            "no error");
}

TEST(JsonGlue, CanonicalTextDoesNotDependOnOrder) {
  EXPECT_EQ(canonicalJson(parseJson(R"({"b": [1, 2], "a": 0.1})", "doc")),
            R"({"a":0.1,"b":[1,2]})");
  EXPECT_NE(messageOf([] { canonicalJson(Json("\xff")); }), "no error");
  EXPECT_NE(messageOf([] { parseJson("{", "doc"); }), "no error");
}

TEST(Json, NestedTooDeepIsAnError) {
  auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_NO_THROW(parseJson(nested(150), "document"));
  for (size_t depth : {300, 100000})
    try {
      parseJson(nested(depth), "document");
      FAIL();
    } catch (const Error &error) {
      EXPECT_EQ(error.message, "document is nested deeper than 200");
    }
}
