// tests/bench/BenchTest.cpp - tessera bench from outside, on all devices.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/File.h"
#include "support/Json.h"
#include "support/Process.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <csignal>
#include <set>

using namespace tessera;

namespace {

// A small layer: every branch of NSA is used.
const std::vector<std::string> small = {
    "model.dim=64", "model.n_heads=2", "model.n_kv_groups=1",
    "model.d_k=32", "model.d_v=32",    "nsa.l=16",
    "nsa.d=8",      "nsa.l_sel=16",    "nsa.n_sel=3",
    "nsa.w=32",     "threads=1",       "panel=false"};

class Bench : public testing::Test {
protected:
  Bench() {
    std::string text;
    for (int i = 0; i < 400; ++i)
      text += "In the beginning was the word, and then another one. ";
    writeFile(folder.path() / "text", text);
  }

  std::vector<std::string> command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {TESSERA_PROGRAM, "bench"});
    arguments.insert(arguments.end(), small.begin(), small.end());
    arguments.insert(
        arguments.end(),
        {"data.path=" + (folder.path() / "text").string(), "--out", out()});
    return arguments;
  }
  std::vector<std::string>
  environment(std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"TESSERA_PTXAS=none",
                             "TESSERA_CACHE_DIR=" TESSERA_BENCH_CACHE});
    return more;
  }
  Json run(const std::vector<std::string> &arguments,
           const std::vector<std::string> &more = {}) {
    const CommandResult done = runCommand(
        command(arguments), std::chrono::seconds(1200), environment(more));
    EXPECT_TRUE(done.status.ok()) << done.status.text() << done.errors;
    last = done.output;
    return parseJson(readFile(out() + ".json"), "the result");
  }
  Json onGpu(std::vector<std::string> arguments,
             std::vector<std::string> more = {}) {
    arguments.insert(arguments.end(), {"--device", "cuda"});
    more.insert(more.end(),
                {"TESSERA_CUDA_DRIVER=" TESSERA_SIM_CUDA,
                 "LD_PRELOAD=" TESSERA_SIM_TORCH, "SIM_CUDA_US=777000"});
    return run(arguments, more);
  }
  std::string out() const { return (folder.path() / "out").string(); }

  static void expectHead(const Json &result, const std::string &device) {
    EXPECT_EQ(result["device"]["name"], device);
    EXPECT_EQ(result["complete"], true);
    for (const char *key :
         {"what", "verb", "command", "date", "commit", "geometry"})
      EXPECT_TRUE(result.contains(key)) << key;
    EXPECT_TRUE(result["versions"].contains("torch"));
    EXPECT_TRUE(result["load"].contains("before") &&
                result["load"].contains("after"));
    EXPECT_TRUE(result["device"].contains("clocks_mhz"));
    EXPECT_TRUE(result["device"].contains("power_watts"));
  }
  static std::set<std::string> names(const Json &result) {
    std::set<std::string> all;
    for (const Json &row : result["rows"])
      all.insert(row["name"]);
    return all;
  }

  TemporaryFolder folder;
  std::string last;
};

} // namespace

TEST_F(Bench, ForwardAndBackwardOnTheCpu) {
  for (const char *verb : {"fwd", "bwd"}) {
    const Json result = run({verb, "--lengths", "64,96", "--rounds", "3"});
    expectHead(result, "cpu");
    EXPECT_EQ(
        names(result),
        (std::set<std::string>{"tessera NSA", "tessera dense", "torch SDPA"}));
    ASSERT_EQ(result["rows"].size(), 6u);
    for (const Json &row : result["rows"]) {
      EXPECT_GT(row["us"], 0) << verb << row;
      EXPECT_EQ(row["rounds"], 3);
      EXPECT_GT(row["flop_per_s"], 0);
      EXPECT_LT(row["flop_of_peak"], 1);
    }
  }
}

