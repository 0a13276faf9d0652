// tests/unit/bench/CpuRowsTest.cpp - the cpu's orders of candidates against
// their measured times.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/CpuModel.h"
#include "autotune/model/CpuOrder.h"
#include "support/File.h"
#include "support/Json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
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

tune::CpuWork workFrom(const Json &json) {
  return {json.at("products"), json.at("arithmetic"), json.at("moves"),
          json.at("scalars"), json.at("iterations")};
}

double byModel(const Json &one) {
  const Json &work = one.at("work");
  return tune::predictedSeconds({workFrom(work.at("all")),
                                 workFrom(work.at("largest")),
                                 work.at("programs"), work.at("scratch_bytes")},
                                1);
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

} // namespace

// Launches of more than three candidates, and of how many one of the first
// three takes at most 1.1 times what the fastest takes: in this order, and in
// the reverse.
struct Rows {
  double rows = 0, good = 0, reverse = 0;
  size_t longOnes = 0;

  explicit Rows(double (*costOf)(const Json &)) {
    const Json results = Json::parse(
        readFile(TESSERA_SOURCE "/bench/results/tune_truth_cpu.json"));
    for (const Json &row : results.at("rows")) {
      const std::vector<Candidate> list = ranked(row, costOf);
      if (list.size() < 4)
        continue; // nothing to choose
      ++rows;
      longOnes += row.at("bucket") == 4096;
      const double limit = 1.1 * fastest(list, list.size());
      good += fastest(list, 3) <= limit;
      reverse += fastest({list.rbegin(), list.rend()}, 3) <= limit;
    }
  }
};

// Of nine launches in ten.
TEST(CpuRows, TheModelsFirstThreeHoldAGoodOne) {
  const Rows model(byModel);
  EXPECT_GE(model.rows, 30);
  EXPECT_GE(model.longOnes, 10u);
  EXPECT_GE(model.good, 0.9 * model.rows);
  EXPECT_LT(model.reverse, 0.6 * model.rows); // no order does as well
}

// Nine planted slow choices in ten lead within 5% of the fastest, and nothing
// that was tuned is over 5% slower than the own choice.
TEST(CpuRows, TheTunerFindsWhatExhaustiveSearchFinds) {
  const Json results = Json::parse(
      readFile(TESSERA_SOURCE "/bench/results/tune_truth_cpu.json"));
  double rows = 0, found = 0;
  for (const Json &row : results.at("rows")) {
    if (ranked(row, byModel).size() < 2)
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

// The page's table has the figures of the file.
TEST(CpuRows, DocsShowTheResults) {
  const Json results =
      Json::parse(readFile(TESSERA_SOURCE "/bench/results/cpu_model.json"));
  const std::string page = readFile(TESSERA_SOURCE "/docs/cost-model.md");
  const auto percent = [&](const char *fit) {
    char text[16];
    std::snprintf(
        text, sizeof text, "%.0f%%",
        100 * results.at(fit).at("top_3_within_10_percent").get<double>());
    return std::string(text);
  };
  EXPECT_NE(page.find("| one of the first 3 within 10% of the fastest | " +
                      percent("as_used") + " | " + percent("left_out") + " |"),
            std::string::npos)
      << "run: bench/cpu_model.py --print";
  for (const Json &row : results.at("rows")) {
    const int64_t length = row.at("bucket");
    EXPECT_NE(page.find("| " + row.at("kernel").get<std::string>() + " | " +
                        (length ? std::to_string(length) : "-") + " | " +
                        std::to_string(row.at("configurations").get<int>()) +
                        " | " + row.at("fastest").get<std::string>() + " | "),
              std::string::npos)
        << row;
  }
}

// What orders them before anything is compiled is worse, and better than none.
TEST(CpuRows, TilesAlone) {
  const Rows tiles(byTiles);
  EXPECT_LE(tiles.good, Rows(byModel).good);
  EXPECT_GT(tiles.good, tiles.reverse);
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
