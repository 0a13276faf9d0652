// tests/unit/trainer/RunFolderTest.cpp - locks, rights and earlier runs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/RunFolder.h"

#include "TestFolder.h"
#include "support/Error.h"

#include <gtest/gtest.h>
#include <unistd.h>

using namespace tessera;
using namespace tessera::trainer;

namespace {

TEST(RunFolder, RefusesASecondRunUntilTheFirstEnds) {
  const TestFolder folder;
  const std::string path = folder.file("a/run");
  {
    const RunFolder first(path);
    try {
      const RunFolder second(path);
      FAIL() << "two runs hold one folder";
    } catch (const Error &e) {
      EXPECT_NE(e.message.find("another run is using"), std::string::npos);
      EXPECT_NE(e.message.find(std::to_string(getpid())), std::string::npos);
    }
  }
  const RunFolder third(path);
}

TEST(RunFolder, SaysWhatIsUnwritable) {
  const TestFolder folder;
  // A file in the way stops everybody, root too.
  folder.write("file", "x");
  try {
    const RunFolder run(folder.file("file/run"));
    FAIL();
  } catch (const Error &e) {
    EXPECT_NE(e.message.find("cannot write to the run folder"),
              std::string::npos);
    EXPECT_NE(e.hint.find("out="), std::string::npos);
  }
}

TEST(RunFolder, PutsAnEarlierRunAside) {
  const TestFolder folder;
  RunFolder run(folder.file("run"));
  EXPECT_EQ(run.putAside(), "");
  folder.write("run/metrics.json", "one");
  folder.write("run/ckpt/x", "y");
  EXPECT_TRUE(run.finished());
  EXPECT_EQ(run.putAside(), run.file("previous-1"));
  EXPECT_FALSE(run.finished());
  EXPECT_TRUE(std::filesystem::exists(run.file("previous-1/ckpt/x")));
  folder.write("run/metrics.json", "two");
  EXPECT_EQ(run.putAside(), run.file("previous-2"));
}

// Each retry of a run that fails in its first batches left a folder.
TEST(RunFolder, KeepsNothingOfARunWithoutAStep) {
  const TestFolder folder;
  RunFolder run(folder.file("run"));
  folder.write("run/config.json", "{}");
  folder.write("run/metrics.jsonl", "");
  EXPECT_EQ(run.putAside(), "");
  EXPECT_FALSE(std::filesystem::exists(run.file("previous-1")));
  EXPECT_FALSE(std::filesystem::exists(run.file("config.json")));
  // One line of the log is worth keeping; so is a file of the user's.
  folder.write("run/config.json", "{}");
  folder.write("run/metrics.jsonl", "{\"step\": 1}\n");
  EXPECT_EQ(run.putAside(), run.file("previous-1"));
  folder.write("run/config.json", "{}");
  folder.write("run/notes.txt", "");
  EXPECT_EQ(run.putAside(), run.file("previous-2"));
}

} // namespace
