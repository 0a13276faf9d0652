// tests/train/RanksTest.cpp - a run of two processes: equal to one of one, ends
// when one of them ends, and resumes with any number of processes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"

#include "support/Safetensors.h"

#include <array>
#include <cmath>
#include <csignal>
#include <cstring>
#include <set>
#include <thread>

using namespace tessera;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

class Ranks : public TrainRun {
protected:
  std::vector<std::string> ranks(int count, const std::string &out,
                                 const std::vector<std::string> &more) {
    std::vector<std::string> all = command(out, more);
    all.insert(all.begin() + 2, {"--nproc", std::to_string(count)});
    return all;
  }
  CommandResult runRanks(int count, const std::string &out,
                         const std::vector<std::string> &more) {
    return runCommand(ranks(count, out, more), 300s);
  }

  /// All weights of a checkpoint.
  std::vector<float> weights(const std::string &out, int step) {
    const std::string bytes = checkpoint(out, step, "model.safetensors");
    std::vector<float> all;
    for (const auto &[name, place] : locateTensors(bytes, "model")) {
      const size_t before = all.size();
      all.resize(before + (place.end - place.begin) / sizeof(float));
      std::memcpy(all.data() + before, bytes.data() + place.begin,
                  place.end - place.begin);
    }
    return all;
  }
  void expectEqual(const std::string &a, const std::string &b, int step) {
    const auto left = steps(a), right = steps(b);
    ASSERT_EQ(left.size(), right.size());
    for (size_t i = 0; i < left.size(); ++i) {
      EXPECT_NEAR(left[i].first / right[i].first, 1, 1e-6) << "step " << i + 1;
      EXPECT_NEAR(left[i].second / right[i].second, 1, 1e-6)
          << "step " << i + 1;
    }
    const std::vector<float> x = weights(a, step), y = weights(b, step);
    ASSERT_EQ(x.size(), y.size());
    float most = 0;
    for (size_t i = 0; i < x.size(); ++i)
      most = std::max(most, std::abs(x[i] - y[i]));
    EXPECT_LT(most, 1e-6f);
  }

  /// The one traced step of process 0 has an all-reduce for each bucket and one
  /// for the loss, none in the thread that computes. The scheduler decides when
  /// they run; metrics.jsonl records how many were started during the pass.
  void expectSpansInOtherThreads(const std::string &out, int buckets) {
    const nlohmann::json trace =
        nlohmann::json::parse(readFile(folder.file(out + "/trace.json")));
    std::set<int64_t> computing, exchanging;
    int all = 0;
    for (const auto &e : trace["traceEvents"]) {
      if (e["name"] == "backward" && e["cat"] == "phase")
        computing.insert(e["tid"].get<int64_t>());
      if (e["name"] == "gloo:all_reduce") {
        ++all;
        exchanging.insert(e["tid"].get<int64_t>());
      }
    }
    EXPECT_EQ(all, buckets + 1);
    ASSERT_EQ(computing.size(), 1u);
    EXPECT_FALSE(exchanging.contains(*computing.begin()));
  }

  /// The process of that rank below the launcher, once the run has made steps.
  static pid_t childOf(pid_t launcher, int rank) {
    for (const auto &e : fs::directory_iterator("/proc")) {
      const std::string name = e.path().filename().string();
      if (name.find_first_not_of("0123456789") != std::string::npos)
        continue;
      const auto stat = tryReadFile(e.path() / "stat");
      const auto environment = tryReadFile(e.path() / "environ");
      if (!stat || !environment)
        continue;
      // "pid (name) state ppid ..."
      const size_t close = stat->rfind(") ");
      if (close != std::string::npos &&
          std::atoi(stat->c_str() + close + 4) == launcher &&
          environment->find(std::string("\0RANK=", 6) + std::to_string(rank)) !=
              std::string::npos)
        return std::atoi(name.c_str());
    }
    return -1;
  }
  /// Starts two processes with their log in a file and waits for a checkpoint.
  Process startRanks(const std::string &out,
                     const std::vector<std::string> &more) {
    SpawnOptions options;
    options.arguments = {"/bin/sh", "-c",
                         "exec \"$@\" 2>" + folder.file(out + ".log"), "sh"};
    for (const std::string &argument : ranks(2, out, more))
      options.arguments.push_back(argument);
    Process process = Process::spawn(options);
    for (int i = 0; i < 2400; ++i) {
      if (fs::exists(folder.path / out / "ckpt/step_00000005/DONE"))
        break;
      std::this_thread::sleep_for(50ms);
    }
    return process;
  }
  std::string log(const std::string &out) {
    return readFile(folder.file(out + ".log"));
  }
  /// Starts two processes that train until a signal, and finds them.
  Process startEndless(const std::string &out, std::array<pid_t, 2> &pids) {
    Process launcher =
        startRanks(out, {"train.batch_size=4", "train.steps=100000",
                         "train.save_every=5", "train.log_every=1000"});
    for (int rank = 0; rank < 2; ++rank) {
      pids[size_t(rank)] = childOf(launcher.pid(), rank);
      EXPECT_GT(pids[size_t(rank)], 0) << log(out);
    }
    return launcher;
  }
};

