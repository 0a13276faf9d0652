// tests/unit/trainer/loop/PreflightTest.cpp - which first steps are a reason
// not to go on.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/Preflight.h"

#include "trainer/settings/Config.h"

#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tessera::trainer;
using nlohmann::json;

namespace {

constexpr int64_t machine = int64_t(16) << 30;

/// 20 steps of two seconds whose loss falls by 0.1 each; `change` is handed
/// each record.
std::vector<json> records(const std::function<void(int, json &)> &change =
                              [](int, json &) {}) {
  std::vector<json> all;
  for (int step = 1; step <= 20; ++step) {
    all.push_back({{"step", step},
                   {"bpb", 8 - 0.1 * step},
                   {"step_ms", step <= 2 ? 9000.0 : 2000.0},
                   {"tokens_per_s", 4000.0},
                   {"memory_most_bytes", int64_t(2) << 30},
                   {"stages_ms", {{"data", 20.0}}}});
    change(step, all.back());
  }
  return all;
}

Config longRun() {
  Config c;
  c.steps = 86400;
  return c;
}

TEST(Preflight, GoesWithItsFigures) {
  const Preflight p = judgePreflight(longRun(), 20, records(), machine);
  EXPECT_TRUE(p.faults.empty()) << p.faults[0];
  for (const char *part :
       {"steps     20 of 20", "loss      7.700 to 6.200 bits",
        "4000 tokens/s, 2000 ms a step", "loader    1.0% of a step",
        "memory    2.0 GiB of 16.0 GiB", "86400 steps, about 2 days"})
    EXPECT_NE(p.table.find(part), std::string::npos) << part << "\n" << p.table;
}

// A sixth of the steps has 7 times the tokens of the first.
TEST(Preflight, ScalesItsTimeByTokens) {
  Config c = longRun();
  c.batchSchedule = {{72001, 28}};
  const Preflight p = judgePreflight(c, 20, records(), machine);
  EXPECT_NE(p.table.find("86400 steps, about 4 days"), std::string::npos)
      << p.table;
}

void expectFault(const std::vector<json> &all, const std::string &text) {
  const Preflight p = judgePreflight(longRun(), 20, all, machine);
  ASSERT_EQ(p.faults.size(), 1u) << text;
  EXPECT_NE(p.faults[0].find(text), std::string::npos) << p.faults[0];
}

TEST(Preflight, ReportsWhyNot) {
  auto few = records();
  few.resize(19);
  expectFault(few, "19 of 20 steps were made");
  expectFault({}, "0 of 20 steps were made");
  expectFault(records([](int step, json &r) { r["bpb"] = 6 + 0.1 * step; }),
              "the loss rises from 6.300 to 7.800 bits");
  // A warm-up hardly moves it.
  EXPECT_TRUE(judgePreflight(longRun(), 20, records([](int step, json &r) {
                               r["bpb"] = 8 + 0.01 * step;
                             }),
                             machine)
                  .faults.empty());
  expectFault(records([](int step, json &r) {
                if (step == 20)
                  r["bpb"] = nullptr;
              }),
              "the loss rises");
  expectFault(records([](int, json &r) { r["stages_ms"]["data"] = 300.0; }),
              "waits 15% of its time for data");
  expectFault(
      records([](int, json &r) { r["memory_most_bytes"] = int64_t(15) << 30; }),
      "the run takes 15.0 GiB of 16.0 GiB");
  expectFault(records([](int step, json &r) {
                if (step == 3)
                  r = {{"step", 3}, {"skipped", "not finite"}};
              }),
              "1 of the first updates were skipped");
}

TEST(Preflight, AllProcessesTakeMemory) {
  Config c = longRun();
  c.processes = 8;
  const Preflight p = judgePreflight(c, 20, records(), machine);
  ASSERT_EQ(p.faults.size(), 1u);
  EXPECT_NE(p.faults[0].find("the run takes 16.0 GiB"), std::string::npos);
}

} // namespace
