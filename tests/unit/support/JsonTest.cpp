// tests/unit/support/JsonTest.cpp - tests of support/Json.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Json.h"

#include "support/Safetensors.h"
#include "support/ShallowJson.h"

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

// The JSON library puts its own names before location and reason.
TEST(JsonGlue, SyntaxErrorsHaveALocationAndAReason) {
  EXPECT_EQ(messageOf([] { parseJson("[1,\n 2", "case.json"); }),
            "case.json is not valid JSON at line 2, column 3: unexpected end "
            "of input; expected ']'\nHINT: check it with a JSON validator");
  const std::string bytes =
      messageOf([] { parseJson(std::string_view("\0\0", 2), "case.json"); });
  EXPECT_TRUE(bytes.starts_with("case.json is not valid JSON at line 1, "))
      << bytes;
  EXPECT_EQ(bytes.find("exception"), std::string::npos) << bytes;
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

// A deep value parses; copying it would overflow the stack.
TEST(Json, DeepTextIsNotParsed) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parseShallowJson(nested(200)).is_array());
  EXPECT_TRUE(parseJson(nested(200), "x").is_array());
  for (const std::string &text :
       {nested(201), nested(1'000'000), std::string(1'000'000, '['),
        "{\"step\": " + nested(1'000'000) + "}",
        "[\"\\\"]\", " + nested(200) + "]"}) {
    EXPECT_TRUE(parseShallowJson(text).is_discarded());
    EXPECT_THROW(parseJson(text, "x"), Error);
  }
  // Brackets in a string are text.
  const Json text = parseShallowJson("[\"\\\\\\\"" + nested(300) + "\"]");
  ASSERT_TRUE(text.is_array());
  EXPECT_EQ(text[0].get<std::string>(), "\\\"" + nested(300));
  EXPECT_TRUE(parseShallowJson("[1").is_discarded());
}

TEST(Json, DeepHeadersOfTensorFiles) {
  std::string deep = "{\"a\": " + std::string(1'000'000, '[') +
                     std::string(1'000'000, ']') + "}";
  std::string file;
  for (size_t i = 0, length = deep.size(); i < 8; ++i)
    file += char(length >> (8 * i) & 0xff);
  try {
    locateTensors(file + deep, "x.safetensors");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.message, "x.safetensors: the header is not JSON");
  }
}
