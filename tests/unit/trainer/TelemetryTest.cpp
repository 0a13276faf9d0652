// tests/unit/trainer/TelemetryTest.cpp - metrics.jsonl on a disk that is full.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/Telemetry.h"

#include "TestFolder.h"
#include "support/File.h"

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

// The run goes on, says so once, and writes later what is missing: no line is
// lost, none is torn.
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

} // namespace
