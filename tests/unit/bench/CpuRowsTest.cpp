// tests/unit/bench/CpuRowsTest.cpp - the order of the cpu's candidates and the
// tuner's choices against measured times.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/CpuOrder.h"
#include "support/File.h"
#include "support/Json.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace tessera;

namespace {

struct Candidate {
  double cost = 0, us = 0;
};

double byTiles(const Json &one) {
  std::vector<int64_t> tiles;
  for (const auto &tile : one.at("tiles").items())
    tiles.push_back(tile.value());
  return tune::cpuElementCost(tiles);
}

// Those that were timed, cheapest first.
std::vector<Candidate> ranked(const Json &row, double (*costOf)(const Json &)) {
  std::vector<Candidate> list;
  for (const Json &one : row.at("candidates"))
    if (one.contains("us"))
      list.push_back({costOf(one), one.at("us")});
  std::stable_sort(
      list.begin(), list.end(),
      [](const Candidate &a, const Candidate &b) { return a.cost < b.cost; });
  return list;
}

double fastest(const std::vector<Candidate> &list, size_t first) {
  double best = list.at(0).us;
  for (size_t i = 0; i < std::min(first, list.size()); ++i)
    best = std::min(best, list[i].us);
  return best;
}

// The geometric mean, over launches of more than three candidates, of the
// fastest of the first `first` over the fastest of all.
double loss(size_t first, bool reversed) {
  const Json results = Json::parse(
      readFile(TESSERA_SOURCE "/bench/results/tune_truth_cpu.json"));
  double logs = 0, rows = 0;
  for (const Json &row : results.at("rows")) {
    std::vector<Candidate> list = ranked(row, byTiles);
    if (list.size() < 4)
      continue; // nothing to choose
    if (reversed)
      std::reverse(list.begin(), list.end());
    logs += std::log(fastest(list, first) / fastest(list, list.size()));
    ++rows;
  }
  EXPECT_GE(rows, 30);
  return std::exp(logs / rows);
}

} // namespace

// docs/decisions/0009-no-cost-model-for-the-cpu.md: a search whose budget ends
// after a few candidates loses less than 5%.
TEST(CpuRows, AFewCandidatesInTheOrderOfTheirTilesHoldAGoodOne) {
  EXPECT_LT(loss(3, false), 1.04);
  EXPECT_LT(loss(5, false), 1.01);
  EXPECT_GT(loss(3, true), 1.10); // the order decides
}

// From nine slow choices in ten the tuner comes within 5% of the fastest, and
// nothing that it chooses is over 5% slower than the default configuration.
TEST(CpuRows, TheTunerFindsWhatExhaustiveSearchFinds) {
  const Json results = Json::parse(
      readFile(TESSERA_SOURCE "/bench/results/tune_truth_cpu.json"));
  double rows = 0, found = 0;
  for (const Json &row : results.at("rows")) {
    if (ranked(row, byTiles).size() < 2)
      continue;
    ++rows;
    const Json &times = row.at("in_turns_us");
    double least = HUGE_VAL;
    for (const auto &one : times.items())
      least = std::min(least, one.value().get<double>());
    const auto timeOf = [&](const Json &use) {
      return times.value(use.get<std::string>(), HUGE_VAL);
    };
    found += timeOf(row.at("tuned_from_slowest")) <= 1.05 * least;
    EXPECT_LE(timeOf(row.at("tuned")),
              1.05 * timeOf(row.at("candidates").at(0).at("use")))
        << row.at("key");
  }
  EXPECT_GE(rows, 40);
  EXPECT_GE(found, 0.9 * rows);
}

TEST(CpuRows, CostHasItsLeastWhereATileFits) {
  // By hand: 1 + 8 / 256; twice 256 elements cost 0.3 more.
  EXPECT_DOUBLE_EQ(tune::cpuElementCost({16, 16}), 1 + 8.0 / 256);
  EXPECT_DOUBLE_EQ(tune::cpuElementCost({8}), 1 + 8.0 / 256);
  EXPECT_DOUBLE_EQ(tune::cpuElementCost({32, 32}), 1 + 8.0 / 1024 + 0.6);
  EXPECT_GT(tune::cpuElementCost({1}), tune::cpuElementCost({8}));
  // Numbers that are no sizes count as one element.
  EXPECT_DOUBLE_EQ(tune::cpuElementCost({-1, 0}), 9);
}
