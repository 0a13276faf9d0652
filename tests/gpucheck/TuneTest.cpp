// tests/gpucheck/TuneTest.cpp - configurations of packed cases are checked,
// timed and chosen; the run is cut short, interrupted, taken up again.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/gpucheck/Fixture.h"

#include "autotune/table/TuneTable.h"
#include "replay/packed/PackedTuning.h"

#include <csignal>
#include <sched.h>

using namespace tessera;

namespace {

class GpuTune : public GpuCheck {
protected:
  // PTX of add() by another name, which SIM_CUDA_US gives a time.
  static std::string named(const std::string &name,
                           const std::string &first = "") {
    std::string code = ptx(first);
    const std::string old = ".entry add(";
    return code.replace(code.find(old), old.size(), ".entry " + name + "(");
  }

  struct Choice {
    int64_t block;
    std::string name, first;
  };
  // A case whose configurations are these.
  fs::path makeTuning(const std::string &name, const std::vector<Choice> &list,
                      const std::string &target = "sm_90") {
    const fs::path at = makeCase(name);
    cases::PackedTuning tuning;
    tuning.key = {"kernels/own/add.py:add",
                  std::string(32, 'a'),
                  {"fp32", "fp32"},
                  {{"KIND", int64_t(name.size())}, {"TYPE", DType::BF16}},
                  128};
    tuning.tokens = 100;
    for (const Choice &choice : list) {
      runtime::CompiledKernel code = compiled(named(choice.name, choice.first));
      code.meta.symbol = choice.name;
      tuning.candidates.push_back(
          {{{{"BLOCK", choice.block}}, std::nullopt, std::nullopt},
           {2, 1, 1},
           cases::packCode(at, code, true)});
    }
    tuning.leftOut = {
        {{{{"BLOCK", int64_t(7)}}, {}, {}}, "does not compile: why"}};
    cases::packTuning(at, target, tuning);
    return at;
  }