TEST_F(Bench, DecodeComputesOneTokenAtEveryLength) {
  const Json result = run({"decode", "--lengths", "64,128", "--rounds", "2"});
  expectHead(result, "cpu");
  ASSERT_EQ(result["rows"].size(), 2u);
  EXPECT_GT(result["rows"][0]["us"], 0);
  EXPECT_EQ(result["rows"][0]["flop"], result["rows"][1]["flop"]);
  // The products of a token are those of a step's forward pass, a third of the
  // step, divided by its tokens.
  const Json step =
      run({"step", "train.seq_len=64", "train.batch_size=1", "--rounds", "1"});
  EXPECT_DOUBLE_EQ(result["rows"][0]["flop"].get<double>() * 3 * 64,
                   step["rows"][0]["flop"].get<double>());
}

TEST_F(Bench, DecodeLaunchesTheKernelsOfTheCache) {
  const Json one = run({"decode", "--lengths", "64", "--device", "sim:sm_80"}),
             all = run({"fwd", "--lengths", "64", "--device", "sim:sm_80"});
  EXPECT_LT(one["rows"][0]["tensor_instructions"],
            all["rows"][0]["tensor_instructions"]);
}

TEST_F(Bench, DecodeRefusesAGpu) {
  const CommandResult done = runCommand(
      command({"decode", "--device", "cuda"}), std::chrono::seconds(120),
      environment({"TESSERA_CUDA_DRIVER=" TESSERA_SIM_CUDA,
                   "LD_PRELOAD=" TESSERA_SIM_TORCH}));
  EXPECT_NE(done.status.code, 0);
  EXPECT_NE(done.errors.find("--device cpu"), std::string::npos) << done.errors;
}

TEST_F(Bench, StepOnTheCpu) {
  Json result =
      run({"step", "train.seq_len=64", "train.batch_size=2", "--rounds", "2"});
  expectHead(result, "cpu");
  EXPECT_EQ(result["rows"][0]["tokens_per_step"], 128);
  EXPECT_GT(result["rows"][0]["us"], 0);
}

TEST_F(Bench, StagesOnTheCpu) {
  const Json result = run({"stages", "--lengths", "64", "--rounds", "2"});
  expectHead(result, "cpu");
  std::set<std::string> kernels;
  for (const Json &row : result["rows"]) {
    kernels.insert(row["kernel"]);
    EXPECT_GT(row["us"], 0) << row;
  }
  for (const char *kernel : {"cmp_select_fwd", "window_fwd", "gate_fwd",
                             "gate_bwd_rows", "window_bwd_dq", "dense_fwd"})
    EXPECT_EQ(kernels.count(kernel), 1u) << kernel;
  // One pass, but for a machine of many processors.
  EXPECT_EQ(kernels.count("dense_bwd") + kernels.count("dense_bwd_dkdv"), 1u);
  for (const char *kernel : {"select_packed_fwd", "select_packed_bwd_dq"})
    EXPECT_EQ(kernels.count(kernel), 1u) << kernel;
  for (const char *kernel :
       {"select_lists", "select_list_fwd", "select_list_bwd_dq"})
    EXPECT_EQ(kernels.count(kernel), 0u) << kernel;
}

TEST_F(Bench, LaunchOnTheCpu) {
  const Json result = run({"launch", "--rounds", "3"});
  expectHead(result, "cpu");
  EXPECT_EQ(names(result),
            (std::set<std::string>{"prepared launch", "launch by map",
                                   "torch op of 16 arguments"}));
  for (const Json &row : result["rows"]) {
    EXPECT_GT(row["us"], 0) << row;
    EXPECT_GT(row["beside_us"], 0) << row;
  }
}

TEST_F(Bench, ColdStartsCompileOnce) {
  const Json result =
      run({"cold", "--rounds", "1", "train.seq_len=64", "model.n_layers=1"});
  expectHead(result, "cpu");
  ASSERT_EQ(result["rows"].size(), 3u);
  EXPECT_EQ(result["rows"][0]["name"], "nothing compiled");
  EXPECT_GT(result["rows"][0]["compiled"], 0);
  EXPECT_EQ(result["rows"][1]["compiled"], 0);
  EXPECT_EQ(result["rows"][1]["compiler_processes"], 0);
  EXPECT_EQ(result["rows"][2]["compiled"], 0);
  EXPECT_GT(result["rows"][2]["packed"], 0);
  for (const Json &row : result["rows"])
    EXPECT_GT(row["us"], 0);
}

