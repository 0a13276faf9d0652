// tests/unit/dialect/layout/TeachingTest.cpp - the examples of
// docs/compiler/layouts.md.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/Conversion.h"
#include "dialect/layout/RegisterLayouts.h"
#include "dialect/layout/ShapeOps.h"
#include "dialect/layout/SharedLayouts.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace tessera::layout;
using Element = std::vector<int64_t>;

TEST(Teaching, Page) {
  LinearLayout acc({{Dim::Register, {{0, 1}, {8, 0}}},
                    {Dim::Lane, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}}},
                   {{Dim::Dim0, 16}, {Dim::Dim1, 8}});
  EXPECT_EQ(acc.at({{Dim::Register, 2}, {Dim::Lane, 5}}), (Element{9, 2}));

  LinearLayout row =
      identity(4, Dim::Register, Dim::Dim0) * identity(8, Dim::Lane, Dim::Dim0);
  EXPECT_EQ(row.at({{Dim::Register, 3}, {Dim::Lane, 2}}), (Element{11}));
  EXPECT_EQ(row.str(), "register: (1) (2)\nlane: (4) (8) (16)\n-> dim0:32\n");

  LinearLayout rows = blocked({64, 64}, {{1, 4}, {2, 16}, {4, 1}, {}});
  EXPECT_EQ(rows.basis(Dim::Register, 0), (Element{0, 1}));
  EXPECT_EQ(rows.basis(Dim::Lane, 0), (Element{0, 4}));
  EXPECT_EQ(rows.basis(Dim::Warp, 0), (Element{2, 0}));
  EXPECT_EQ(mmaAccumulator({16, 8}, {{1, 1}}),
            acc * identity(1, Dim::Warp, Dim::Dim0));

  LinearLayout operand = mmaOperandA({64, 16}, {{2, 2}}, 2);
  EXPECT_EQ(operand.freeBits(Dim::Warp), Word(1));
  EXPECT_EQ(operand.pseudoInverse().at({{Dim::Dim0, 25}, {Dim::Dim1, 3}}),
            (Element{3, 5, 2}));

  LinearLayout s = mmaAccumulator({64, 64}, {{4, 1}});
  LinearLayout sums = slice(s, 1);
  EXPECT_EQ(sums.freeBits(Dim::Lane), Word(3));
  EXPECT_EQ(sums.inSize(Dim::Register), 2);
  EXPECT_EQ(transpose(transpose(s, {1, 0}), {1, 0}), s);

  LinearLayout columns = blocked({64, 64}, {{4, 1}, {16, 2}, {1, 4}, {0, 1}});
  SharedTrip trip = findSharedTrip(rows, columns, {.elementBits = 32});
  EXPECT_EQ(trip.store.ways, 1);
  EXPECT_EQ(trip.load.ways, 1);
  EXPECT_EQ(trip.bytes(), 16384);

  LinearLayout staged = blocked({64, 64}, {{1, 8}, {4, 8}, {4, 1}, {}});
  LinearLayout v = mmaOperandB({64, 64}, {{4, 1}}, 2);
  SharedTrip stage =
      findSharedTrip(staged, v, {.elementBits = 16, .storedBits = 3});
  EXPECT_EQ(stage.store.bytesPerLane(), 16);
  EXPECT_EQ(stage.load.kind, AccessKind::LdmatrixTrans);
  EXPECT_EQ(stage.wavefronts(), 4 * 4 + 16 * 4);

  ConversionPlan plan = planConversion(s, mmaOperandA({64, 64}, {{4, 1}}, 2));
  EXPECT_EQ(plan.kind, ConversionKind::None);
}

namespace {

std::string read(const char *path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string withoutSpace(const std::string &text) {
  std::string result;
  for (char c : text)
    if (!std::isspace(static_cast<unsigned char>(c)))
      result += c;
  return result;
}

} // namespace

// What the page shows as code is code of this file.
TEST(Teaching, ThePageShowsThisFile) {
  const std::string page = read(LAYOUT_PAGE),
                    code = withoutSpace(read(TEACHING_TEST));
  int examples = 0;
  const std::string open = "```cpp\n";
  for (size_t at = page.find(open); at != std::string::npos;
       at = page.find(open, at + 1)) {
    const size_t begin = at + open.size(), end = page.find("```", begin);
    const std::string example = page.substr(begin, end - begin);
    EXPECT_NE(code.find(withoutSpace(example)), std::string::npos) << example;
    ++examples;
  }
  EXPECT_GE(examples, 8);
}

// And so are the examples at the top of LinearLayout.h.
TEST(Teaching, TheHeaderShowsThisFile) {
  std::istringstream header(read(LAYOUT_HEADER));
  const std::string code = withoutSpace(read(TEACHING_TEST));
  std::string line, statement;
  int examples = 0;
  while (std::getline(header, line) && line.rfind("#pragma", 0) != 0) {
    if (line.rfind("//     ", 0) != 0)
      continue;
    statement += line.substr(7) + "\n";
    if (statement.find(';') == std::string::npos)
      continue;
    EXPECT_NE(code.find(withoutSpace(statement)), std::string::npos)
        << statement;
    statement.clear();
    ++examples;
  }
  EXPECT_EQ(statement, "");
  EXPECT_EQ(examples, 3);
}
