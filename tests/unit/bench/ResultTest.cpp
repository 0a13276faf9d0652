// tests/unit/bench/ResultTest.cpp - figures are judged before they are written.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/Result.h"
#include "support/File.h"
#include "tests/unit/support/TemporaryFolder.h"
#include "tools/bench/DevicePeak.h"
#include "tools/bench/Machine.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

class BenchResult : public testing::Test {
protected:
  bench::Result result() {
    return bench::Result({{"what", "a <test>"}}, out(), "us", "us");
  }
  std::string out() const { return (folder.path() / "out").string(); }
  Json written() const {
    return parseJson(readFile(out() + ".json"), "the result");
  }

  TemporaryFolder folder;
};

} // namespace

TEST_F(BenchResult, TimesAndRates) {
  bench::Result made = result();
  made.add({"dense", 512, {3e-6, 1e-6, 2e-6, 5e-6, 4e-6}, 6e6, 4e12});
  EXPECT_EQ(made.finish(false), 0);
  const Json row = written()["rows"][0];
  EXPECT_EQ(row["name"], "dense");
  EXPECT_EQ(row["tokens"], 512);
  EXPECT_DOUBLE_EQ(row["us"], 3);
  EXPECT_DOUBLE_EQ(row["us_least"], 1);
  EXPECT_DOUBLE_EQ(row["us_quartiles"][0], 2);
  EXPECT_DOUBLE_EQ(row["us_quartiles"][1], 4);
  EXPECT_EQ(row["rounds"], 5);
  EXPECT_DOUBLE_EQ(row["flop_per_s"], 2e12);
  EXPECT_DOUBLE_EQ(row["flop_of_peak"], 0.5);
  EXPECT_EQ(written()["complete"], true);
}

TEST_F(BenchResult, AFigureAboveThePeakIsRefused) {
  bench::Result made = result();
  made.add({"good", 0, {1e-6}, 1.99e6, 2e12});
  made.add({"too good", 0, {1e-6}, 2.01e6, 2e12});
  EXPECT_EQ(made.finish(false), 1);
  const Json rows = written()["rows"];
  EXPECT_TRUE(rows[0].contains("us"));
  EXPECT_FALSE(rows[1].contains("us"));
  EXPECT_FALSE(rows[1].contains("flop_per_s"));
  ASSERT_TRUE(rows[1].contains("refused")) << rows;
  EXPECT_NE(rows[1]["refused"].get<std::string>().find("peak"),
            std::string::npos);
}

TEST_F(BenchResult, WhatIsKnownIsWrittenAtOnce) {
  bench::Result made = result();
  made.add({"first", 0, {1e-6}});
  EXPECT_EQ(written()["rows"].size(), 1u);
  EXPECT_EQ(written()["complete"], false);
  made.finish(true);
  EXPECT_EQ(written()["complete"], false);
}

TEST_F(BenchResult, MissingRowsSayWhy) {
  bench::Result made = result();
  bench::Row row{"theirs"};
  row.missing = "does not run here";
  made.add(row);
  EXPECT_EQ(made.finish(false), 0);
  EXPECT_EQ(written()["rows"][0]["missing"], "does not run here");
}

TEST(BenchMachine, Devices) {
  using Kind = bench::BenchDevice::Kind;
  EXPECT_EQ(bench::parseDevice("cpu").kind, Kind::Cpu);
  EXPECT_EQ(bench::parseDevice("cuda").kind, Kind::Cuda);
  EXPECT_EQ(bench::parseDevice("cuda:3").ordinal, 3);
  EXPECT_EQ(bench::parseDevice("sim:sm_80").kind, Kind::Sim);
  for (const char *wrong : {"", "gpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1",
                            "cuda:99", "cuda:check", "sim:sm_10", "cpu:"})
    EXPECT_THROW(bench::parseDevice(wrong), Error) << wrong;
}

TEST(BenchMachine, FactsOfTheCpu) {
  const Json facts = bench::machineFacts(bench::parseDevice("cpu"), 2);
  EXPECT_EQ(facts["device"]["name"], "cpu");
  EXPECT_EQ(facts["device"]["threads"], 2);
  EXPECT_FALSE(facts["device"]["model"].get<std::string>().empty());
  for (const char *key : {"commit", "date", "load", "versions"})
    EXPECT_TRUE(facts.contains(key)) << key;
}

TEST(BenchPeak, IsPossible) {
  const bench::Peak peak = bench::cpuPeak(1);
  EXPECT_GT(peak.single, 0);
  // Two AVX-512 units at 6 GHz.
  EXPECT_LT(peak.single, 384e9);
  EXPECT_GE(peak.half, peak.single);
}
