// tests/unit/trainer/checkpoint/RunFolderTest.cpp - locks, rights and earlier
// runs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/RunFolder.h"

#include "support/Error.h"
#include "support/File.h"
#include "tests/unit/trainer/TestFolder.h"

#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <sys/syscall.h>
#include <unistd.h>

using namespace tessera;
using namespace tessera::trainer;

static std::mutex syncedMutex; // other tests write in threads
static std::set<std::string> syncedPaths;

// Replaces libc's function in this program, and records the path.
extern "C" int fsync(int fd) {
  std::error_code code;
  const std::lock_guard<std::mutex> guard(syncedMutex);
  syncedPaths.insert(
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), code)
          .string());
  return int(::syscall(SYS_fsync, fd));
}

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

TEST(RunFolder, ReportsWhatIsUnwritable) {
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
  folder.write("run/.config.json.17.0.tmp", "{");
  folder.write("run/kernels/step_00000000/nn/rope.py", "pass");
  EXPECT_EQ(run.putAside(), "");
  EXPECT_FALSE(std::filesystem::exists(run.file("kernels")));
  // One line of the log is worth keeping.
  folder.write("run/config.json", "{}");
  folder.write("run/metrics.jsonl", "{\"step\": 1}\n");
  EXPECT_EQ(run.putAside(), run.file("previous-1"));
}

/// Every path below, with the contents of files.
std::map<std::string, std::string> contents(const TestFolder &folder) {
  std::map<std::string, std::string> all;
  for (const auto &e :
       std::filesystem::recursive_directory_iterator(folder.path))
    all[e.path().string()] =
        e.is_regular_file() ? readFile(e.path()) : std::string();
  return all;
}

TEST(RunFolder, AReopenedRunKeepsItsResultAndIsNotFinished) {
  TestFolder folder;
  folder.write("lock", "1");
  folder.write("metrics.json", "one");
  RunFolder run(folder.path.string());
  EXPECT_TRUE(run.finished());
  run.reopen(12);
  EXPECT_FALSE(run.finished());
  EXPECT_EQ(readFile(run.file("metrics-12.json")), "one");
  EXPECT_NO_THROW(run.refuseForeignFiles());
}

// A power failure must lose neither the new folder nor the names in it.
TEST(RunFolder, SyncsBothFoldersOfAnEarlierRun) {
  const TestFolder folder;
  RunFolder run(folder.file("run"));
  folder.write("run/metrics.json", "one");
  folder.write("run/ckpt/x", "weights");
  syncedPaths.clear();
  EXPECT_EQ(run.putAside(), run.file("previous-1"));
  for (const std::string &path : {run.file("previous-1"), folder.file("run")})
    EXPECT_TRUE(syncedPaths.contains(std::filesystem::canonical(path).string()))
        << path;
}

// out=. in a folder of the user's moved all of it into previous-1.
TEST(RunFolder, RefusesAFolderOfOthersAndChangesNothing) {
  for (const char *name : {"thesis.tex", "kernels/mine.py", "ckpt/weights.pt",
                           ".git/HEAD", "lock", "config.json"}) {
    const TestFolder folder;
    folder.write(name, "ten years of work");
    const auto before = contents(folder);
    try {
      const RunFolder run(folder.path.string());
      ADD_FAILURE() << name << " is in a run's folder";
    } catch (const Error &e) {
      const std::string top =
          std::string(name).substr(0, std::string(name).find('/'));
      EXPECT_NE(e.message.find(top), std::string::npos) << e.message;
      EXPECT_NE(e.hint.find("out="), std::string::npos);
    }
    EXPECT_EQ(contents(folder), before);
  }
  const TestFolder empty;
  const RunFolder run(empty.path.string());
}

// A run may resume in a folder with files of the user, but these are never
// moved.
TEST(RunFolder, DoesNotMoveFilesOfOthers) {
  const TestFolder folder;
  RunFolder(folder.path.string()).putAside();
  folder.write("metrics.json", "one");
  folder.write("notes.txt", "mine");
  RunFolder run(folder.path.string());
  const auto before = contents(folder);
  EXPECT_THROW(run.refuseForeignFiles(), Error);
  EXPECT_THROW(run.putAside(), Error);
  EXPECT_EQ(contents(folder), before);
  std::filesystem::remove(folder.path / "notes.txt");
  EXPECT_EQ(run.putAside(), run.file("previous-1"));
}

// A run can resume from checkpoints that were copied to another folder.
TEST(RunFolder, TakesCopiedCheckpoints) {
  const TestFolder folder;
  folder.write("ckpt/step_00000005/DONE", "");
  const RunFolder run(folder.path.string());
  EXPECT_TRUE(std::filesystem::exists(folder.path / "ckpt/step_00000005/DONE"));
}

} // namespace
