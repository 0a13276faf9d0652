// tests/train/TuningTableTest.cpp - the tuning table of a run: recorded, equal
// in all processes, compared at a resume.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"

#include "autotune/choice/StaleEntries.h"
#include "autotune/choice/ThisMachine.h"
#include "autotune/table/TuneTable.h"
#include "support/Hash.h"

#include <charconv>
#include <unistd.h>

using namespace tessera;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Returns the key that tune::describe() gives as this text. The constexprs are
/// integers.
tune::TuneKey keyOf(const std::string &launch) {
  tune::TuneKey key;
  std::string text = launch;
  if (const size_t comma = text.find(", sequence "); comma != text.npos) {
    key.bucket = std::stoll(text.substr(comma + 11));
    text.resize(comma);
  }
  std::istringstream words(text);
  std::string types;
  words >> key.kernel >> types;
  std::istringstream list(types);
  for (std::string type; std::getline(list, type, ',');)
    key.dtypes.push_back(type);
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    key.constexprs[word.substr(0, equals)] =
        int64_t(std::stoll(word.substr(equals + 1)));
  }
  key.textHash = tune::currentHash(key.kernel).value();
  return key;
}

class TuningTable : public TrainRun {
protected:
  TuningTable() { ::setenv("TESSERA_TUNED", "none", 1); }
  ~TuningTable() override { ::unsetenv("TESSERA_TUNED"); }

  /// Writes a table for this machine with an entry that sets one constexpr.
  std::string tableWith(const std::string &name, const std::string &launch,
                        const std::string &constexprName, int64_t value,
                        double microseconds = 5) {
    tune::TuneTable table;
    table.device = tune::deviceModel(runtime::findLaunchDevice("cpu"));
    tune::TuneEntry entry;
    entry.key = keyOf(launch);
    entry.use.constexprs = {{constexprName, value}};
    entry.timeUs = microseconds;
    entry.date = "2026-11-22";
    table.set(entry);
    tune::writeTable(folder.file(name), table);
    return folder.file(name);
  }

  CommandResult runWith(const std::string &table, const std::string &out,
                        std::vector<std::string> more = {}) {
    more.insert(more.end(), {"kernels=tessera", "train.steps=2",
                             "train.warmup=1", "train.final_windows=2"});
    ::setenv("TESSERA_TUNED", table.c_str(), 1);
    return run(out, more);
  }

  json environment(const std::string &out) {
    return json::parse(readFile(folder.file(out + "/env.json")));
  }
  /// Returns {launch, configuration, source} of the rotation of queries, which
  /// has the constexpr BT.
  static json rotation(const json &tuning) {
    for (const json &launch : tuning["launches"])
      if (launch[0].get<std::string>().starts_with("kernels/nn/rope.py:rope "))
        return launch;
    return nullptr;
  }
};

TEST_F(TuningTable, IsRecordedWithTheConfigurationsOfAllLaunches) {
  expectFine(runWith("none", "a"));
  const json plain = environment("a")["tuning"];
  EXPECT_EQ(plain["table"],
            json::parse(R"({"path": "", "origin": "", "sha256": ""})"));
  EXPECT_EQ(plain["coverage"]["tuned"], 0);
  EXPECT_EQ(plain["coverage"]["default"], plain["launches"].size());
  EXPECT_GT(plain["launches"].size(), 5u);
  const json rope = rotation(plain);
  ASSERT_FALSE(rope.is_null()) << plain.dump(1);
  EXPECT_EQ(rope[1], "BT=32");

  const std::string table = tableWith("t.yaml", rope[0], "BT", 16);
  expectFine(runWith(table, "b"));
  const json tuned = environment("b")["tuning"];
  EXPECT_EQ(tuned["table"]["path"], table);
  EXPECT_EQ(tuned["table"]["origin"], "TESSERA_TUNED");
  EXPECT_EQ(tuned["table"]["sha256"], sha256Hex(readFile(table)));
  EXPECT_EQ(tuned["coverage"]["tuned"], 1);
  EXPECT_EQ(tuned["coverage"]["default"], plain["launches"].size() - 1);
  EXPECT_EQ(rotation(tuned), json::array({rope[0], "BT=16", "tuned"}));
  EXPECT_EQ(json::parse(checkpoint("b", 2, "state.json"))["tuning"], tuned);
}

