// tests/autotune/TuneCudaTest.cpp - tessera tune --device cuda, on a driver
// whose GPU is the simulator and whose times count instructions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/autotune/Planted.h"

#include "support/Process.h"

#include <algorithm>
#include <csignal>
#include <regex>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

class TuneCuda : public Planted {
protected:
  CommandResult tune(std::vector<std::string> arguments,
                     std::vector<std::string> environment = {}) {
    arguments.insert(arguments.begin(), {TESSERA_PROGRAM, "tune"});
    arguments.insert(arguments.end(), {"--device", "cuda"});
    if (std::find(arguments.begin(), arguments.end(), "--out") ==
        arguments.end())
      arguments.insert(arguments.end(), {"--out", path("table.yaml")});
    environment.push_back("TESSERA_CUDA_DRIVER=" TESSERA_SIM_CUDA);
    environment.push_back("SIM_CUDA_US=counted");
    environment.push_back("TESSERA_CACHE_DIR=" + path("cache"));
    return runCommand(arguments, std::chrono::seconds(600), environment);
  }
};

// Two of four configurations are wrong or fault; the fast one is chosen, and
// what the table had of other kernels stays.
TEST_F(TuneCuda, TheFastestRightConfigurationGoesIntoTheTable) {
  const std::string file =
      write("planted.py",
            kernelText("# tessera: cpu(REPEAT=300, BAD=0)\n"
                       "# tessera: space(REPEAT=[1], BAD=[0, 1, 2])\n"));
  const std::string folder = record("case", file, 200, 0, 300);
  writeOther({"Simulated GPU", "sm_90", 132, 0, 0});
  const CommandResult done = tune({folder, "--budget", "60s"});
  expectFine(done);
  expectHas(done.output, "1 launches tuned; table: " + path("table.yaml"));
  // tune does not print the hints of its steps for a user who starts them
  // alone.
  expectHasNot(done.output, "run them where a GPU is");
  expectHasNot(done.output, "table.yaml.work");
  const auto found = entries();
  ASSERT_EQ(found.size(), 2u);
  const tune::TuneEntry &entry =
      found[0].key.kernel == "x.py:f" ? found[1] : found[0];
  EXPECT_EQ(repeat(entry.use), 1);
  EXPECT_EQ(std::get<int64_t>(entry.use.constexprs.at("BAD")), 0);
  EXPECT_FALSE(entry.predicted);
  EXPECT_GT(entry.defaultUs, 1.2 * entry.timeUs);
  EXPECT_EQ(entry.why.find("the fastest of 8 timed candidates"), 0u)
      << entry.why; // two kinds with four numbers of warps each
  expectHas(tune::readTable(path("table.yaml")).provenance.command,
            "--device cuda --budget 60s");
  EXPECT_FALSE(fs::exists(path("table.yaml.work")));
}

// Both would record into, compile into and remove one folder.
TEST_F(TuneCuda, TwoAtOnceIntoOneTableAreRefused) {
  const std::string file = write("planted.py", kernelText(planted));
  const std::string folder = record("case", file, 64);
  {
    const FileLock held = FileLock::acquire(path("table.yaml.work.lock"));
    ASSERT_TRUE(held.locked());
    expectRefused(tune({folder}),
                  "another tessera tune --device cuda works in " +
                      path("table.yaml.work"));
  }
  EXPECT_FALSE(fs::exists(path("table.yaml")));
}

TEST_F(TuneCuda, StoresThatAreLeftOutAreFound) {
  const std::string file = write(
      "planted.py", kernelText("# tessera: cpu(REPEAT=300, BAD=0)\n"
                               "# tessera: space(REPEAT=[1], BAD=[4, 5])\n"));
  const std::string folder = record("case", file, 200, 0, 300);
  placeResults(folder);
  const CommandResult done = tune({folder, "--budget", "60s"});
  expectFine(done);
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_EQ(repeat(entries()[0].use), 300);
}

TEST_F(TuneCuda, AnInterruptedSearchResumes) {
  // So many instructions that the simulator needs a while for each launch.
  const std::string file = write(
      "slow.py", kernelText("# tessera: cpu(REPEAT=3000, BAD=0)\n"
                            "# tessera: space(REPEAT=[2999], BAD=[0])\n"));
  const std::string folder = record("case", file, 640, 0, 3000);
  SpawnOptions spawn;
  spawn.arguments = {TESSERA_PROGRAM,   "tune", folder,
                     "--device",        "cuda", "--out",
                     path("table.yaml")};
  spawn.environment = {"TESSERA_CUDA_DRIVER=" TESSERA_SIM_CUDA,
                       "SIM_CUDA_US=counted",
                       "TESSERA_CACHE_DIR=" + path("cache")};
  spawn.quiet = true;
  Process running = Process::spawn(spawn);
  ASSERT_TRUE(waitFor(path("table.yaml.work/packed/pack.json"), running));
  ASSERT_EQ(::kill(running.pid(), SIGINT), 0);
  EXPECT_EQ(running.wait().code, 130);
  ASSERT_TRUE(fs::exists(path("table.yaml.work/packed")));
  EXPECT_FALSE(fs::exists(path("table.yaml"))); // it was not run to its end
  // Nothing is recorded or compiled again.
  edit(file, "REPEAT=[2999]", "REPEAT=[1]");
  const CommandResult again = tune({folder, "--resume", "--budget", "2m"});
  expectFine(again);
  expectHasNot(again.output, " left out"); // pack-cases prints how many
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_GE(repeat(entries()[0].use), 2999);
}

// What is not compiled in time is listed, and the rest is tuned.
TEST_F(TuneCuda, TheBudgetEndsCompiling) {
  const std::string file = write(
      "many.py",
      kernelText("# tessera: cpu(REPEAT=1, BAD=0)\n"
                 "# tessera: space(REPEAT=[n for n in range(2, 2000)])\n"));
  const CommandResult done =
      run({"pack-cases", record("case", file, 64, 0, 1), "-o", path("packed"),
           "--target", "sm_90", "--tune", "--tune-budget", "2s"});
  expectFine(done);
  std::smatch found;
  ASSERT_TRUE(
      std::regex_search(done.output, found,
                        std::regex(R"((\d+) configurations, (\d+) left out)")))
      << done.output;
  EXPECT_GE(std::stoi(found[1]), 4);
  EXPECT_GT(std::stoi(found[2]), 1000);
  expectHas(readFile(path("packed/case/tuning.json")),
            "no time was left to compile");
}

TEST_F(TuneCuda, ReportsWhatIsMissing) {
  const std::string file = write("planted.py", kernelText(planted));
  const std::string folder = record("case", file, 64);
  const CommandResult none =
      runCommand({TESSERA_PROGRAM, "tune", folder, "--device", "cuda", "--out",
                  path("table.yaml")},
                 std::chrono::seconds(60),
                 {"TESSERA_CUDA_DRIVER=/nonexistent/libcuda.so"});
  expectRefused(none, "/nonexistent/libcuda.so");
  expectRefused(tune({folder, "--kernels", "other*"}),
                "no recorded launch is of a kernel `other*`");
  EXPECT_FALSE(fs::exists(path("table.yaml")));
  // A table of another device stays as it is.
  const tune::TuneTable table = writeOther({"Another GPU", "sm_80", 64, 0, 0});
  expectRefused(tune({folder}), "is a table of Another GPU");
  EXPECT_EQ(tune::readTable(path("table.yaml")), table);
}

} // namespace