TEST_F(Bench, CountersOfASimulatedGpu) {
  const Json result = run(
      {"stages", "--device", "sim:sm_80", "--gpu", "a100", "--lengths", "64"});
  expectHead(result, "sim:sm_80");
  size_t products = 0;
  // What was recorded on the cpu are the kernels of a GPU.
  std::set<std::string> kernels;
  for (const Json &row : result["rows"])
    kernels.insert(row["kernel"]);
  for (const char *kernel :
       {"select_lists", "select_list_fwd", "select_list_bwd_dq"})
    EXPECT_EQ(kernels.count(kernel), 1u) << kernel;
  for (const char *kernel : {"select_packed_fwd", "select_packed_bwd_dq"})
    EXPECT_EQ(kernels.count(kernel), 0u) << kernel;
  for (const Json &row : result["rows"]) {
    EXPECT_FALSE(row.contains("us")) << row; // nothing was timed
    EXPECT_GT(row["warp_instructions"], 0) << row;
    EXPECT_GT(row["bytes"], 0) << row;
    EXPECT_GT(row["predicted_us"], 0) << row;
    EXPECT_EQ(row["predicted_for"], "a100");
    EXPECT_FALSE(row["bound"].get<std::string>().empty());
    const double needed = row.value("flop", 0.0);
    if (needed <= 0)
      continue;
    ++products;
    // Tiles hold what is needed, and more.
    EXPECT_GE(row["flop_executed"], needed) << row;
    EXPECT_GE(row["tensor_instructions"], row["tensor_instructions_needed"]);
    EXPECT_GT(row["tensor_instructions_needed"], 0);
  }
  EXPECT_GE(products, 12u);

  const Json pass = run({"fwd", "--device", "sim:sm_90", "--lengths", "64"});
  ASSERT_EQ(pass["rows"].size(), 3u);
  EXPECT_GT(pass["rows"][0]["launches"], pass["rows"][1]["launches"]);
  EXPECT_EQ(pass["rows"][1]["launches"], 1);
  EXPECT_TRUE(pass["rows"][2].contains("missing"));
}

TEST_F(Bench, TimesOfAGpuAreThoseOfItsEvents) {
  Json result = onGpu({"fwd", "--lengths", "64", "--rounds", "2"});
  expectHead(result, "cuda");
  EXPECT_EQ(result["device"]["model"], "Simulated GPU");
  for (const Json &row : result["rows"])
    if (row["name"] != "torch SDPA") {
      EXPECT_NEAR(row["us"].get<double>(), 777000, 1) << row;
    }
  result = onGpu({"stages", "--lengths", "48", "--rounds", "2"});
  EXPECT_GT(result["rows"].size(), 15u);
  for (const Json &row : result["rows"])
    EXPECT_NEAR(row["us"].get<double>(), 777000, 1) << row;
  result = onGpu({"step", "train.seq_len=32", "train.batch_size=1", "--lengths",
                  "32", "--rounds", "1"});
  EXPECT_NEAR(result["rows"][0]["us"].get<double>(), 777000, 1);
  result = onGpu({"launch", "--rounds", "3"});
  EXPECT_EQ(result["rows"][0]["name"], "prepared launch");
}

// The other rows are measured by another process.
TEST_F(Bench, AKernelThatHangsIsReportedAsARow) {
  const Json result =
      onGpu({"stages", "--lengths", "48", "--rounds", "2", "--timeout", "10"},
            {"SIM_CUDA_FAIL=dense_fwd=-1"});
  EXPECT_EQ(result["complete"], true);
  EXPECT_GT(result["rows"].size(), 15u);
  size_t missing = 0;
  for (const Json &row : result["rows"])
    if (row.contains("missing")) {
      EXPECT_EQ(row["missing"], "no end after 10 s");
      ++missing;
    } else {
      EXPECT_NEAR(row["us"].get<double>(), 777000, 1) << row;
    }
  EXPECT_EQ(missing, 1u);
}

