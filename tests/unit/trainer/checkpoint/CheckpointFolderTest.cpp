// tests/unit/trainer/checkpoint/CheckpointFolderTest.cpp - checkpoints on disk:
// complete, verified, kept.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/CheckpointFolder.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/Process.h"
#include "tests/unit/trainer/TestFolder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace tessera;
using namespace tessera::trainer;
namespace fs = std::filesystem;

namespace {

fs::path save(const TestFolder &run, int64_t step, const std::string &text) {
  UnfinishedCheckpoint writer(run.path.string(), step);
  writer.add("model.safetensors", text);
  writer.add("optimizer.safetensors", text + text);
  writer.add("kernels/nsa/a.py", "pass\n");
  writer.add("state.json", "{}");
  writer.commit();
  return checkpointPath(run.path.string(), step);
}

std::vector<int64_t> stepsOf(const TestFolder &run) {
  std::vector<int64_t> steps;
  for (const auto &[step, path] : listCheckpoints(run.path.string()))
    steps.push_back(step);
  return steps;
}

TEST(CheckpointFolder, SumsAreThoseOfSha256sum) {
  const TestFolder run;
  const fs::path saved = save(run, 12, "text");
  EXPECT_EQ(saved.filename(), "step_00000012");
  EXPECT_EQ(faultOf(saved), "");
  const auto check = runCommand(
      {"/usr/bin/env", "-C", saved.string(), "sha256sum", "-c", "DONE"},
      std::chrono::seconds(60));
  EXPECT_TRUE(check.status.ok()) << check.errors;
  for (const char *name : {"model.safetensors", "optimizer.safetensors",
                           "kernels/nsa/a.py", "state.json"})
    EXPECT_NE(check.output.find(std::string(name) + ": OK"), std::string::npos);
  // Nothing else is left.
  EXPECT_EQ(std::distance(fs::directory_iterator(run.path / "ckpt"), {}), 1);
}

TEST(CheckpointFolder, EveryDamageIsFound) {
  const TestFolder run;
  for (const char *name : {"model.safetensors", "optimizer.safetensors",
                           "kernels/nsa/a.py", "state.json", "DONE"}) {
    const fs::path saved = save(run, 1, "text");
    const std::string good = readFile(saved / name);
    for (size_t i = 0; i < good.size(); i += 5) {
      std::string bad = good;
      bad[i] = char(bad[i] ^ 1);
      writeFile(saved / name, bad);
      EXPECT_NE(faultOf(saved), "") << name << " byte " << i;
    }
    for (const std::string &bad :
         {good + "x", good.substr(0, good.size() / 2), std::string()}) {
      writeFile(saved / name, bad);
      EXPECT_NE(faultOf(saved), "") << name;
    }
    fs::remove(saved / name);
    EXPECT_NE(faultOf(saved).find(name), std::string::npos);
    // No process writes to this pipe.
    ASSERT_EQ(::mkfifo((saved / name).c_str(), 0600), 0);
    EXPECT_NE(faultOf(saved).find(name), std::string::npos);
    fs::remove(saved / name);
    writeFile(saved / name, good);
    EXPECT_EQ(faultOf(saved), "");
  }
  // A DONE that names fewer files than a checkpoint has.
  const fs::path saved = save(run, 1, "text");
  auto sums = *parseSums(readFile(saved / "DONE"));
  for (const char *name :
       {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    auto fewer = sums;
    fewer.erase(name);
    writeFile(saved / "DONE", formatSums(fewer));
    EXPECT_NE(faultOf(saved).find(name), std::string::npos);
  }
}

// The first form of checkpoints: an empty DONE, a state without a format.
TEST(CheckpointFolder, OlderOnesHaveNoSums) {
  const TestFolder run;
  run.write("ckpt/step_00000001/DONE", "");
  EXPECT_NE(faultOf(run.path / "ckpt/step_00000001"), "");
  run.write("ckpt/step_00000001/state.json", "{\"step\": 1}");
  EXPECT_EQ(faultOf(run.path / "ckpt/step_00000001"), "");
  run.write("ckpt/step_00000001/state.json", "{\"step\": 1, \"format\": 2}");
  EXPECT_EQ(faultOf(run.path / "ckpt/step_00000001"), "DONE is empty");
}

TEST(CheckpointFolder, AGoodOneIsNeverTouched) {
  const TestFolder run;
  const fs::path saved = save(run, 7, "first");
  const auto written = fs::last_write_time(saved / "model.safetensors");
  save(run, 7, "second");
  EXPECT_EQ(readFile(saved / "model.safetensors"), "first");
  EXPECT_EQ(fs::last_write_time(saved / "model.safetensors"), written);
  // A damaged one gives way.
  writeFile(saved / "model.safetensors", "f1rst");
  save(run, 7, "third");
  EXPECT_EQ(readFile(saved / "model.safetensors"), "third");
  EXPECT_EQ(faultOf(saved), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(run.path / "ckpt"), {}), 1);
}

TEST(CheckpointFolder, AnUnfinishedOneIsNone) {
  const TestFolder run;
  save(run, 1, "one");
  {
    UnfinishedCheckpoint writer(run.path.string(), 2);
    writer.add("model.safetensors", "x");
    EXPECT_EQ(stepsOf(run), std::vector<int64_t>{1});
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(run.path / "ckpt"), {}), 1);
  // What kills left goes with the next save, whatever its step was.
  run.write("ckpt/step_00000003.tmp/model.safetensors", "x");
  EXPECT_EQ(stepsOf(run), std::vector<int64_t>{1});
  save(run, 4, "four");
  EXPECT_EQ(stepsOf(run), (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(std::distance(fs::directory_iterator(run.path / "ckpt"), {}), 2);
  // A user's folder there is not ours.
  run.write("ckpt/best/model", "x");
  run.write("ckpt/step_x/model", "x");
  save(run, 5, "five");
  EXPECT_EQ(stepsOf(run), (std::vector<int64_t>{1, 4, 5}));
  EXPECT_TRUE(fs::exists(run.path / "ckpt/best/model"));
  EXPECT_TRUE(fs::exists(run.path / "ckpt/step_x/model"));
}

TEST(CheckpointFolder, ASaveThatFailsLeavesWhatWasThere) {
  const TestFolder run;
  const fs::path saved = save(run, 1, "one");
  // A file has the folder's name, which makes the save fail for root too.
  run.write("ckpt/step_00000002.tmp", "x");
  EXPECT_NO_THROW(save(run, 2, "two"));
  const TestFolder other;
  other.write("ckpt", "a file");
  EXPECT_THROW(save(other, 1, "one"), Error);
  EXPECT_EQ(readFile(other.path / "ckpt"), "a file");
  EXPECT_EQ(faultOf(saved), "");
}

TEST(CheckpointFolder, TheNewestAreKept) {
  const TestFolder run;
  // Also where the number of digits grows.
  for (const int64_t step : {5, 99999999, 100000000, 10})
    save(run, step, "text");
  pruneCheckpoints(run.path.string(), 3);
  EXPECT_EQ(stepsOf(run), (std::vector<int64_t>{10, 99999999, 100000000}));
  setDamagedAside(checkpointPath(run.path.string(), 100000000));
  EXPECT_EQ(stepsOf(run), (std::vector<int64_t>{10, 99999999}));
  save(run, 100000000, "again");
  setDamagedAside(checkpointPath(run.path.string(), 100000000));
  EXPECT_EQ(std::distance(fs::directory_iterator(run.path / "ckpt"), {}), 4);
  pruneCheckpoints(run.path.string(), 1);
  EXPECT_EQ(stepsOf(run), std::vector<int64_t>{99999999});
  EXPECT_EQ(std::distance(fs::directory_iterator(run.path / "ckpt"), {}), 3);
}

TEST(CheckpointFolder, MilestonesAreKeptInAddition) {
  const TestFolder run;
  for (const int64_t step : {5, 10, 15, 20, 25, 30, 35})
    save(run, step, "x");
  pruneCheckpoints(run.path.string(), 2, 20);
  EXPECT_EQ(stepsOf(run), (std::vector<int64_t>{20, 30, 35}));
  pruneCheckpoints(run.path.string(), 1);
  EXPECT_EQ(stepsOf(run), std::vector<int64_t>{35});
}

TEST(CheckpointFolder, SumsThatLeadElsewhereAreRefused) {
  const std::string sum(64, 'a');
  EXPECT_EQ(parseSums(sum + "  b/c\n")->at("b/c"), sum);
  for (const std::string &bad :
       {sum + "  b", sum + " b\n", sum + "  \n", sum.substr(1) + "  b\n",
        "A" + sum.substr(1) + "  b\n", sum + "a  b\n", sum + "  /etc/passwd\n",
        sum + "  ../b\n", sum + "  b/../../c\n", sum + "  b\n\n"})
    EXPECT_FALSE(parseSums(bad)) << bad;
}

} // namespace
