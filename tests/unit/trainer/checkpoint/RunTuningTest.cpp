// tests/unit/trainer/checkpoint/RunTuningTest.cpp - what a run records of its
// tuning, and what a resume reports of a changed table.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/TuningChange.h"

#include <gtest/gtest.h>

using namespace tessera::trainer;
using nlohmann::json;

namespace {

const RunTuning measured = {
    {"/a/t.yaml", "TESSERA_TUNED", "0123456789abcdef0123"},
    {{"k.py:k fp32, sequence 128", "B=8", "tuned"},
     {"k.py:k fp32, sequence 256", "B=16 num_warps=4", "rounded"},
     {"m.py:m fp32", "C=4", "default"},
     {"m.py:m fp32", "C=4 num_warps=8", "default"}}};

std::vector<std::string> said(const json &state, const RunTuning &now) {
  FoundCheckpoint checkpoint;
  checkpoint.folder = "runs/a/ckpt/step_00000005";
  checkpoint.state = state;
  std::vector<std::string> lines;
  sayTuningChange(checkpoint, now,
                  [&](const std::string &line) { lines.push_back(line); });
  return lines;
}

} // namespace

TEST(RunTuning, CountsLaunchesByTheSourceOfTheirConfiguration) {
  EXPECT_EQ(toJson(measured)["coverage"],
            json::parse(R"({"tuned": 1, "nearest_length": 1, "default": 2})"));
  EXPECT_EQ(coverageLine(measured),
            "tuning: of 4 launches 1 have a tuned configuration, 1 that of the "
            "nearest length, 2 the default; /a/t.yaml (TESSERA_TUNED, SHA-256 "
            "0123456789abcdef)");
  EXPECT_EQ(coverageLine({{}, {{"k.py:k fp32", "B=8", "default"}}}),
            "tuning: of 1 launches 0 have a tuned configuration, 0 that of the "
            "nearest length, 1 the default; no table");
  EXPECT_EQ(coverageLine({}), "");
}

TEST(RunTuning, TheSameTableAndConfigurationsAreNotReported) {
  EXPECT_EQ(said({{"tuning", toJson(measured)}}, measured),
            std::vector<std::string>());
  RunTuning moved = measured;
  moved.table.path = "/b/t.yaml";
  EXPECT_EQ(said({{"tuning", toJson(measured)}}, moved),
            std::vector<std::string>());
}

TEST(RunTuning, AnotherTableNamesTheLaunchesThatItChanges) {
  RunTuning now = measured;
  now.table = {"/b/u.yaml", "this build", "fedcba9876543210fedc"};
  EXPECT_EQ(said({{"tuning", toJson(measured)}}, now),
            std::vector<std::string>{
                "the checkpoint was made with /a/t.yaml (TESSERA_TUNED, "
                "SHA-256 0123456789abcdef), this run has /b/u.yaml (this "
                "build, SHA-256 fedcba9876543210): no launch changes its "
                "configuration"});
  now.launches[1].configuration = "B=32 num_warps=4";
  now.launches.push_back({"new.py:new fp32", "B=1", "default"});
  auto lines = said({{"tuning", toJson(measured)}}, now);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find(": 1 launch changes its configuration:"),
            std::string::npos);
  EXPECT_EQ(lines[1], "  k.py:k fp32, sequence 256: B=16 num_warps=4 -> B=32 "
                      "num_warps=4");
  now.launches[2].configuration = "C=8";
  lines = said({{"tuning", toJson(measured)}}, now);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[2],
            "  m.py:m fp32: C=4 | C=4 num_warps=8 -> C=4 num_warps=8 | C=8");
}

// Entries of changed kernels are stale, so a table can lose its effect.
TEST(RunTuning, ChangedConfigurationsOfTheSameTableAreReported) {
  RunTuning now = measured;
  now.launches[0].configuration = "B=64";
  EXPECT_EQ(said({{"tuning", toJson(measured)}}, now),
            (std::vector<std::string>{
                "with the tuning table of the checkpoint, 1 launch changes its "
                "configuration:",
                "  k.py:k fp32, sequence 128: B=8 -> B=64"}));
}

TEST(RunTuning, ACheckpointWithoutItGetsALine) {
  EXPECT_EQ(said(json::object(), {}), std::vector<std::string>());
  EXPECT_EQ(said(json::object(), measured),
            std::vector<std::string>{
                "runs/a/ckpt/step_00000005 does not record its tuning table: "
                "changed configurations are not reported"});
}
