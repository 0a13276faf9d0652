// tests/unit/support/FileTest.cpp - tests of support/File.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/File.h"

#include "support/Error.h"
#include "support/Sync.h"
#include "tests/unit/support/TemporaryFolder.h"
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace tessera;
namespace fs = std::filesystem;

static size_t entries(const fs::path &folder) {
  return size_t(std::distance(fs::directory_iterator(folder), {}));
}

TEST(File, WritesAndReadsBack) {
  TemporaryFolder folder;
  std::string bytes("a\0b\xff", 4);
  writeFile(folder.path() / "x", bytes);
  EXPECT_EQ(readFile(folder.path() / "x"), bytes);
  writeFile(folder.path() / "x", "shorter");
  EXPECT_EQ(readFile(folder.path() / "x"), "shorter");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(File, MissingFilesAreErrorsWithAHint) {
  TemporaryFolder folder;
  EXPECT_FALSE(tryReadFile(folder.path() / "none"));
  EXPECT_FALSE(tryReadFile(folder.path())); // a folder
  try {
    readFile(folder.path() / "none");
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(error.message.find("No such file"), std::string::npos);
    EXPECT_FALSE(error.hint.empty());
  }
  EXPECT_THROW(writeFile(folder.path() / "none" / "x", ""), Error);
  try {
    readFile(folder.path());
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.hint, "name a file inside the folder");
  }
}

// /proc has nothing to sync, which is not an error; a folder that is not there
// is.
TEST(File, FoldersThatCannotBeSyncedAreNoErrors) {
  TemporaryFolder folder;
  EXPECT_EQ(syncFolder(folder.path()), 0);
  EXPECT_EQ(syncFolder("/proc"), 0);
  EXPECT_EQ(syncFolder(folder.path() / "none"), ENOENT);
}

// Another user of a shared folder cannot stop a write by taking its names.
TEST(File, TemporaryNamesCannotBePredicted) {
  TemporaryFolder folder;
  for (int i = 0; i < 2000; ++i)
    ASSERT_EQ(::symlink("/nonexistent",
                        (folder.path() / (".x." + std::to_string(::getpid()) +
                                          "." + std::to_string(i) + ".tmp"))
                            .c_str()),
              0);
  EXPECT_NO_THROW(writeFile(folder.path() / "x", "text"));
  EXPECT_EQ(readFile(folder.path() / "x"), "text");
}

TEST(File, WithoutDescriptorsTheHintNamesTheLimit) {
  TemporaryFolder folder;
  writeFile(folder.path() / "x", "");
  rlimit old;
  ::getrlimit(RLIMIT_NOFILE, &old);
  rlimit none = old;
  none.rlim_cur = 0;
  ::setrlimit(RLIMIT_NOFILE, &none);
  std::string hints[2];
  try {
    readFile(folder.path() / "x");
  } catch (const Error &error) {
    hints[0] = error.hint;
  }
  try {
    writeFile(folder.path() / "y", "");
  } catch (const Error &error) {
    hints[1] = error.hint;
  }
  ::setrlimit(RLIMIT_NOFILE, &old);
  for (const std::string &hint : hints)
    EXPECT_NE(hint.find("no free file descriptors (its limit is 0)"),
              std::string::npos)
        << hint;
}

TEST(File, AReaderNeverSeesHalfAFile) {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "x";
  const std::string a(300000, 'a'), b(200000, 'b');
  writeFile(path, a);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; i < 40; ++i)
      writeFile(path, i % 2 ? a : b);
    stop = true;
  });
  while (!stop) {
    std::string seen = readFile(path);
    ASSERT_TRUE(seen == a || seen == b) << seen.size();
  }
  writer.join();
}