TEST_F(Ranks, TwoAreEqualToOneWithTwiceTheAccumulation) {
  expectFine(run("one", {"train.batch_size=2", "train.accumulate=2"}));
  const CommandResult two =
      runRanks(2, "two", {"train.batch_size=4", "runtime.ddp_bucket_mb=0.01"});
  expectFine(two);
  expectEqual("one", "two", 12);
  EXPECT_NE(two.errors.find("[rank 0] step 12/12"), std::string::npos)
      << two.errors;
  EXPECT_EQ(two.errors.find("warning"), std::string::npos) << two.errors;
  // Not because both saw the same data.
  expectFine(run("half", {"train.batch_size=2"}));
  EXPECT_NE(steps("half")[5].first, steps("two")[5].first);
}

// The mean over the targets of a step, which packed rows do not share evenly,
// does not depend on how its rows are divided.
TEST_F(Ranks, AStepIsTheSameHoweverItsRowsAreDivided) {
  // Short and long lines alternate: rows have few targets or many.
  std::string text;
  uint32_t state = 1;
  for (int line = 0; line < 240; ++line) {
    state = state * 1664525 + 1013904223;
    std::string words;
    for (uint32_t i = 0; i < (line % 2 ? 3 : 20 + (state >> 24) % 40); ++i)
      words += char('a' + (state >> (i % 16 + 4)) % 26);
    text += nlohmann::json{{"text", words}}.dump() + "\n";
  }
  folder.write("lines.jsonl", text);
  struct Split {
    int processes, batch, accumulate;
  };
  const Split splits[] = {{1, 8, 1}, {1, 4, 2}, {1, 2, 4}, {1, 1, 8},
                          {2, 8, 1}, {2, 4, 2}, {2, 2, 4}};
  for (const char *packing : {"best_fit", "joined"}) {
    std::vector<std::pair<double, double>> whole;
    for (const Split &s : splits) {
      const std::string out = std::string(packing) +
                              std::to_string(s.processes) + "_" +
                              std::to_string(s.batch);
      const std::vector<std::string> settings = {
          "data.path=" + folder.file("lines.jsonl"),
          std::string("data.packing=") + packing,
          "data.order=sequential",
          "train.seq_len=64",
          "train.steps=2",
          "train.warmup=0",
          "train.final_windows=2",
          "train.batch_size=" + std::to_string(s.batch),
          "train.accumulate=" + std::to_string(s.accumulate)};
      SCOPED_TRACE(out);
      expectFine(s.processes == 1 ? run(out, settings)
                                  : runRanks(s.processes, out, settings));
      const auto found = steps(out);
      ASSERT_EQ(found.size(), 2u);
      if (whole.empty())
        whole = found;
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i].first / whole[i].first, 1, 1e-5) << i + 1;
        EXPECT_NEAR(found[i].second / whole[i].second, 1, 1e-5) << i + 1;
      }
    }
  }
}

