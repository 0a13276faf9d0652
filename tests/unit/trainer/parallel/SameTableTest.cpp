// tests/unit/trainer/parallel/SameTableTest.cpp - processes with different
// tuning tables are refused.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/parallel/SameTable.h"

#include "support/Error.h"
#include "tests/unit/trainer/TwoRanks.h"

#include <gtest/gtest.h>

using namespace tessera::trainer;
using tessera::models::TuningTable;

namespace {

std::vector<std::string> onTables(const TuningTable &first,
                                  const TuningTable &second) {
  return onTwoRanks([&](DataParallel &parallel) {
    try {
      requireSameTable(parallel.first() ? first : second, parallel);
    } catch (const tessera::Error &error) {
      throw std::runtime_error(error.message + " / " + error.hint);
    }
  });
}

TEST(SameTable, TablesOfOtherContentEndBothProcesses) {
  const auto errors =
      onTables({"/a/t.yaml", "TESSERA_TUNED", std::string(64, 'a')},
               {"/b/long/t.yaml", "this build", std::string(64, 'b')});
  EXPECT_EQ(errors[0], errors[1]);
  EXPECT_EQ(errors[0].substr(0, errors[0].find(" / ")),
            "the processes of the run have different tuning tables: process 0: "
            "/a/t.yaml (TESSERA_TUNED, SHA-256 aaaaaaaaaaaaaaaa); process 1: "
            "/b/long/t.yaml (this build, SHA-256 bbbbbbbbbbbbbbbb)");
  EXPECT_NE(errors[0].find(" / set TESSERA_TUNED to "), std::string::npos);
}

TEST(SameTable, ATableAndNoTableDiffer) {
  const auto errors =
      onTables({}, {"/t.yaml", "TESSERA_PACK", std::string(64, 'c')});
  for (const std::string &error : errors)
    EXPECT_NE(error.find("process 0: no table; process 1: /t.yaml"),
              std::string::npos)
        << error;
}

TEST(SameTable, EqualContentMayComeFromOtherPaths) {
  EXPECT_EQ(onTables({"/a.yaml", "TESSERA_TUNED", std::string(64, 'a')},
                     {"/b.yaml", "this build", std::string(64, 'a')}),
            (std::vector<std::string>{"", ""}));
  EXPECT_EQ(onTables({}, {}), (std::vector<std::string>{"", ""}));
  DataParallel alone(World{});
  requireSameTable({}, alone);
}

// Texts of different lengths, also an empty one, arrive in the order of ranks.
TEST(DataParallelTexts, AllProcessesGetAllTexts) {
  const std::vector<std::string> texts = {"first", ""};
  const auto errors = onTwoRanks([&](DataParallel &parallel) {
    if (parallel.fromAll(texts[size_t(parallel.rank())]) != texts)
      throw std::runtime_error("other texts");
  });
  EXPECT_EQ(errors, (std::vector<std::string>{"", ""}));
  EXPECT_EQ(DataParallel(World{}).fromAll("x"), std::vector<std::string>{"x"});
}

} // namespace
