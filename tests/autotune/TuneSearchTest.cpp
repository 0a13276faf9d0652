// tests/autotune/TuneSearchTest.cpp - tessera tune on recorded launches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is slow here is slow by so much (some hundred times the work) that no
// load of the machine hides it.
#include "autotune/search/Times.h"
#include "autotune/search/Trials.h"
#include "tests/autotune/Planted.h"

#include <csignal>
#include <regex>
#include <set>
#include <thread>

using namespace tessera;
namespace fs = std::filesystem;

namespace {
class TuneSearch : public Planted {};
} // namespace

// Nothing is measured: what runs are a few blocks on the simulator.
TEST_F(TuneSearch, PredictsForAGpuThatIsNotThere) {
  const std::string file =
      write("planted.py",
            kernelText("# tessera: cpu(REPEAT=3000, BAD=0)\n"
                       "# tessera: space(REPEAT=[1], BAD=[0, 1, 2, 3])\n"));
  const CommandResult result =
      run({"tune", record("case", file, 20000), "--gpu", "h200", "--kernels",
           "scale", "--out", path("table.yaml"), "--budget", "2m"});
  expectFine(result);
  const tune::TuneTable table = tune::readTable(path("table.yaml"));
  EXPECT_EQ(describe(table.device), "NVIDIA H200, sm_90, 132 SMs, 700 W");
  ASSERT_EQ(table.entries().size(), 1u);
  const tune::TuneEntry &found = table.entries()[0];
  EXPECT_TRUE(found.predicted);
  EXPECT_EQ(repeat(found.use), 1);
  EXPECT_GT(found.defaultUs, 1.5 * found.timeUs); // 2 of them are the launch
  expectHas(found.why, "predicted, limited by ");
  expectHas(result.output, "BAD=1 REPEAT=1: wrong results: `Y`");
  expectHas(result.output, "to reproduce: tessera replay --device sim:sm_90 ");
  expectHas(result.output, "BAD=2 REPEAT=1: scale: out-of-bounds: ");
  expectHas(result.output, "BAD=3 REPEAT=1: scale: endless-loop: ");
  // What was predicted can be looked at.
  expectFine(run({"tune", "--show", path("table.yaml"), "--html", "-o",
                  path("page.html")}));
  const std::string page = readFile(path("page.html"));
  expectHas(page, "BAD=0 REPEAT=1</th><td class=\"chosen\" "
                  "style=\"--r:0.000\"");
  expectHas(page, "BAD=0 REPEAT=3000</th><td class=\"own\"");
  expectHas(page, "BAD=1 REPEAT=1</th><td class=\"excluded\" "
                  "title=\"wrong results: `Y`");
}

// A candidate that leaves out stores is wrong, also where the recorded memory
// holds the results. Another tile means other blocks: candidates are compared
// where the blocks of the default configuration store.
TEST_F(TuneSearch, StoresThatAreLeftOutAreFoundOnASimulatedGpu) {
  const std::string file = write(
      "planted.py",
      kernelText("# tessera: cpu(REPEAT=3000, BAD=0, BLOCK=64)\n"
                 "# tessera: space(REPEAT=[1], BAD=[4], BLOCK=[64])\n"
                 "# tessera: space(REPEAT=[1], BAD=[5, 0], BLOCK=[32])\n"));
  const std::string folder = record("case", file, 20000);
  placeResults(folder);
  const CommandResult result = run({"tune", folder, "--gpu", "a100", "--out",
                                    path("table.yaml"), "--budget", "3m"});
  expectFine(result);
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_EQ(describe(entries()[0].use), "BAD=0 BLOCK=32 REPEAT=1");
  for (const char *bad : {"BAD=4 BLOCK=64", "BAD=5 BLOCK=32"})
    expectHas(result.output,
              std::string(bad) + " REPEAT=1: wrong results: `Y`: ");
  expectHas(result.output, "elements are not stored that the blocks of the "
                           "kernel's default configuration store");
}