TEST_F(TuningTable, AResumeNamesTheLaunchesThatAnotherTableChanges) {
  expectFine(runWith("none", "a"));
  const json rope = rotation(environment("a")["tuning"]);
  const std::string launch = rope[0];
  const auto resume = [&](const std::string &table) {
    fs::remove(folder.path / "a/metrics.json"); // as if it was not finished
    const CommandResult result = runWith(table, "a");
    expectFine(result);
    return result.errors;
  };
  const auto has = [](const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  };
  const std::string first = tableWith("first.yaml", launch, "BT", 16);
  std::string said = resume(first);
  has(said, "the checkpoint was made with no table, this run has " + first);
  has(said, "1 launch changes its configuration:");
  has(said, "  " + launch + ": BT=32 -> BT=16");
  // The resumed run has written a checkpoint of the same step, or kept it.
  const std::string later = tableWith("later.yaml", launch, "BT", 32);
  said = resume(later);
  has(said, "no launch changes its configuration");
  EXPECT_EQ(resume("none").find("-> BT"), std::string::npos);
}

TEST_F(TuningTable, IsPrintedAtTheStartWithItsCoverage) {
  const CommandResult plain = runWith("none", "a", {"train.seq_len=96"});
  expectFine(plain);
  const json tuning = environment("a")["tuning"];
  const std::string count = std::to_string(tuning["launches"].size()),
                    others = std::to_string(tuning["launches"].size() - 1);
  EXPECT_NE(plain.errors.find("tuning: of " + count +
                              " launches 0 have a tuned configuration, 0 that "
                              "of the nearest length, " +
                              count + " the default; no table"),
            std::string::npos)
      << plain.errors;
  // 96 tokens take the entry of 128.
  const json rope = rotation(tuning);
  const std::string table = tableWith("t.yaml", rope[0], "BT", 16);
  const CommandResult tuned = runWith(table, "b", {"train.seq_len=96"});
  expectFine(tuned);
  EXPECT_NE(
      tuned.errors.find("tuning: of " + count +
                        " launches 0 have a tuned configuration, 1 that of the "
                        "nearest length, " +
                        others + " the default; " + table + " (TESSERA_TUNED"),
      std::string::npos)
      << tuned.errors;
}

TEST_F(TuningTable, ProcessesWithDifferentTablesAreRefused) {
  const std::string rope =
      "kernels/nn/rope.py:rope fp32,fp32,fp32,fp32,i32 D=16, sequence 128";
  const std::string a = tableWith("a.yaml", rope, "BT", 16),
                    b = tableWith("b.yaml", rope, "BT", 64);
  const std::string port = std::to_string(20000 + ::getpid() % 20000);
  std::vector<Process> processes;
  std::vector<std::string> errors;
  for (int rank = 0; rank < 2; ++rank) {
    SpawnOptions options;
    const std::string errorFile = folder.file("errors" + std::to_string(rank));
    options.arguments = {"/bin/sh", "-c", "exec \"$@\" 2>" + errorFile, "sh"};
    for (const std::string &argument :
         command("out", {"kernels=tessera", "train.batch_size=4"}))
      options.arguments.push_back(argument);
    options.environment = {"RANK=" + std::to_string(rank), "WORLD_SIZE=2",
                           "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port,
                           "TESSERA_TUNED=" + (rank ? b : a)};
    processes.push_back(Process::spawn(options));
  }
  for (int rank = 0; rank < 2; ++rank) {
    const auto status = processes[size_t(rank)].wait(std::chrono::seconds(120));
    ASSERT_TRUE(status.has_value());
    EXPECT_EQ(status->code, 1);
    const std::string said =
        readFile(folder.file("errors" + std::to_string(rank)));
    for (const std::string &part :
         {std::string("different tuning tables"), "process 0: " + a,
          "process 1: " + b, sha256Hex(readFile(a)).substr(0, 16),
          sha256Hex(readFile(b)).substr(0, 16),
          std::string("HINT: set TESSERA_TUNED")})
      EXPECT_NE(said.find(part), std::string::npos) << part << "\n" << said;
  }
  EXPECT_FALSE(fs::exists(folder.path / "out/config.json"));
}

} // namespace