// A write that fails part way leaves the old file and no temporary.
TEST(File, AFailedWriteLeavesTheOldFile) {
  TemporaryFolder folder;
  writeFile(folder.path() / "x", "old");
  rlimit old;
  ::getrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit small = {1000, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(writeFile(folder.path() / "x", std::string(5000, 'n')), Error);
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(readFile(folder.path() / "x"), "old");
  EXPECT_EQ(entries(folder.path()), 1u);
}

// What --output names is written, never replaced by a file.
TEST(File, OutputKeepsLinks) {
  TemporaryFolder folder;
  const fs::path target = folder.path() / "target", link = folder.path() / "a",
                 chain = folder.path() / "b", dangling = folder.path() / "c";
  writeFile(target, "old");
  fs::create_symlink("target", link);
  fs::create_symlink(link, chain);
  fs::create_symlink("made", dangling);
  writeOutput(chain, "new");
  EXPECT_TRUE(fs::is_symlink(chain));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(readFile(target), "new");
  writeOutput(dangling, "made through it");
  EXPECT_TRUE(fs::is_symlink(dangling));
  EXPECT_EQ(readFile(folder.path() / "made"), "made through it");
  fs::create_symlink("round", folder.path() / "round");
  EXPECT_THROW(writeOutput(folder.path() / "round", ""), Error);
  writeOutput(folder.path() / "plain", "plain");
  EXPECT_EQ(readFile(folder.path() / "plain"), "plain");
  EXPECT_EQ(entries(folder.path()), 7u); // no temporary
}

TEST(File, OutputGoesThroughPipesAndDevices) {
  TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string bytes(300000, 'x'); // more than a pipe holds
  std::string got;
  std::thread reader([&] { got = readFile(pipe); });
  writeOutput(pipe, bytes);
  reader.join();
  EXPECT_EQ(got, bytes);
  EXPECT_TRUE(fs::is_fifo(pipe));
  writeOutput("/dev/null", bytes);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THROW(writeOutput("/dev/full", bytes), Error);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_THROW(writeOutput(folder.path(), bytes), Error);
}

// A reader that leaves early is an error, not the end of this process.
TEST(File, OutputToAPipeThatNobodyReads) {
  TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread reader(
      [&] { UniqueFd opened(::open(pipe.c_str(), O_RDONLY | O_CLOEXEC)); });
  try {
    writeOutput(pipe, std::string(300000, 'x'));
    ADD_FAILURE() << "written without a reader";
  } catch (const Error &error) {
    EXPECT_NE(error.message.find("Broken pipe"), std::string::npos);
    EXPECT_FALSE(error.hint.empty());
  }
  reader.join();
  sigset_t pending;
  ::sigpending(&pending);
  EXPECT_FALSE(sigismember(&pending, SIGPIPE));
}

// What `> file` has printed before stays before it.
TEST(File, OutputToADescriptorContinuesAtItsOffset) {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "x";
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(fd.get(), "one ", 4), 4);
  writeOutput("/dev/fd/" + std::to_string(fd.get()), "two ");
  writeOutput("/proc/self/fd/" + std::to_string(fd.get()), "three ");
  ASSERT_EQ(::write(fd.get(), "four", 4), 4);
  EXPECT_EQ(readFile(path), "one two three four");
  EXPECT_EQ(entries(folder.path()), 1u);
}

// A device without an end is an error before memory ends; what is named may be
// a pipe.
TEST(File, AnEndlessDeviceIsRefused) {
  try {
    readFile("/dev/zero");
    FAIL() << "nothing was thrown";
  } catch (const Error &error) {
    EXPECT_EQ(error.message, "cannot read /dev/zero: it has no end that comes "
                             "before 256 MiB");
    EXPECT_EQ(error.hint, "name a file");
  }
  TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string bytes(size_t(1) << 20, 'x');
  std::thread writer([&] { writeOutput(pipe, bytes); });
  EXPECT_EQ(readFile(pipe), bytes);
  writer.join();
}

TEST(File, LookingForAFileDoesNotWaitForAPipe) {
  TemporaryFolder folder;
  const fs::path pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(tryReadFile(pipe));
  EXPECT_FALSE(tryReadFile("/dev/zero"));
  writeFile(folder.path() / "x", "x");
  fs::create_symlink("x", folder.path() / "link");
  EXPECT_EQ(tryReadFile(folder.path() / "link"), "x");
}

TEST(File, FolderChecks) {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "a" / "b";
  EXPECT_EQ(checkPrivateFolder(path).state, FolderState::Missing);
  makePrivateFolder(path);
  makePrivateFolder(path);
  EXPECT_EQ(checkPrivateFolder(path).state, FolderState::Good);
  ::chmod(path.c_str(), 0777);
  FolderCheck check = checkPrivateFolder(path);
  EXPECT_EQ(check.state, FolderState::WritableByOthers);
  EXPECT_EQ(check.hint, "run: chmod go-w " + path.string());
  ::chmod(path.c_str(), 0720);
  EXPECT_EQ(checkPrivateFolder(path).state, FolderState::WritableByOthers);
  writeFile(folder.path() / "file", "");
  EXPECT_EQ(checkPrivateFolder(folder.path() / "file").state,
            FolderState::NotAFolder);
  EXPECT_THROW(makePrivateFolder(folder.path() / "file" / "c"), Error);
}

TEST(File, LocksExclude) {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "lock";
  // Atomic, because the thread sanitizer does not know locks of files.
  std::atomic<int> inside{0}, most{0}, rounds{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        FileLock lock = FileLock::acquire(path);
        ASSERT_TRUE(lock.locked());
        most = std::max<int>(most, ++inside);
        std::this_thread::yield();
        --inside;
        ++rounds;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(rounds, 100);
  EXPECT_FALSE(FileLock::acquire(folder.path() / "none" / "lock").locked());
  {
    FileLock lock = FileLock::acquire(path);
    EXPECT_FALSE(FileLock::acquireWithin(std::chrono::milliseconds(1), path));
  }
  EXPECT_TRUE(
      FileLock::acquireWithin(std::chrono::milliseconds(1), path)->locked());
  std::optional<FileLock> held = FileLock::acquire(path);
  std::thread owner([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    held.reset();
  });
  auto waited = FileLock::acquireWithin(std::chrono::seconds(60), path);
  owner.join();
  EXPECT_TRUE(waited && waited->locked());
}