// The values of sums are not compared; elements that no block adds to are
// found.
TEST_F(TuneSearch, AtomicsThatAreLeftOutAreFoundOnASimulatedGpu) {
  std::string text =
      kernelText("# tessera: cpu(REPEAT=3000, BAD=0, BLOCK=64)\n"
                 "# tessera: space(REPEAT=[1], BAD=[4, 5, 0], BLOCK=[32])\n");
  const std::string store = "tl.store(Y + i, y, mask=keep)";
  text.replace(text.find(store), store.size(),
               "tl.atomic_add(Y + i, y, mask=keep)");
  const CommandResult result =
      run({"tune", record("case", write("sum.py", text), 20000), "--gpu",
           "a100", "--out", path("table.yaml"), "--budget", "3m"});
  expectFine(result);
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_EQ(describe(entries()[0].use), "BAD=0 BLOCK=32 REPEAT=1");
  for (const char *bad : {"BAD=4", "BAD=5"})
    expectHas(result.output,
              std::string(bad) + " BLOCK=32 REPEAT=1: wrong results: `Y`: ");
}

TEST_F(TuneSearch, StoresThatAreLeftOutAreFoundOnTheCpu) {
  const std::string file = write(
      "planted.py", kernelText("# tessera: cpu(REPEAT=3000, BAD=0)\n"
                               "# tessera: space(REPEAT=[1], BAD=[4, 5])\n"));
  const std::string folder = record("case", file, 20000, 0, 3000);
  placeResults(folder);
  const CommandResult result =
      run({"tune", folder, "--out", path("table.yaml"), "--budget", "20s"});
  expectFine(result);
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_EQ(describe(entries()[0].use), "BAD=0 REPEAT=3000");
  expectHas(result.output, "BAD=4 REPEAT=1: wrong results: `Y`");
  expectHas(result.output, "BAD=5 REPEAT=1: wrong results: `Y`");
}

// In a folder that is named with a slash.
TEST_F(TuneSearch, ATableIsNamedAfterItsDevice) {
  const std::string file = write(
      "planted.py", kernelText("# tessera: cpu(REPEAT=3000, BAD=0)\n"
                               "# tessera: space(REPEAT=[1], BAD=[0])\n"));
  fs::create_directory(path("tables"));
  expectFine(run({"tune", record("case", file, 20000), "--gpu", "h200", "--out",
                  path("tables/"), "--budget", "1m"}));
  const std::string made = path("tables/nvidia-h200-132sm.yaml");
  ASSERT_TRUE(fs::exists(made));
  EXPECT_TRUE(
      tune::readTable(made).provenance.command.ends_with("--out " + made));
}

// Too small a gain to trust leaves the kernel's default configuration.
TEST_F(TuneSearch, APredictionNeedsAGainOfThirtyPercent) {
  const std::string file =
      write("close.py",
            kernelText("# tessera: cpu(REPEAT=3000, BAD=0)\n"
                       "# tessera: space(REPEAT=[3000, 2600], BAD=[0])\n"));
  expectFine(run({"tune", record("case", file, 20000), "--gpu", "a100", "--out",
                  path("table.yaml"), "--budget", "2m"}));
  const auto found = entries();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(repeat(found[0].use), 3000);
  expectHas(found[0].why, "too little to trust");
  ASSERT_TRUE(found[0].runnerUp);
  EXPECT_EQ(repeat(*found[0].runnerUp), 2600);
}

TEST_F(TuneSearch, GpusThatNobodyKnowsAndOptionsThatDoNotGoTogether) {
  const std::string file = write("planted.py", kernelText(planted));
  const std::string folder = record("case", file, 200);
  expectHas(
      run({"tune", folder, "--gpu", "a10", "--out", path("t.yaml")}).errors,
      "no data of a GPU `a10`");
  expectHas(run({"tune", folder, "--gpu", "a100", "--resume", "--out",
                 path("t.yaml")})
                .errors,
            "there is nothing to --resume");
  EXPECT_FALSE(fs::exists(path("t.yaml")));
}