  Json result() const { return parseJson(readFile(path("result.json")), "r"); }
  Json rowOf(const std::string &name) const {
    const Json all = result();
    for (const Json &row : all["tuning"])
      if (row["case"] == name)
        return row;
    return nullptr;
  }
  CommandResult tune(std::vector<std::string> arguments = {},
                     std::vector<std::string> environment = {}) {
    arguments.insert(arguments.end(),
                     {"--json", path("result.json"), "--repeat", "1", "--table",
                      path("table.yaml")});
    return check(std::move(arguments), std::move(environment));
  }
  static int64_t block(const tune::TuneChoice &choice) {
    return std::get<int64_t>(choice.constexprs.at("BLOCK"));
  }
};

// Half of the results are missing.
const char *const half = "setp.gt.s32 %p1, %r4, 50;\n@%p1 bra DONE;\n";

TEST_F(GpuTune, TheFastestRightOneIsChosenAndWritten) {
  makeTuning("one", {{64, "own", ""},
                     {32, "fast", ""},
                     {16, "slow", ""},
                     {8, "wrong", half}});
  makeTuning("other", {{64, "own", ""}, {16, "slow", ""}});
  // The memory holds the results before the launch.
  cases::LoadedCase before = cases::loadPacked(path("packed/one"));
  before.before["y"] = tensor(17.5f);
  cases::packTensors(before, path("packed/one"));
  const CommandResult done =
      tune({}, {"SIM_CUDA_US=250,fast=100,slow=400,wrong=1"});
  expectFine(done);
  expectHas(done.output, "2 of 2 cases are ok");
  expectHas(done.output, "tune one: BLOCK=32, 100.0 us: the fastest of 3 timed "
                         "candidates, 150.0% faster than the kernel's default");
  const Json row = rowOf("one");
  EXPECT_EQ(row["candidates"][3]["excluded"].get<std::string>().find(
                "wrong results: `y`"),
            0u)
      << row.dump(1);
  EXPECT_FALSE(row["candidates"][3].contains("us"));
  EXPECT_NEAR(row["candidates"][2]["us"].get<double>(), 400, 1e-3);
  EXPECT_EQ(row["candidates"][2]["spread"], 0);
  EXPECT_EQ(row["left_out"][0]["why"], "does not compile: why");
  const tune::TuneTable table = tune::readTable(path("table.yaml"));
  EXPECT_EQ(describe(table.device), "Simulated GPU, sm_90, 132 SMs");
  ASSERT_EQ(table.entries().size(), 2u);
  const tune::TuneEntry &entry = table.entries()[0];
  EXPECT_EQ(describe(entry.key), "kernels/own/add.py:add fp32,fp32 KIND=3 "
                                 "TYPE=tl.bfloat16, sequence 128");
  EXPECT_EQ(block(entry.use), 32);
  EXPECT_NEAR(entry.timeUs, 100, 1e-3);
  EXPECT_NEAR(entry.defaultUs, 250, 1e-3);
  EXPECT_EQ(block(*entry.runnerUp), 64);
  EXPECT_FALSE(entry.predicted);
  expectHas(entry.why, "; of a recording with 100 tokens");
  EXPECT_EQ(block(table.entries()[1].use), 64);
  expectHas(table.entries()[1].why,
            "the kernel's default configuration is the fastest");
}

// One without end, one that crashes the driver's process, one that writes where
// nothing is: each is left out with what it did, and the rest is timed.
TEST_F(GpuTune, WhatTakesTheGpuWithItIsLeftOutAlone) {
  makeTuning("one", {{64, "own", ""},
                     {1, "endless", "AGAIN:\nbra AGAIN;\n"},
                     {2, "lost", "mov.u64 %d2, 64;\n"},
                     {32, "fast", ""}});
  const CommandResult done =
      tune({"--timeout", "8"}, {"SIM_CUDA_US=250,fast=100"});
  expectFine(done);
  const Json row = rowOf("one");
  EXPECT_EQ(row["candidates"][1]["excluded"],
            "no end after 8 s of checking BLOCK=1");
  expectHas(row["candidates"][2]["excluded"].get<std::string>(),
            "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(row["entry"]["use"], "BLOCK=32");
  EXPECT_EQ(row["timed"], 2);
  const Json times = result()["cases"][0];
  EXPECT_EQ(times["us"], 250.0) << times.dump(1); // by a process of its own
}

TEST_F(GpuTune, AnUnusableOwnChoiceIsNoTable) {
  makeTuning("faulty", {{64, "own", "mov.u64 %d2, 64;\n"}, {32, "fast", ""}});
  makeTuning("wrong", {{64, "own", half}, {32, "fast", ""}});
  makeTuning("older", {{64, "own", ""}}, "sm_80");
  const CommandResult done = tune();
  expectFine(done); // the packed launches themselves are right
  expectHas(rowOf("wrong")["error"].get<std::string>(),
            "the kernel's default configuration: wrong results");
  expectHas(rowOf("faulty")["error"].get<std::string>(),
            "the kernel's default configuration: CUDA: ");
  expectHas(rowOf("older")["error"].get<std::string>(),
            "has no configurations for sm_90");
  EXPECT_FALSE(fs::exists(path("table.yaml")));
}

// A time that the hardware cannot reach is not a measurement.
TEST_F(GpuTune, ATimeAboveThePeakIsRefused) {
  makeTuning("one", {{64, "own", ""}, {32, "fast", ""}});
  expectFine(tune({}, {"SIM_CUDA_US=250,fast=0.0001"}));
  const Json row = rowOf("one");
  expectHas(row["candidates"][1]["excluded"].get<std::string>(),
            "faster than the hardware's peak");
  EXPECT_EQ(row["entry"]["use"], "BLOCK=64");
}

TEST_F(GpuTune, WhatDoesNotFitIntoTheBudgetIsListed) {
  makeCase("a", ptx("AGAIN:\nbra AGAIN;\n")); // longer than the budget
  makeTuning("b", {{64, "own", ""}, {32, "fast", ""}});
  const CommandResult done = tune({"--budget", "1", "--timeout", "2"});
  EXPECT_EQ(done.status.code, 1);
  expectHas(done.output, "not done, no time was left: 3\n"
                         "  check b\n  tune b\n  time b\n");
  EXPECT_EQ(result()["not_done"],
            (std::vector<std::string>{"check b", "tune b", "time b"}));
  EXPECT_EQ(result()["complete"], false);
  // What is known stays as it is, with whatever is packed now.
  makeCase("a");
  const CommandResult again = tune({"--resume"}, {"SIM_CUDA_US=250,fast=100"});
  EXPECT_EQ(again.status.code, 1);
  expectHas(again.output, "2 of 5 are known from");
  EXPECT_EQ(result()["complete"], true);
  EXPECT_EQ(result()["cases"][0]["status"], "error");
  EXPECT_EQ(rowOf("b")["entry"]["use"], "BLOCK=32");
  EXPECT_EQ(result()["not_done"], Json::array());
}

TEST_F(GpuTune, ResumesItsOwnFileAlone) {
  makeCase("a");
  expectRefused(check({"--resume"}), "no file to go on with");
  expectFine(tune());
  expectFine(tune({"--resume"}));
  Json other = result();
  other["pack"] = "another";
  writeFile(path("result.json"), other.dump());
  expectRefused(tune({"--resume"}), "is the result of another pack");
  other["version"] = 1;
  writeFile(path("result.json"), other.dump());
  expectRefused(tune({"--resume"}), "is of another version");
  writeFile(path("result.json"), "{");
  expectRefused(tune({"--resume"}), "result.json");
  expectFine(tune());
  for (const char *key : {"items", "gpu_facts"}) {
    Json damaged = result();
    damaged.erase(key);
    writeFile(path("result.json"), damaged.dump());
    expectRefused(tune({"--resume"}), "is damaged");
    expectFine(tune());
  }
  expectFine(tune());
  makeCase("b");
  expectRefused(tune({"--resume"}, {"SIM_CUDA_GPU=a100"}),
                "another driver or GPU is here");
}

// Ctrl-C: what is known is written, the table too, and the process that holds
// the GPU is gone.
TEST_F(GpuTune, AnInterruptionKeepsWhatIsKnown) {
  makeTuning("a", {{64, "own", ""}, {32, "fast", ""}});
  makeTuning("bb", {{64, "own", "AGAIN:\nbra AGAIN;\n"}});
  SpawnOptions spawn;
  spawn.arguments = {TESSERA_GPU_CHECK,   path("packed"), "--json",
                     path("result.json"), "--table",      path("table.yaml")};
  spawn.environment = {"TESSERA_CUDA_DRIVER=" TESSERA_SIM_CUDA,
                       "SIM_CUDA_US=250,fast=100"};
  spawn.quiet = true;
  Process running = Process::spawn(spawn);
  while ((!fs::exists(path("result.json")) || result()["tuning"].empty()) &&
         !running.wait(std::chrono::milliseconds(20)))
    ::sched_yield();
  ASSERT_EQ(::kill(running.pid(), SIGINT), 0);
  EXPECT_EQ(running.wait().code, 130);
  EXPECT_EQ(result()["complete"], false);
  EXPECT_EQ(result()["cases"].size(), 2u);
  EXPECT_EQ(result()["not_done"],
            (std::vector<std::string>{"tune bb", "time a", "time bb"}));
  ASSERT_TRUE(fs::exists(path("table.yaml")));
  EXPECT_EQ(tune::readTable(path("table.yaml")).entries().size(), 1u);
  // The next run continues there.
  makeTuning("bb", {{64, "own", ""}});
  expectFine(tune({"--resume"}));
  EXPECT_EQ(result()["complete"], true);
  EXPECT_EQ(tune::readTable(path("table.yaml")).entries().size(), 2u);
}

// Without torch, and with a torch that sees no GPU, the result reports it;
// other output of the script is copied to the result.
TEST_F(GpuTune, OtherLibrariesAreMeasuredWhereTheyAre) {
  makeCase("a");
  fs::copy_file(TESSERA_SOURCE "/tools/gpucheck/peers.py",
                path("packed/peers.py"));
  expectFine(tune({"--python", "/nonexistent/python3"}));
  expectHas(result()["torch"]["not_measured"].get<std::string>(),
            "/nonexistent/python3 peers.py ended with");
  const auto torch = [&](const std::string &text) {
    fs::create_directories(path("site"));
    write("site/torch.py", text);
    expectFine(tune({}, {"PYTHONPATH=" + path("site")}));
    return result()["torch"]["not_measured"].get<std::string>();
  };
  expectHas(torch("raise ImportError('broken wheel')"), "broken wheel");
  expectHas(torch("__version__ = '9'\nclass cuda:\n  is_available = "
                  "staticmethod(lambda: False)\n"),
            "torch 9 sees no GPU");
  write("packed/peers.py", "print('{\"rows\": [1, 2]}')");
  const CommandResult done = tune();
  expectHas(done.output, "peers torch: 2 times");
  EXPECT_EQ(result()["torch"]["rows"].size(), 2u);
}

} // namespace
