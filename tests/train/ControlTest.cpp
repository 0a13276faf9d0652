// tests/train/ControlTest.cpp - .HALT, heartbeat and watchdog of a run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"

#include <csignal>
#include <thread>

using namespace tessera;
using namespace std::chrono_literals;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

class Control : public TrainRun {
protected:
  /// Starts a run with its log in a file and waits until `done`.
  template <typename F>
  Process startUntil(const std::string &out,
                     const std::vector<std::string> &more, const F &done) {
    SpawnOptions options;
    options.arguments = {"/bin/sh", "-c",
                         "exec \"$@\" 2>>" + folder.file(out + ".log"), "sh"};
    for (const std::string &argument : command(out, more))
      options.arguments.push_back(argument);
    Process process = Process::spawn(options);
    for (int i = 0; i < 2400 && !done(); ++i)
      std::this_thread::sleep_for(50ms);
    return process;
  }
  std::string log(const std::string &out) {
    return tryReadFile(folder.file(out + ".log")).value_or("");
  }
};

TEST_F(Control, AFileStopsTheRunAndAStaleOneDoesNot) {
  const std::vector<std::string> settings = {"train.steps=100000",
                                             "train.log_every=1000"};
  Process run = startUntil("halted", settings, [&] {
    return log("halted").find("step 1/") != std::string::npos;
  });
  folder.write("halted/.HALT", "loss looks odd");
  const auto status = run.wait(60s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 128 + SIGTERM) << status->text() << log("halted");
  EXPECT_NE(log("halted").find("stopped and saved at step"), std::string::npos);
  Process again = startUntil("halted", settings, [&] {
    return log("halted").find("removed " + folder.file("halted") + "/.HALT") !=
           std::string::npos;
  });
  EXPECT_FALSE(again.wait(500ms).has_value()) << log("halted");
  kill(again.pid(), SIGTERM);
  EXPECT_TRUE(again.wait(60s).has_value());
  EXPECT_NE(log("halted").find("going on from"), std::string::npos);
}

TEST_F(Control, EachStepIsASignOfLife) {
  expectFine(run("alive", {"train.log_every=100"}));
  std::istringstream lines(
      readFile(folder.file("alive/heartbeat_rank0.jsonl")));
  int64_t step = 0;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json beat = nlohmann::json::parse(line);
    for (const char *key : {"ts", "iso", "pid", "rank", "msg"})
      EXPECT_TRUE(beat.contains(key)) << line;
    if (beat["phase"] == "step") {
      EXPECT_EQ(beat["step"], ++step);
    }
  }
  EXPECT_EQ(step, 12);
}

// One of two processes is stopped: the other waits for it in the middle of a
// step, reports this with its stack, and continues when the first resumes.
TEST_F(Control, AStalledStepIsReportedOnce) {
  SpawnOptions options;
  options.arguments = {"/bin/sh", "-c",
                       "exec \"$@\" 2>>" + folder.file("stall.log"), "sh"};
  std::vector<std::string> all =
      command("stall", {"train.batch_size=4", "train.steps=100000",
                        "train.watchdog=3", "train.log_every=1"});
  all.insert(all.begin() + 2, {"--nproc", "2"});
  options.arguments.insert(options.arguments.end(), all.begin(), all.end());
  Process launcher = Process::spawn(options);
  const auto wait = [&](const std::string &text) {
    for (int i = 0; i < 2400; ++i) {
      if (log("stall").find(text) != std::string::npos)
        return true;
      std::this_thread::sleep_for(50ms);
    }
    return false;
  };
  ASSERT_TRUE(wait("step 5/")) << log("stall");
  std::istringstream beats(
      readFile(folder.file("stall/heartbeat_rank1.jsonl")));
  std::string first;
  std::getline(beats, first);
  const pid_t second = nlohmann::json::parse(first)["pid"];
  kill(second, SIGSTOP);
  EXPECT_TRUE(wait("has taken")) << log("stall");
  EXPECT_TRUE(wait("[rank 0] SIGUSR1: training")) << log("stall");
  const auto count = [&] {
    const std::string text = log("stall");
    int found = 0;
    for (size_t at = text.find("has taken"); at != std::string::npos;
         at = text.find("has taken", at + 1))
      ++found;
    return found;
  };
  kill(second, SIGCONT);
  EXPECT_EQ(count(), 1);
  kill(launcher.pid(), SIGTERM);
  const auto status = launcher.wait(120s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 128 + SIGTERM) << log("stall");
}

// A run whose gates are held at one branch warns of it. A run with learned
// gates does not, and both record the metrics that a report plots.
TEST_F(Control, GatesOfARunThatCollapse) {
  expectFine(run("free"));
  expectFine(run("held", {"nsa.force_gate=win"}));
  const auto watch = [&](const std::string &out) {
    return runCommand({TESSERA_PROGRAM, "watch", folder.file(out), "--once"},
                      60s);
  };
  const CommandResult fine = watch("free"), collapsed = watch("held");
  EXPECT_EQ(fine.status.code, 0) << fine.errors;
  EXPECT_EQ(collapsed.status.code, 6) << collapsed.errors << collapsed.output;
  const auto last = [&](const std::string &out) {
    std::istringstream in(readFile(folder.file(out + "/metrics.jsonl")));
    json record;
    for (std::string line; std::getline(in, line);)
      record = json::parse(line);
    return record;
  };
  EXPECT_GT(last("free")["gate_entropy_mean"], 0.5);
  EXPECT_LT(last("held")["gate_entropy_mean"], 1e-6);
  EXPECT_EQ(last("held")["gate_collapse_frac"], 1);
  EXPECT_EQ(last("held")["gate_share_win_min"], 1);
  // 2 layers, a key head, 2 sequences of 128 tokens in 8 blocks, of which 4 are
  // kept: 1, 2 and 3 in the first blocks.
  EXPECT_EQ(last("free")["sel_rows"], 2 * 2 * 128);
  EXPECT_EQ(last("free")["sel_blocks_max"], 4);
  EXPECT_EQ(last("free")["sel_blocks_mean"], (1 + 2 + 3 + 5 * 4) / 8.0);
  EXPECT_EQ(last("free")["sel_pct_at_max"], 62.5);
  const std::string csv = folder.file("figures.csv");
  expectFine(runCommand({TESSERA_PROGRAM, "report", folder.file("free"), "-o",
                         folder.file("page.html"), "--csv", csv},
                        60s));
  for (const char *figure :
       {",gate_share_sel,", ",gate_entropy_mean,", ",sel_blocks_mean,"})
    EXPECT_NE(readFile(csv).find(figure), std::string::npos) << figure;
}

} // namespace
