// tests/unit/tools/lsp/TextTest.cpp - positions in UTF-16, URIs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/lsp/Text.h"

#include "support/Error.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tools::lsp;

// One unit each: a, é (2 bytes), € (3 bytes); two: the violin clef (4 bytes).
static const std::string line = "a\u00e9\u20ac\U0001d11eb";

TEST(LspText, ColumnsAreBytesAndCharactersUtf16) {
  const uint32_t columns[] = {1, 2, 4, 7, 11, 12};
  const uint32_t characters[] = {0, 1, 2, 3, 5, 6};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(characterOf(line, columns[i]), characters[i]);
    EXPECT_EQ(columnOf(line, characters[i]), columns[i]);
  }
  // A position inside a character maps to its begin, one past the end to the
  // end.
  EXPECT_EQ(characterOf(line, 9), 3u);
  EXPECT_EQ(columnOf(line, 4), 7u);
  EXPECT_EQ(columnOf(line, 100), 12u);
  EXPECT_EQ(characterOf(line, 100), 6u);
}

TEST(LspText, BytesThatAreNoUtf8AreOneUnitEach) {
  EXPECT_EQ(characterOf("\xff\xc3(x", 4), 3u);
  EXPECT_EQ(columnOf("\xf0\x9f", 1), 2u);
}

TEST(LspText, ARangeWithoutAnEndEndsWithItsWord) {
  const SourceFile file("k.py", "x = load_rows(p)\n");
  EXPECT_EQ(rangeJson(file, {1, 5, 0, 0}),
            Json::parse(R"({"start": {"line": 0, "character": 4},
                            "end": {"line": 0, "character": 13}})"));
  // No word begins there: to the end of the line.
  EXPECT_EQ(rangeJson(file, {1, 3, 0, 0})["end"]["character"], 16);
  // It never ends before it begins.
  EXPECT_EQ(rangeJson(file, {1, 5, 1, 2})["end"]["character"], 4);
  // Nowhere: the beginning of the file.
  EXPECT_EQ(rangeJson(file, {})["end"],
            Json::parse(R"({"line": 0, "character": 0})"));
}

TEST(LspText, PositionsAreNumbers) {
  EXPECT_EQ(readPosition({{"line", 3u}, {"character", 4u}}).character, 4u);
  for (const char *bad :
       {R"({"line": -1, "character": 0})", R"({"line": 1.5, "character": 0})",
        R"({"line": 99999999999, "character": 0})", R"({"line": 1})", "[]",
        R"({"line": "1", "character": 0})"})
    EXPECT_THROW(readPosition(Json::parse(bad)), Error) << bad;
}

TEST(LspText, UrisComeBack) {
  EXPECT_EQ(pathOfUri("file:///a%20b/k.py"), "/a b/k.py");
  EXPECT_EQ(pathOfUri("file://host/a/k.py"), "/a/k.py");
  EXPECT_EQ(pathOfUri("untitled:1"), "");
  EXPECT_EQ(pathOfUri("file:///100%"), "/100%");
  EXPECT_EQ(uriOfPath("/a b/\u00e9+.py"), "file:///a%20b/%C3%A9%2B.py");
  std::string all = "/";
  for (int c = 1; c < 256; ++c)
    all += char(c);
  EXPECT_EQ(pathOfUri(uriOfPath(all)), all);
}