TEST_F(TuneSearch, FindsThePlantedSlowDefaultAndExcludesWhatIsBad) {
  const std::string file = write("planted.py", kernelText(planted));
  const CommandResult result =
      run({"tune", record("case", file, 20000), "--out", path("table.yaml"),
           "--budget", "2m"});
  expectFine(result);
  const auto found = entries();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].key.kernel, "planted.py:scale");
  EXPECT_EQ(describe(found[0].use), "BAD=0 REPEAT=1");
  EXPECT_GT(found[0].defaultUs, 3 * found[0].timeUs);
  ASSERT_TRUE(found[0].runnerUp);
  EXPECT_EQ(repeat(*found[0].runnerUp), 100000);
  expectHas(result.output, "BAD=1 REPEAT=1: wrong results: `Y`");
  expectHas(result.output, "BAD=2 REPEAT=1: kernel `scale`: program (");
  expectHas(result.output, "writes to memory that is not there");
  expectHas(result.output, "BAD=3 REPEAT=1: no end after");
  expectFine(run({"tune", "--show", path("table.yaml"), "--html", "-o",
                  path("page.html")}));
  const std::string page = readFile(path("page.html"));
  expectHas(page, "BAD=0 REPEAT=1</th><td class=\"chosen\"");
  expectHas(page, "BAD=0 REPEAT=100000</th><td class=\"own\"");
  expectHas(page, "title=\"no end after");

  // Each of them is a case that shows it again.
  size_t reproduced = 0;
  for (const auto &entry : fs::directory_iterator(path("table.yaml.failed"))) {
    const CommandResult replayed =
        run({"replay", "--timeout", "3", entry.path().string()});
    EXPECT_EQ(replayed.status.code, 1) << replayed.output << replayed.errors;
    EXPECT_EQ(replayed.output.find("unsupported"), std::string::npos)
        << replayed.output;
    for (const char *name : {"before.safetensors", "after.safetensors"})
      EXPECT_EQ(readFile(entry.path() / name),
                readFile(fs::path(path("case")) / name));
    ++reproduced;
  }
  EXPECT_EQ(reproduced, 3u);
}

TEST_F(TuneSearch, AnInterruptKeepsTheEntriesAndResumeContinues) {
  const std::string first = write("a.py", kernelText(planted));
  // Three candidates without an end: seconds for the interrupt to come in.
  const std::string second =
      write("b.py", kernelText("# tessera: cpu(REPEAT=100000, BAD=0)\n"
                               "# tessera: space(REPEAT=[1, 2, 4], BAD=[3])\n"
                               "# tessera: space(REPEAT=[1], BAD=[0])\n"));
  std::vector<std::string> arguments = {TESSERA_PROGRAM,
                                        "tune",
                                        record("one", first, 20000),
                                        record("two", second, 20000),
                                        "--out",
                                        path("table.yaml"),
                                        "--budget",
                                        "5m"};
  SpawnOptions spawn;
  spawn.arguments = arguments;
  spawn.environment = {"TESSERA_CACHE_DIR=" + path("cache")};
  spawn.quiet = true;
  Process process = Process::spawn(spawn);
  ASSERT_TRUE(waitFor(path("table.yaml"), process));
  ASSERT_EQ(::kill(process.pid(), SIGINT), 0);
  EXPECT_EQ(process.wait().code, 130);
  const auto kept = entries();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].key.kernel, "a.py:scale");

  arguments.erase(arguments.begin());
  arguments.push_back("--resume");
  expectFine(run(arguments));
  const auto both = entries();
  ASSERT_EQ(both.size(), 2u);
  // Another measurement would not give the same number to the last digit.
  EXPECT_EQ(both[0].timeUs, kept[0].timeUs);
  EXPECT_EQ(both[0].defaultUs, kept[0].defaultUs);
  EXPECT_EQ(describe(both[1].use), "BAD=0 REPEAT=1");

  // Now everything is known, also what is wrong with the others.
  const CommandResult again = run(arguments);
  expectFine(again);
  EXPECT_EQ(entries()[1].timeUs, both[1].timeUs);
  expectHas(again.output, "BAD=3 REPEAT=4: no end after");
}

