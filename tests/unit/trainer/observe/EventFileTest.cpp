// tests/unit/trainer/observe/EventFileTest.cpp - what another reader finds in
// the files.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/observe/EventFile.h"

#include "support/Process.h"
#include "tests/unit/trainer/TestFolder.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::trainer;
namespace fs = std::filesystem;

namespace {

std::string readEvents(const fs::path &folder) {
  std::string text;
  for (const auto &e : fs::directory_iterator(folder)) {
    EXPECT_TRUE(
        e.path().filename().string().starts_with("events.out.tfevents."))
        << e.path();
    const CommandResult read =
        runCommand({TESSERA_PYTHON, TESSERA_EVENT_READER, e.path().string()},
                   std::chrono::seconds(60));
    EXPECT_TRUE(read.status.ok()) << read.errors;
    text += read.output;
  }
  return text;
}

TEST(EventFile, TheChecksumIsCrc32c) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u); // RFC 3720
}

TEST(EventFile, AnotherReaderFindsWhatWasWritten) {
  const TestFolder folder;
  {
    EventFile events(folder.file("tb"), 301);
    EXPECT_FALSE(fs::exists(folder.file("tb")));
    EXPECT_TRUE(events.add(301, {{"train/bpb", 2.5}, {"train/lr", 1e-4}}));
    EXPECT_TRUE(events.add(int64_t(1) << 40,
                           {{"val/" + std::string(200, 'x'), -0.125}}));
  }
  EXPECT_EQ(readEvents(folder.file("tb")),
            "version brain.Event:2\n301 start\n301 train/bpb 2.5\n"
            "301 train/lr 0.0001\n1099511627776 val/" +
                std::string(200, 'x') + " -0.125\n");
}

TEST(EventFile, AFolderThatCannotBeMadeIsNoEnd) {
  const TestFolder folder;
  folder.write("tb", "a file");
  EventFile events(folder.file("tb"), 0);
  EXPECT_FALSE(events.add(1, {{"a", 1}}));
  fs::remove(folder.file("tb"));
  EXPECT_TRUE(events.add(2, {{"a", 1}}));
  EXPECT_EQ(readEvents(folder.file("tb")),
            "version brain.Event:2\n0 start\n2 a 1\n");
}

} // namespace
