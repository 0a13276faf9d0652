// tests/unit/trainer/observe/ExamineRunTest.cpp - what the files of a run are
// taken for.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/observe/ExamineRun.h"

#include "support/Error.h"
#include "tests/unit/trainer/TestFolder.h"

#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::trainer;
using nlohmann::json;

namespace {

constexpr double start = 1700000000;

/// A run of 40 steps of two seconds, as its files tell of it; `change` is
/// handed each record of metrics.jsonl.
struct Watched {
  using Change = std::function<void(int, json &)>;

  explicit Watched(
      const Change &change = [](int, json &) {}, const char *phase = "step",
      double stepSeconds = 2) {
    std::string beats, records;
    for (int step = 1; step <= 40; ++step) {
      last = start + stepSeconds * step;
      beats +=
          json{{"ts", last}, {"step", step}, {"phase", phase}}.dump() + "\n";
      json record = {{"step", step},
                     {"bpb", 3.5},
                     {"grad_norm", 0.5},
                     {"step_ms", 1e3 * stepSeconds},
                     {"tokens_per_s", 4000.0}};
      change(step, record);
      records += record.dump() + "\n";
    }
    folder.write("heartbeat_rank0.jsonl", beats);
    // The last line is being written.
    folder.write("metrics.jsonl", records + "{\"step\": 41, \"bp");
  }

  Verdict after(double seconds, double stall = 180) const {
    WatchLimits limits;
    limits.stall = stall;
    return examineRun(folder.path.string(), limits, last + seconds);
  }

  TestFolder folder;
  double last = 0;
};

TEST(Watch, ARunThatContinuesIsFine) {
  const Watched run;
  EXPECT_EQ(run.after(1).finding, RunFinding::Fine);
  EXPECT_EQ(run.after(179).finding, RunFinding::Fine);
  EXPECT_EQ(run.after(1).text, "step 40, 1 s ago");
  EXPECT_FALSE(run.after(1).finished);
}

TEST(Watch, AStallIsRelativeToTheSteps) {
  const Verdict stalled = Watched().after(181);
  EXPECT_EQ(stalled.finding, RunFinding::Stall);
  EXPECT_EQ(stalled.text, "no sign of life for 181 s (more than 180); the last "
                          "one: step 40");
  EXPECT_STREQ(findingName(stalled.finding), "heartbeat_stall");
  // Steps of 105 s: 180 s without a line are usual.
  const Watched slow([](int, json &) {}, "step", 105);
  EXPECT_EQ(slow.after(1049).finding, RunFinding::Fine);
  EXPECT_EQ(slow.after(1051).finding, RunFinding::Stall);
  // An evaluation takes longer than a step.
  const Watched between([](int, json &) {}, "between");
  EXPECT_EQ(between.after(1799).finding, RunFinding::Fine);
  EXPECT_EQ(between.after(1801).finding, RunFinding::Stall);
}

TEST(Watch, ThreeUpdatesThatAreNotFiniteAndNotOne) {
  const auto badFrom = [](int first) {
    return [first](int step, json &record) {
      if (step >= first)
        record = {{"step", step},
                  {"skipped", "the loss is not finite"},
                  {"loss", nullptr},
                  {"grad_norm", 1.0}};
    };
  };
  EXPECT_EQ(Watched(badFrom(39)).after(1).finding, RunFinding::Fine);
  const Verdict found = Watched(badFrom(38)).after(1);
  EXPECT_EQ(found.finding, RunFinding::NotFinite);
  EXPECT_EQ(found.text,
            "the loss or its gradient was not finite in 3 steps since step 38");
  // An outlier that was skipped is finite.
  EXPECT_EQ(Watched([](int step, json &record) {
              if (step > 20)
                record = {{"step", step},
                          {"skipped", "loss"},
                          {"loss", 9.0},
                          {"grad_norm", 1.0}};
            })
                .after(1)
                .finding,
            RunFinding::Fine);
  // Long ago and over.
  EXPECT_EQ(Watched([](int step, json &record) {
              record["step"] = 100 * step;
              if (step < 10)
                record["skipped"] = "x", record["loss"] = nullptr;
            })
                .after(1)
                .finding,
            RunFinding::Fine);
}

TEST(Watch, ZeroGradients) {
  const auto zeroFrom = [](int first) {
    return [first](int step, json &record) {
      if (step >= first)
        record["grad_norm"] = 0.0;
    };
  };
  EXPECT_EQ(Watched(zeroFrom(38)).after(1).finding, RunFinding::ZeroGradient);
  EXPECT_EQ(Watched(zeroFrom(39)).after(1).finding, RunFinding::Fine);
}

TEST(Watch, TokensPerSecondCollapse) {
  const auto slowFrom = [](int first, double speed) {
    return [=](int step, json &record) {
      if (step >= first)
        record["tokens_per_s"] = speed;
    };
  };
  const Verdict found = Watched(slowFrom(38, 390)).after(1);
  EXPECT_EQ(found.finding, RunFinding::FlatLine);
  EXPECT_EQ(found.text, "390 tokens/s, where 4000 were usual");
  EXPECT_EQ(Watched(slowFrom(38, 410)).after(1).finding, RunFinding::Fine);
  EXPECT_EQ(Watched(slowFrom(39, 0)).after(1).finding, RunFinding::Fine);
}

// Only some lines have the fields; other lines come in between.
TEST(Watch, GatesCollapse) {
  const auto gates = [](const char *key, double value, int first) {
    return [=](int step, json &record) {
      if (step >= first && step % 10 == 0)
        record[key] = value;
    };
  };
  EXPECT_EQ(Watched(gates("gate_entropy_mean", 0.1, 20)).after(1).finding,
            RunFinding::GateCollapse);
  EXPECT_EQ(Watched(gates("gate_entropy_mean", 0.1, 30)).after(1).finding,
            RunFinding::Fine);
  EXPECT_EQ(Watched(gates("gate_entropy_mean", 0.3, 20)).after(1).finding,
            RunFinding::Fine);
  EXPECT_EQ(Watched(gates("gate_collapse_frac", 0.6, 20)).after(1).finding,
            RunFinding::GateCollapse);
}

TEST(Watch, ARunThatHasEndedIsNoStall) {
  const Watched run;
  run.folder.write("metrics.json", "{}");
  const Verdict found = run.after(1e6);
  EXPECT_EQ(found.finding, RunFinding::Fine);
  EXPECT_TRUE(found.finished);
}

TEST(Watch, AFolderWithoutARunIsRefused) {
  const TestFolder folder;
  EXPECT_THROW(examineRun(folder.path.string(), {}, start), Error);
  // Lines that are none of a run's.
  folder.write("heartbeat_rank0.jsonl", "[1]\n{\"ts\": \"soon\"}\n{");
  folder.write("metrics.jsonl", "null\n{\"step\": {}}\n{\"loss\": 1e999}\n");
  EXPECT_NO_THROW(examineRun(folder.path.string(), {}, start));
}

} // namespace