// The clock of this GPU reports that nothing took any time.
TEST_F(Bench, WhatNoHardwareCanDoIsRefused) {
  const CommandResult done = runCommand(
      command({"fwd", "--lengths", "64", "--rounds", "2", "--device", "cuda"}),
      std::chrono::seconds(600),
      environment({"TESSERA_CUDA_DRIVER=" TESSERA_SIM_CUDA,
                   "LD_PRELOAD=" TESSERA_SIM_TORCH, "SIM_CUDA_US=0.0001"}));
  EXPECT_EQ(done.status.code, 1);
  EXPECT_NE(done.errors.find("above what the hardware can do"),
            std::string::npos)
      << done.errors;
  const Json result = parseJson(readFile(out() + ".json"), "the result");
  EXPECT_TRUE(result["rows"][0].contains("refused")) << result["rows"];
  EXPECT_FALSE(result["rows"][0].contains("us"));
}

TEST_F(Bench, AnInterruptKeepsWhatIsKnown) {
  SpawnOptions spawn;
  // The second length takes much longer than the first.
  spawn.arguments = command({"fwd", "--lengths", "16,4096", "--rounds", "300"});
  spawn.environment = environment();
  spawn.quiet = true;
  Process child = Process::spawn(spawn);
  std::optional<ExitStatus> status;
  bool asked = false;
  while (!(status = child.wait(std::chrono::milliseconds(100)))) {
    const auto text = tryReadFile(out() + ".json");
    if (asked || !text || parseJson(*text, "the result")["rows"].size() < 3)
      continue;
    ::kill(child.pid(), SIGINT);
    asked = true;
  }
  EXPECT_EQ(status->code, 128 + SIGINT) << status->text();
  const Json result = parseJson(readFile(out() + ".json"), "the result");
  EXPECT_EQ(result["complete"], false);
  EXPECT_EQ(result["rows"][0]["rounds"], 300);
  for (size_t i = 3; i < result["rows"].size(); ++i)
    EXPECT_LT(result["rows"][i]["rounds"], 300);
}

TEST_F(Bench, MistakesAreExplained) {
  const auto expectError = [&](std::vector<std::string> arguments,
                               const std::string &message) {
    arguments.insert(arguments.begin(), {TESSERA_PROGRAM, "bench"});
    const CommandResult done =
        runCommand(arguments, std::chrono::seconds(120), environment());
    EXPECT_NE(done.status.code, 0);
    EXPECT_NE((done.errors + done.output).find(message), std::string::npos)
        << done.errors << done.output;
  };
  expectError({"fwd", "--device", "gpu"}, "no such device");
  expectError({"fwd", "--gpu", "a100"}, "--device sim:sm_80");
  expectError({"stages", "--device", "sim:sm_90", "--gpu", "a100"},
              "--device sim:sm_80");
  expectError({"launch", "--device", "sim:sm_80"}, "--device cpu");
  expectError({"fwd", "model.n_heads=x"}, "model.n_heads wants a whole number");
  expectError({"fwd", "--lengths", "0"}, "lengths");
  expectError({"fwd", "--out", "/nowhere/there/file", "--lengths", "16",
               "--rounds", "1"},
              "/nowhere/there/file");
}

TEST_F(Bench, HelpTeaches) {
  const CommandResult done = runCommand({TESSERA_PROGRAM, "bench", "--help"},
                                        std::chrono::seconds(60));
  EXPECT_TRUE(done.status.ok());
  for (const char *word : {"fwd", "bwd", "stages", "decode", "step", "launch",
                           "cold", "sim:sm_80", "Ctrl-C", "Examples:"})
    EXPECT_NE(done.output.find(word), std::string::npos) << word;
}