// Half of three is two, and the default configuration stays: no other candidate
// is left to drop.
TEST_F(TuneSearch, TwoFasterThanTheOwnChoiceEndTheHalving) {
  const std::string file = write(
      "three.py", kernelText("# tessera: cpu(REPEAT=100000, BAD=0)\n"
                             "# tessera: space(REPEAT=[100000, 20000, 1])\n"));
  const CommandResult result = run({"tune", record("case", file, 6400), "--out",
                                    path("table.yaml"), "--budget", "20s"});
  expectFine(result);
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_EQ(repeat(entries()[0].use), 1);
  // 3 rounds for all, 11 for the best and the default configuration, and 22 and
  // 44 more if other programs make the order uncertain (docs/tuning.md).
  const std::string times = readFile(path("table.yaml.times"));
  const std::regex line("\"?samples\"?: *([0-9]+)");
  size_t counted = 0;
  for (std::sregex_iterator at(times.begin(), times.end(), line), end;
       at != end; ++at, ++counted)
    EXPECT_LE(std::stoi((*at)[1]), 3 + 11 + 22 + 44);
  EXPECT_EQ(counted, 3u) << times;
}

TEST_F(TuneSearch, TheBudgetEndsTheSearch) {
  const std::string file = write(
      "many.py",
      kernelText("# tessera: cpu(REPEAT=0, BAD=0)\n"
                 "# tessera: space(REPEAT=[n for n in range(1, 1500)])\n"));
  const CommandResult result = run({"tune", record("case", file, 640), "--out",
                                    path("table.yaml"), "--budget", "8s"});
  expectFine(result);
  expectHas(result.output,
            "of 1500 candidates were timed; go on with --resume");
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_LT(tune::Times::read(path("table.yaml.times")).size(), 1400u);
}

// The batch with the default configuration is compiled in any case, the others
// until the deadline; nothing after an interrupt.
TEST_F(TuneSearch, CompilingEndsAtTheDeadlineOrAtAnInterrupt) {
  ::setenv("TESSERA_WORKERS", "1", 1); // two configurations in a batch
  const std::string file =
      write("some.py",
            kernelText("# tessera: cpu(REPEAT=0, BAD=0)\n"
                       "# tessera: space(REPEAT=[n for n in range(1, 6)])\n"));
  tune::JobList list = tune::loadJobs({record("case", file, 640)}, "", "cpu");
  ASSERT_EQ(list.jobs.size(), 1u);
  list.jobs[0].loadTensors();
  const auto compiled = [&](tune::Clock::duration left, bool stop) {
    const std::atomic<bool> interrupted{stop};
    tune::Trials trials(list.jobs[0], interrupted, [](const std::string &) {});
    EXPECT_EQ(trials.all.size(), 6u);
    trials.compile(tune::Clock::now() + left);
    return std::count_if(trials.all.begin(), trials.all.end(),
                         [](const tune::Trial &trial) {
                           return trial.state == tune::Trial::State::Compiled;
                         });
  };
  EXPECT_EQ(compiled(std::chrono::seconds(0), false), 2);
  EXPECT_EQ(compiled(std::chrono::hours(1), false), 6);
  EXPECT_EQ(compiled(std::chrono::hours(1), true), 0);
  ::unsetenv("TESSERA_WORKERS");
}

