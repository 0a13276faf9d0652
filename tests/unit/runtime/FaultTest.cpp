// tests/unit/runtime/FaultTest.cpp - kernels that the processor stops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/Fault.h"
#include "runtime/Kernel.h"
#include "runtime/device/cpu/Parallel.h"
#include "support/File.h"

#include <gtest/gtest.h>

#include <csignal>
#include <sys/mman.h>
#include <unistd.h>
#include <xmmintrin.h>

using namespace tessera;
using namespace tessera::runtime;

namespace {

const CpuModule &faulty() {
  static const CpuModule module(readFile(TESSERA_FAULTY_KERNEL),
                                "tessera_entry");
  return module;
}

// Addresses that nothing may touch.
char *forbidden() {
  static void *const pages =
      ::mmap(nullptr, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return static_cast<char *>(pages);
}

// A grid of 5 x 2 programs, one column of which does `what`.
Fault launch(int column, char what, const void *where,
             std::vector<int64_t> *ends = nullptr) {
  std::vector<int64_t> out(10);
  const int64_t slots[4] = {reinterpret_cast<int64_t>(out.data()), column, what,
                            reinterpret_cast<int64_t>(where)};
  const Fault fault = runGrid(faulty(), slots, {5, 2, 1}, 64);
  if (ends)
    *ends = out;
  return fault;
}

// Ends the process without a word, as a handler of the host might.
void hostHandler(int, siginfo_t *, void *) { ::_exit(42); }
void plainHandler(int) { ::_exit(43); }

void setHandler(int signal, void (*handler)(int, siginfo_t *, void *)) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(signal, &action, nullptr);
}

void readForbidden() { static_cast<void>(*(volatile char *)forbidden()); }

// Each death test begins as a new process, in which no handler is set yet.
class CpuFaultDeathTest : public testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST(CpuFault, AnAccessIsReportedAndNothingElseHappens) {
  const Fault read = launch(3, 'r', forbidden() + 24);
  EXPECT_EQ(read.signal, SIGSEGV);
  EXPECT_FALSE(read.writes);
  EXPECT_EQ(read.address, reinterpret_cast<uintptr_t>(forbidden() + 24));
  EXPECT_EQ(read.pid[0], 3u);
  EXPECT_LE(read.pid[1], 1u);
  EXPECT_EQ(read.text().substr(0, 12), "program (3, ");
  EXPECT_NE(read.text().find(", 0) reads memory that is not there"),
            std::string::npos);
  const Fault write = launch(0, 'w', forbidden());
  EXPECT_TRUE(write.writes);
  EXPECT_NE(write.text().find("writes to memory"), std::string::npos);
  // No address has these bits.
  const Fault wild =
      launch(1, 'r', reinterpret_cast<const void *>(0x1234567812345678));
  EXPECT_TRUE(wild.happened());
  EXPECT_EQ(wild.address, 0u);
  EXPECT_EQ(launch(4, '/', nullptr).text().substr(0, 12), "program (4, ");
  EXPECT_NE(launch(4, '/', nullptr).text().find("divides by zero"),
            std::string::npos);
}

TEST(CpuFault, TheLaunchEndsAndTheNextOneRuns) {
  // Two threads, the second of which comes when the first is done.
  setParallelFor(
      [](int64_t, const std::function<void(int64_t, int64_t)> &body) {
        body(0, 1);
        body(1, 2);
      },
      [] { return 2; });
  std::vector<int64_t> ends;
  EXPECT_TRUE(launch(2, 'w', forbidden(), &ends).happened());
  EXPECT_EQ(ends, (std::vector<int64_t>{1, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
  setParallelFor(nullptr, nullptr);
  for (int round = 0; round < 50; ++round) {
    EXPECT_TRUE(launch(round % 5, 'w', forbidden()).happened());
    EXPECT_FALSE(launch(9, 'w', forbidden(), &ends).happened());
    EXPECT_EQ(ends, std::vector<int64_t>(10, 1));
  }
}

// A handler starts with the default modes of the processor.
TEST(CpuFault, TheFloatingPointModesStay) {
  const unsigned before = _mm_getcsr();
  const unsigned flushing = before | 0x8040; // subnormals are zero
  setParallelFor(
      [](int64_t, const std::function<void(int64_t, int64_t)> &body) {
        body(0, 1);
      },
      [] { return 1; });
  _mm_setcsr(flushing);
  EXPECT_TRUE(launch(2, 'r', forbidden()).happened());
  EXPECT_EQ(_mm_getcsr(), flushing);
  _mm_setcsr(before);
  setParallelFor(nullptr, nullptr);
}

// A fault outside of kernels is none of ours: the default handler ends the
// process.
TEST_F(CpuFaultDeathTest, OtherCodeStillDies) {
  EXPECT_EXIT(
      {
        ::signal(SIGSEGV, SIG_DFL); // a sanitizer has its own
        static_cast<void>(launch(2, 'r', forbidden()));
        readForbidden();
      },
      testing::KilledBySignal(SIGSEGV), "");
  // Also where a kernel called it.
  EXPECT_EXIT(
      {
        ::signal(SIGSEGV, SIG_DFL);
        static_cast<void>(
            launch(2, 'c', reinterpret_cast<const void *>(readForbidden)));
      },
      testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(
      {
        ::signal(SIGFPE, SIG_DFL);
        static_cast<void>(launch(2, 'r', forbidden()));
        ::raise(SIGFPE);
      },
      testing::KilledBySignal(SIGFPE), "");
}

TEST_F(CpuFaultDeathTest, TheHandlerBeforeOursIsCalled) {
  auto run = [](auto after) {
    static_cast<void>(launch(2, 'r', forbidden()));
    after();
    ::_exit(1);
  };
  EXPECT_EXIT(
      {
        setHandler(SIGSEGV, hostHandler);
        run(readForbidden);
      },
      testing::ExitedWithCode(42), "");
  EXPECT_EXIT(
      {
        ::signal(SIGBUS, plainHandler);
        run([] { ::raise(SIGBUS); });
      },
      testing::ExitedWithCode(43), "");
  // One that is sent to a thread is never a fault of the kernel that runs.
  EXPECT_EXIT(
      {
        setHandler(SIGSEGV, hostHandler);
        static_cast<void>(
            launch(2, 's', reinterpret_cast<const void *>(SIGSEGV)));
      },
      testing::ExitedWithCode(42), "");
  EXPECT_EXIT(
      {
        ::signal(SIGFPE, SIG_IGN);
        run([] {
          ::raise(SIGFPE);
          ::_exit(44);
        });
      },
      testing::ExitedWithCode(44), "");
}

} // namespace
