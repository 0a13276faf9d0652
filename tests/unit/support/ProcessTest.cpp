// tests/unit/support/ProcessTest.cpp - tests of support/Process.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Process.h"

#include "support/Error.h"
#include "support/File.h"
#include "tests/unit/support/TemporaryFolder.h"
#include <gtest/gtest.h>

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tessera;
using namespace std::chrono_literals;

static std::vector<std::string> shell(const std::string &script) {
  return {"/bin/sh", "-c", script};
}

static bool alive(pid_t pid) {
  // A killed process may stay a zombie where no process reaps orphans.
  auto stat = tryReadFile("/proc/" + std::to_string(pid) + "/stat");
  return stat && stat->find(") Z") == std::string::npos;
}

template <typename F>
static bool eventually(F &&condition) {
  for (int i = 0; i < 200; ++i) {
    if (condition())
      return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

TEST(Process, CollectsOutputAndStatus) {
  auto result = runCommand(shell("echo out; echo err >&2; exit 3"), 10s);
  EXPECT_EQ(result.output, "out\n");
  EXPECT_EQ(result.errors, "err\n");
  EXPECT_EQ(result.status.code, 3);
  EXPECT_EQ(result.status.text(), "exit status 3");
  EXPECT_FALSE(result.timedOut);
  result = runCommand(shell("kill -SEGV $$"), 10s);
  EXPECT_EQ(result.status.signal, SIGSEGV);
  EXPECT_FALSE(result.status.ok());
}

// Descriptors go to the child's numbers without copies far above them.
TEST(Process, FewDescriptorsAreEnough) {
  rlimit old;
  ::getrlimit(RLIMIT_NOFILE, &old);
  rlimit small = old;
  small.rlim_cur = 32; // this test has no more than that open
  ::setrlimit(RLIMIT_NOFILE, &small);
  std::string output, failure;
  try {
    output = runCommand(shell("echo out"), 10s).output;
  } catch (const Error &error) {
    failure = error.what();
  }
  ::setrlimit(RLIMIT_NOFILE, &old);
  EXPECT_EQ(output, "out\n") << failure;
}

TEST(Process, WithoutDescriptorsTheHintNamesTheLimit) {
  rlimit old;
  ::getrlimit(RLIMIT_NOFILE, &old);
  // Its two numbers are free, and nothing above them.
  const UniqueFd low(::dup(0));
  rlimit small = old;
  small.rlim_cur = rlim_t(low.get()) + 1;
  SpawnOptions options;
  options.arguments = shell("true");
  options.descriptors = {{low.get() + 1, low.get()}};
  ::setrlimit(RLIMIT_NOFILE, &small);
  std::string text;
  try {
    Process::spawn(options).wait();
  } catch (const Error &error) {
    text = error.what();
  }
  ::setrlimit(RLIMIT_NOFILE, &old);
  EXPECT_NE(text.find("cannot start /bin/sh: Too many open files"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("HINT: this process has no free file descriptors"),
            std::string::npos)
      << text;
}

// Sources of all orders: below, at and above the numbers that are wanted.
TEST(Process, DescriptorsOfOverlappingNumbers) {
  std::vector<UniqueFd> files;
  TemporaryFolder folder;
  for (int i = 0; i < 6; ++i) {
    writeFile(folder.path() / "n", std::to_string(i));
    files.emplace_back(
        ::open((folder.path() / "n").c_str(), O_RDONLY | O_CLOEXEC));
  }
  const int first = files[0].get();
  // Each file goes to the number of the next one, the last to the first's.
  std::vector<std::pair<int, int>> descriptors;
  std::string script, wanted;
  for (int i = 0; i < 6; ++i) {
    descriptors.push_back(
        {files[size_t(i + 1) % 6].get(), files[size_t(i)].get()});
    script +=
        "cat /dev/fd/" + std::to_string(files[size_t(i + 1) % 6].get()) + ";";
    wanted += std::to_string(i);
  }
  ASSERT_GE(first, 3);
  EXPECT_EQ(runCommand(shell(script), 10s, {}, descriptors).output, wanted);
}

TEST(Process, EnvironmentIsAddedAndReplaced) {
  ::setenv("TESSERA_TEST_VALUE", "old", 1);
  auto result = runCommand(shell("echo $TESSERA_TEST_VALUE $HOME"), 10s,
                           {"TESSERA_TEST_VALUE=new", "HOME=/h"});
  ::unsetenv("TESSERA_TEST_VALUE");
  EXPECT_EQ(result.output, "new /h\n");
}

TEST(Process, AToolSeesAnEmptyFolder) {
  TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  writeFile("kernel.py", "here");
  writeFile("tool", "#!/bin/sh\nls -a | wc -l; pwd; touch made\n");
  std::filesystem::permissions("tool", std::filesystem::perms::owner_all);
  const auto run = [] { return runTool({"./tool"}, 10s); };
  const std::string first = run().output, second = run().output;
  std::filesystem::current_path(before);
  // "." and ".."; another folder each time, which is gone afterwards.
  EXPECT_EQ(first.substr(0, 3), "2\n/");
  EXPECT_EQ(second.substr(0, 3), "2\n/");
  EXPECT_NE(first, second);
  EXPECT_FALSE(std::filesystem::exists(first.substr(2, first.size() - 3)));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "made"));
  EXPECT_THROW(runTool({"./tool-that-is-missing"}, 1s), Error);
}

TEST(Process, MissingProgramIsAnError) {
  EXPECT_THROW(runCommand({"/nonexistent/program"}, 1s), Error);
}

// The shell waits for a grandchild: both have to go.
TEST(Process, TimeOutKillsTheGroup) {
  TemporaryFolder folder;
  auto start = std::chrono::steady_clock::now();
  auto result = runCommand(shell("sleep 60 & echo $!; wait"), 300ms);
  EXPECT_TRUE(result.timedOut);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
  EXPECT_EQ(result.status.signal, SIGKILL);
  pid_t grandchild = std::stoi(result.output);
  EXPECT_TRUE(eventually([&] { return !alive(grandchild); }));
}

TEST(Process, DescriptorsMayCross) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd read(ends[0]), write(ends[1]);
  int other[2];
  ASSERT_EQ(::pipe2(other, O_CLOEXEC), 0);
  UniqueFd otherRead(other[0]), otherWrite(other[1]);
  // Every wanted number is one that another entry uses as its source.
  SpawnOptions options;
  options.arguments = shell("echo first >&" + std::to_string(other[1]) +
                            "; echo second >&" + std::to_string(ends[1]));
  options.descriptors = {{other[1], ends[1]}, {ends[1], other[1]}};
  Process process = Process::spawn(options);
  EXPECT_TRUE(process.wait().ok());
  char buffer[16];
  EXPECT_EQ(::read(read.get(), buffer, 16), 6);
  EXPECT_EQ(std::string(buffer, 6), "first\n");
  EXPECT_EQ(::read(otherRead.get(), buffer, 16), 7);
  EXPECT_EQ(std::string(buffer, 7), "second\n");
}

TEST(Process, DestructionKills) {
  pid_t pid;
  {
    SpawnOptions options;
    options.arguments = shell("sleep 60");
    Process process = Process::spawn(options);
    pid = process.pid();
    EXPECT_EQ(::getpgid(pid), pid);
    EXPECT_FALSE(process.wait(10ms));
  }
  EXPECT_FALSE(alive(pid));
}

TEST(Process, ChildEndsWhenThePeerCloses) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  UniqueFd ours(ends[0]), theirs(ends[1]);
  pid_t pid = ::fork();
  if (pid == 0) {
    ours.reset();
    ::setpgid(0, 0);
    exitWhenPeerCloses(theirs.get());
    while (true)
      ::pause();
  }
  theirs.reset();
  std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(alive(pid));
  ours.reset();
  int raw = 0;
  EXPECT_EQ(::waitpid(pid, &raw, 0), pid);
  EXPECT_TRUE(WIFSIGNALED(raw) && WTERMSIG(raw) == SIGKILL);
}

TEST(Process, KnowsItsOwnFile) {
  EXPECT_EQ(executablePath().filename(), "support_test");
  EXPECT_EQ(libraryPath(reinterpret_cast<const void *>(&shell)),
            executablePath());
}
