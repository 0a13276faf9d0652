// tests/unit/trainer/observe/TelemetryTest.cpp - metrics.jsonl on a disk that
// is full.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/observe/Telemetry.h"

#include "support/File.h"
#include "support/Process.h"
#include "tests/unit/trainer/TestFolder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/resource.h>

using namespace tessera;
using namespace tessera::trainer;

namespace {

/// No file of this process may grow beyond so many bytes.
void limitFileSize(rlim_t bytes) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(Telemetry, DurationsChangeTheirUnitsAtSixty) {
  EXPECT_EQ(duration(-3), "0s");
  EXPECT_EQ(duration(59.4), "59s");
  EXPECT_EQ(duration(59.6), "1m00s");
  EXPECT_EQ(duration(3599), "59m59s");
  EXPECT_EQ(duration(3600), "1h00m");
  EXPECT_EQ(duration(100 * 3600 + 59 * 60), "100h59m");
}

// The run continues, reports the failure once, and later writes what is
// missing: no line is lost, none is torn.
TEST(Telemetry, AFullDiskIsNoEnd) {
  const TestFolder folder;
  Telemetry telemetry(folder.file("metrics.jsonl"), 0);
  const auto record = [&](int step) {
    telemetry.record({{"step", step}, {"text", std::string(20000, 'x')}});
  };
  record(1);
  const size_t line = readFile(folder.file("metrics.jsonl")).size();
  testing::internal::CaptureStderr();
  limitFileSize(rlim_t(line + line / 2)); // in the middle of the second line
  for (int step = 2; step <= 5; ++step)
    record(step);
  EXPECT_EQ(readFile(folder.file("metrics.jsonl")).size(), line + line / 2);
  limitFileSize(rlim_t(line * 3 + 1));
  record(6);
  limitFileSize(RLIM_INFINITY);
  record(7);
  record(8);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(countOf(said, "WARNING: cannot write"), 1u) << said;
  EXPECT_EQ(countOf(said, "is written again"), 1u) << said;
  std::istringstream lines(readFile(folder.file("metrics.jsonl")));
  int steps = 0;
  for (std::string text; std::getline(lines, text);)
    EXPECT_EQ(nlohmann::json::parse(text)["step"], ++steps);
  EXPECT_EQ(steps, 8);
}

TEST(Telemetry, AResumedRunKeepsThePastAndDropsTornLines) {
  const TestFolder folder;
  const std::string file = folder.write(
      "metrics.jsonl", "{\"step\":1}\n{\"step\":2,\"val_bpb\":3.0}\n"
                       "{\"step\":3}\n{\"st");
  Telemetry(file, 2).record({{"step", 3}, {"again", true}});
  EXPECT_EQ(readFile(file), "{\"step\":1}\n{\"step\":2,\"val_bpb\":3.0}\n"
                            "{\"again\":true,\"step\":3}\n");
}

/// The events that the independent reader prints for the files in tb/.
std::string events(const TestFolder &folder) {
  std::string text;
  for (const auto &e :
       std::filesystem::directory_iterator(folder.path / "tb")) {
    const CommandResult read =
        runCommand({TESSERA_PYTHON, TESSERA_EVENT_READER, e.path().string()},
                   std::chrono::seconds(60));
    EXPECT_TRUE(read.status.ok()) << read.errors;
    text += read.output;
  }
  return text;
}

TEST(Telemetry, NumbersOfARecordAreEventsToo) {
  const TestFolder folder;
  Telemetry telemetry(folder.file("metrics.jsonl"), 6);
  telemetry.record({{"step", 7}, {"bpb", 2.5}, {"text", "x"}});
  telemetry.record(
      {{"step", 8}, {"val_bpb", 3.0}, {"stages_ms", {{"data", 0.5}}}});
  EXPECT_EQ(events(folder), "version brain.Event:2\n7 start\n7 train/bpb 2.5\n"
                            "8 train/stages_ms/data 0.5\n8 val/bpb 3\n");
}

TEST(Telemetry, EventsThatCannotBeWrittenAreReportedOnce) {
  const TestFolder folder;
  folder.write("tb", "a file");
  Telemetry telemetry(folder.file("metrics.jsonl"), 0);
  testing::internal::CaptureStderr();
  for (int step = 1; step <= 3; ++step)
    telemetry.record({{"step", step}, {"bpb", 2.5}});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(countOf(said, "WARNING: cannot write TensorBoard's events"), 1u)
      << said;
  EXPECT_EQ(countOf(readFile(folder.file("metrics.jsonl")), "bpb"), 3u);
}

TEST(Telemetry, StagesAddUpToTheirTime) {
  const auto start = StageClock::Clock::now();
  StageClock clock;
  for (const Stage stage : {Stage::Data, Stage::Forward, Stage::Data,
                            Stage::Backward, Stage::Other})
    clock.enter(stage);
  const double most =
      std::chrono::duration<double>(StageClock::Clock::now() - start).count();
  double sum = 0;
  for (const double seconds : clock.seconds())
    sum += seconds;
  EXPECT_EQ(sum, clock.total());
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, most);
  EXPECT_EQ(clock.seconds()[size_t(Stage::Exchange)], 0);
  EXPECT_GT(clock.seconds()[size_t(Stage::Data)], 0);
}

TEST(Telemetry, MemoryIsThatOfTheProcess) {
  const ProcessMemory before = processMemory();
  EXPECT_GT(before.now, 1 << 20);
  std::vector<char> block(size_t(64) << 20, 1);
  const ProcessMemory now = processMemory();
  EXPECT_GE(now.now, before.now + (60 << 20));
  EXPECT_GE(now.most, now.now - (1 << 20));
  EXPECT_EQ(block[block.size() / 2], 1);
}

} // namespace