// Work by N / 8 or 3000 times: the first for short ones, the other for long.
TEST_F(TuneSearch, BucketsMayDiffer) {
  const std::string file =
      write("buckets.py", kernelText("# tessera: cpu(REPEAT=3000, BAD=0)\n"
                                     "# tessera: space(REPEAT=[-1])\n"));
  expectFine(run({"tune", record("short", file, 640, 640),
                  record("long", file, 100000, 100000), "--out",
                  path("table.yaml"), "--budget", "3m"}));
  const auto found = entries();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].key.bucket, 1024);
  EXPECT_EQ(repeat(found[0].use), -1);
  EXPECT_EQ(found[1].key.bucket, 131072);
  EXPECT_EQ(repeat(found[1].use), 3000);
}

TEST_F(TuneSearch, ReportsWhatItCannotTune) {
  const std::string file = write("planted.py", kernelText(planted));
  const std::string folder = record("case", file, 640);
  expectRefused(run({"tune", folder, "--kernels", "other*"}),
                "no recorded launch is of a kernel `other*`");
  expectRefused(run({"tune", folder, "--device", "tpu"}),
                "--device tpu is not tuned");
  expectRefused(run({"tune", path("nowhere")}), "no case in");
  expectRefused(run({"tune", folder, "--budget", "long"}), "--budget");
  // A table of another machine stays as it is.
  const tune::TuneTable table =
      writeOther({"Another Processor", "cpu:x86-64-v3:0000", 64, 128, 0});
  expectRefused(run({"tune", folder, "--out", path("table.yaml")}),
                "is a table of Another Processor");
  EXPECT_EQ(tune::readTable(path("table.yaml")), table);
  // The recording no longer fits the kernel.
  edit(file, "y * ONE + ZERO", "y * ONE + ZERO + 1.0");
  const CommandResult changed =
      run({"tune", folder, "--out", path("other.yaml")});
  EXPECT_EQ(changed.status.code, 1);
  expectHas(changed.output, "the kernel's own configuration cannot be used: "
                            "wrong results: `Y`");
}

// Two processes tune different kernels into one table at the same time.
TEST_F(TuneSearch, TwoProcessesThatWriteOneTableLoseNothing) {
  std::vector<std::vector<std::string>> commands(2);
  for (size_t process = 0; process < 2; ++process) {
    commands[process] = {TESSERA_PROGRAM, "tune"};
    for (size_t i = 0; i < 3; ++i) {
      const std::string name =
          "k" + std::to_string(process) + "_" + std::to_string(i);
      const std::string file =
          write(name + ".py", kernelText("# tessera: cpu(REPEAT=3000, BAD=0)\n"
                                         "# tessera: space(REPEAT=[1])\n"));
      commands[process].push_back(
          record(name, file, 20000 + 64 * int64_t(3 * process + i), 0, 3000));
    }
    commands[process].insert(commands[process].end(),
                             {"--out", path("table.yaml"), "--budget", "20s"});
  }
  std::vector<CommandResult> results(2);
  std::vector<std::thread> threads;
  for (size_t process = 0; process < 2; ++process)
    threads.emplace_back([&, process] {
      results[process] =
          runCommand(commands[process], std::chrono::seconds(300),
                     {"TESSERA_CACHE_DIR=" + path("cache")});
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const CommandResult &result : results)
    expectFine(result);
  std::set<std::string> kernels;
  for (const tune::TuneEntry &entry : entries())
    kernels.insert(entry.key.kernel);
  EXPECT_EQ(kernels, (std::set<std::string>{"k0_0.py:scale", "k0_1.py:scale",
                                            "k0_2.py:scale", "k1_0.py:scale",
                                            "k1_1.py:scale", "k1_2.py:scale"}))
      << results[0].output << results[1].output;
  const auto times = tune::Times::read(path("table.yaml.times"));
  EXPECT_EQ(times.size(), 12u); // two candidates of six launches
  EXPECT_FALSE(fs::exists(path("table.yaml.lock")));
}