TEST_F(Ranks, MuonMakesTheSameUpdatesInEach) {
  const std::vector<std::string> muon = {
      "train.optimizer=muon", "train.lr=0.003", "train.muon_normalize=true"};
  std::vector<std::string> one = muon, two = muon;
  one.insert(one.end(), {"train.batch_size=2", "train.accumulate=2"});
  two.insert(two.end(), {"train.batch_size=4", "train.save_every=6"});
  expectFine(run("one", one));
  expectFine(runRanks(2, "two", two));
  expectEqual("one", "two", 12);
  // At a resume the first process sends the moments of rows to the second.
  const std::string before = checkpoint("two", 12, "model.safetensors");
  fs::remove(folder.path / "two/metrics.json");
  fs::remove_all(folder.path / "two/ckpt/step_00000012");
  expectFine(runRanks(2, "two", two));
  EXPECT_EQ(checkpoint("two", 12, "model.safetensors"), before);
  two.push_back("runtime.zero_stage=1");
  expectRefused(runRanks(2, "parts", two),
                "train.optimizer=muon needs whole matrices");
}

// With tables and schedules, and the state in parts.
TEST_F(Ranks, TablesAndSchedulesAreThoseOfOneProcess) {
  std::vector<std::string> settings = {"train.batch_size=4",
                                       "train.save_every=6",
                                       "train.batch_schedule=[1:8, 8:2]",
                                       "train.length_schedule=[1:64, 5:128]",
                                       "model.value_embeddings=1",
                                       "model.bigram_embeddings=509"};
  expectFine(run("one", settings));
  expectFine(runRanks(2, "two", settings));
  expectEqual("one", "two", 12);
  settings.push_back("runtime.zero_stage=1");
  expectFine(runRanks(2, "parts", settings));
  for (const char *file : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_TRUE(checkpoint("two", 12, file) == checkpoint("parts", 12, file))
        << file;
  fs::remove(folder.path / "parts/metrics.json");
  fs::remove_all(folder.path / "parts/ckpt/step_00000012");
  expectFine(runRanks(2, "parts", settings));
  EXPECT_TRUE(checkpoint("two", 12, "model.safetensors") ==
              checkpoint("parts", 12, "model.safetensors"));
  settings.push_back("train.batch_schedule=[1:8, 8:3]");
  expectRefused(runRanks(2, "odd", settings),
                "cannot be divided among 2 processes");
}

TEST_F(Ranks, AccumulationAndTwoProcessesGoTogether) {
  expectFine(run("one", {"train.batch_size=2", "train.accumulate=4"}));
  expectFine(runRanks(2, "two", {"train.batch_size=4", "train.accumulate=2"}));
  expectEqual("one", "two", 12);
}

// Most gradients are under way while others are computed, and only those of a
// step's last micro-batch are.
TEST_F(Ranks, GradientsAreExchangedDuringTheBackwardPass) {
  expectFine(run("one", {"train.batch_size=2", "train.accumulate=4"}));
  for (const char *precision : {"fp32", "bf16"}) {
    const std::string out = std::string("two") + precision;
    expectFine(runRanks(2, out,
                        {"train.batch_size=4", "train.accumulate=2",
                         "runtime.ddp_bucket_mb=0.01", "train.trace_steps=3,3",
                         std::string("runtime.precision=") + precision}));
    std::istringstream in(readFile(folder.file(out + "/metrics.jsonl")));
    int lines = 0, buckets = 0;
    for (std::string line; std::getline(in, line); ++lines) {
      const nlohmann::json record = nlohmann::json::parse(line);
      buckets = record["buckets"];
      EXPECT_GT(buckets, 8) << line;
      // The first step learns the order.
      const int beside = record["buckets_beside"];
      if (lines == 0)
        EXPECT_EQ(beside, 0);
      else
        EXPECT_GE(2 * beside, buckets) << line;
    }
    EXPECT_EQ(lines, 12);
    expectSpansInOtherThreads(out, buckets);
  }
  expectEqual("one", "twofp32", 12);
}

/// The same bits as with the complete state in each process, though a process
/// holds half of it; any number of processes can resume from its checkpoints.
TEST_F(Ranks, EachKeepsItsPartOfTheOptimizersState) {
  for (const char *precision : {"fp32", "bf16"}) {
    const std::string p = precision;
    const std::vector<std::string> settings = {
        "train.batch_size=4", "train.save_every=6", "runtime.precision=" + p,
        "model.value_embeddings=1", "model.bigram_embeddings=509"};
    std::vector<std::string> sharded = settings;
    sharded.push_back("runtime.zero_stage=1");
    expectFine(runRanks(2, "whole" + p, settings));
    expectFine(runRanks(2, "parts" + p, sharded));
    for (const int step : {6, 12})
      for (const char *file : {"model.safetensors", "optimizer.safetensors"})
        EXPECT_TRUE(checkpoint("whole" + p, step, file) ==
                    checkpoint("parts" + p, step, file))
            << file << " of step " << step;
    // Resumes from the middle of the sharded run, with one process and with
    // two.
    for (const int count : {1, 2}) {
      const std::string out = "again" + p + std::to_string(count);
      fs::create_directories(folder.path / out / "ckpt");
      fs::copy(folder.path / ("parts" + p) / "ckpt/step_00000006",
               folder.path / out / "ckpt/step_00000006",
               fs::copy_options::recursive);
      expectFine(runRanks(count, out, sharded));
      const std::vector<float> x = weights("whole" + p, 12),
                               y = weights(out, 12);
      ASSERT_EQ(x.size(), y.size());
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_NEAR(x[i], y[i], p == "fp32" ? 1e-6 : 1e-2);
      if (count == 2) {
        EXPECT_EQ(x, y);
      }
    }
  }
}

TEST_F(Ranks, TheExchangeIsMeasuredBeforeTheFirstStep) {
  const std::vector<std::string> settings = {"train.batch_size=4",
                                             "train.steps=1"};
  const char *line = "MB of gradients meet in ";
  const CommandResult two = runRanks(2, "two", settings),
                      one = run("one", settings);
  expectFine(two);
  expectFine(one);
  const size_t said = two.errors.find(line);
  EXPECT_NE(said, std::string::npos) << two.errors;
  EXPECT_EQ(two.errors.find(line, said + 1), std::string::npos) << two.errors;
  EXPECT_EQ(one.errors.find(line), std::string::npos) << one.errors;
  EXPECT_EQ(steps("two").size(), 1u);
}

TEST_F(Ranks, GradientsMayBeRoundedOnTheirWay) {
  const std::vector<std::string> settings = {"train.batch_size=4",
                                             "train.steps=40", "train.lr=0.01"};
  expectFine(runRanks(2, "off", settings));
  const auto exact = steps("off");
  std::vector<double> norms = {exact[0].second};
  for (const char *wire : {"bf16", "fp16"}) {
    std::vector<std::string> all = settings;
    all.push_back(std::string("runtime.ddp_compress=") + wire);
    expectFine(runRanks(2, wire, all));
    const auto rounded = steps(wire);
    ASSERT_EQ(exact.size(), rounded.size());
    // A rounded gradient is off by at most half an ulp.
    const double unit = wire == std::string("bf16") ? 0x1p-8 : 0x1p-11;
    EXPECT_NEAR(rounded[0].second / exact[0].second, 1, 2 * unit);
    for (size_t i = 0; i < exact.size(); ++i)
      EXPECT_NEAR(rounded[i].first / exact[i].first, 1, 2e-2) << i + 1;
    norms.push_back(rounded[0].second);
  }
  // Rounded, indeed, and each to its own type.
  EXPECT_NE(norms[0], norms[1]);
  EXPECT_NE(norms[0], norms[2]);
  EXPECT_NE(norms[1], norms[2]);
}

// The variables of torchrun and their like.
TEST_F(Ranks, MeetAtAnAddress) {
  expectFine(run("one", {"train.batch_size=2", "train.accumulate=2"}));
  const std::vector<std::string> arguments =
      command("two", {"train.batch_size=4"});
  const std::string port = std::to_string(20000 + ::getpid() % 20000);
  const auto start = [&](const char *rank) {
    SpawnOptions options;
    options.arguments = arguments;
    options.environment = {std::string("RANK=") + rank, "WORLD_SIZE=2",
                           "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port};
    return Process::spawn(options);
  };
  Process first = start("0"), second = start("1");
  EXPECT_TRUE(first.wait().ok());
  EXPECT_TRUE(second.wait().ok());
  expectEqual("one", "two", 12);
}

TEST_F(Ranks, OneIsKilledTheOtherReportsItAndOneOrTwoResume) {
  const std::vector<std::string> settings = {
      "train.batch_size=4", "train.steps=4000", "train.save_every=5",
      "train.keep=9000", "train.final_windows=4"};
  for (const int victim : {0, 1}) {
    const std::string out = "killed" + std::to_string(victim);
    Process launcher = startRanks(out, settings);
    const pid_t pid = childOf(launcher.pid(), victim);
    ASSERT_GT(pid, 0) << log(out);
    ASSERT_EQ(kill(pid, SIGKILL), 0);
    const auto status = launcher.wait(60s);
    ASSERT_TRUE(status.has_value()) << log(out);
    EXPECT_EQ(status->code, 1) << status->text();
    const std::string said = log(out);
    const std::string other = std::to_string(1 - victim);
    EXPECT_NE(said.find("[rank " + other + "] error: process " + other +
                        " of 2 has lost the others"),
              std::string::npos)
        << said;
    EXPECT_NE(said.find("process " + std::to_string(victim) +
                        " of 2 ended with signal 9"),
              std::string::npos)
        << said;
    // From the newest checkpoint to eight steps later.
    int newest = 0;
    for (const auto &e : fs::directory_iterator(folder.path / out / "ckpt"))
      if (e.path().extension().empty())
        newest = std::max(newest, std::atoi(e.path().filename().c_str() + 5));
    fs::copy(folder.path / out, folder.path / (out + "alone"),
             fs::copy_options::recursive);
    const std::vector<std::string> rest = {
        "train.save_every=3", "train.keep=9000", "train.final_windows=4"};
    for (const int count : {1, 2}) {
      const std::string where = count == 1 ? out + "alone" : out;
      std::vector<std::string> all = ranks(count, where, settings);
      SpawnOptions options;
      options.arguments = all;
      Process again = Process::spawn(options);
      char name[64];
      std::snprintf(name, sizeof name, "ckpt/step_%08d/DONE", newest + 5);
      for (int i = 0; i < 2400 && !fs::exists(folder.path / where / name); ++i)
        std::this_thread::sleep_for(50ms);
      kill(again.pid(), SIGTERM);
      const auto ended = again.wait(60s);
      ASSERT_TRUE(ended.has_value());
      EXPECT_EQ(ended->code, 128 + SIGTERM) << ended->text();
    }
    const std::vector<float> x = weights(out, newest + 5),
                             y = weights(out + "alone", newest + 5);
    ASSERT_EQ(x.size(), y.size());
    float most = 0;
    for (size_t i = 0; i < x.size(); ++i)
      most = std::max(most, std::abs(x[i] - y[i]));
    EXPECT_LT(most, 1e-5f);
  }
}

// Processes that get different signals end with one of them. One process may
// learn of the other's signal before its own counts, so one run is not enough.
TEST_F(Ranks, DifferentSignalsGiveOneExitStatus) {
  for (const std::string out : {"first", "second", "third", "fourth"}) {
    std::array<pid_t, 2> pids{};
    Process launcher = startEndless(out, pids);
    ASSERT_FALSE(HasFailure());
    for (const pid_t pid : pids)
      kill(pid, SIGSTOP);
    kill(pids[0], SIGINT);
    kill(pids[1], SIGTERM);
    for (const pid_t pid : pids)
      kill(pid, SIGCONT);
    const auto ended = launcher.wait(60s);
    ASSERT_TRUE(ended.has_value());
    EXPECT_TRUE(ended->code == 128 + SIGTERM || ended->code == 128 + SIGINT)
        << ended->text();
  }
}

// The launcher is killed: no process of the run stays.
TEST_F(Ranks, TheyEndWithTheirLauncher) {
  std::array<pid_t, 2> pids{};
  Process launcher = startEndless("orphans", pids);
  ASSERT_FALSE(HasFailure());
  ASSERT_EQ(kill(launcher.pid(), SIGKILL), 0);
  launcher.wait();
  for (const pid_t pid : pids) {
    bool there = true;
    for (int i = 0; i < 400 && there; ++i) {
      // No process may have reaped it here: a zombie has ended, too.
      const auto stat = tryReadFile("/proc/" + std::to_string(pid) + "/stat");
      there = stat && stat->find(") Z") == std::string::npos;
      std::this_thread::sleep_for(25ms);
    }
    EXPECT_FALSE(there);
  }
}

TEST_F(Ranks, ABatchThatCannotBeSharedIsRefused) {
  expectRefused(runRanks(2, "odd", {"train.batch_size=3"}),
                "train.batch_size (3) cannot be divided among 2 processes");
}

} // namespace
