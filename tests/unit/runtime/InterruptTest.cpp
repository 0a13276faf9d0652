// tests/unit/runtime/InterruptTest.cpp - Ctrl-C while kernels run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/Kernel.h"
#include "runtime/device/cpu/Fault.h"
#include "runtime/device/cpu/Parallel.h"
#include "support/File.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <unistd.h>

using namespace tessera;
using namespace tessera::runtime;

namespace {

std::atomic<int> signalsOfHost{0};
void notingHandler(int) { ++signalsOfHost; }
void notingHandlerWithInfo(int, siginfo_t *, void *) { ++signalsOfHost; }
struct sigaction wrapped = {};
void wrappingHandler(int signal, siginfo_t *info, void *context) {
  wrapped.sa_sigaction(signal, info, context);
}

void setInterruptHandler(void (*handler)(int), int flags = 0) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(SIGINT, &action, nullptr);
}

// A grid of 5 x 2 programs, the two of one column without end, while another
// thread presses Ctrl-C as soon as one of those runs.
Fault endlessLaunch(int presses = 1) {
  const CpuModule module(readFile(TESSERA_FAULTY_KERNEL), "tessera_entry");
  std::vector<int64_t> out(10);
  std::atomic<int64_t> running{0};
  const int64_t slots[4] = {reinterpret_cast<int64_t>(out.data()), 3, 'e',
                            reinterpret_cast<int64_t>(&running)};
  std::thread finger([&] {
    while (!running)
      std::this_thread::yield();
    for (int i = 0; i < presses; ++i) {
      // A second signal before the first is handled would be none.
      const int noted = signalsOfHost;
      ::kill(::getpid(), SIGINT);
      while (signalsOfHost == noted)
        std::this_thread::yield();
    }
  });
  const Fault fault = runGrid(module, slots, {5, 2, 1}, 64);
  finger.join();
  return fault;
}

class Interrupt : public testing::Test {
protected:
  Interrupt() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ::alarm(120); // an endless test ends
    signalsOfHost = 0;
    interruptLaunches(true);
  }
  ~Interrupt() override {
    interruptLaunches(false);
    ::signal(SIGINT, SIG_DFL);
    ::alarm(0);
  }
};
using InterruptDeathTest = Interrupt;

} // namespace

TEST_F(Interrupt, EndsAnEndlessKernelAfterTheHostsHandler) {
  setInterruptHandler(notingHandler);
  for (int round = 1; round <= 20; ++round) {
    const Fault fault = endlessLaunch();
    EXPECT_EQ(fault.signal, SIGINT);
    EXPECT_NE(fault.text().find("was interrupted"), std::string::npos);
    EXPECT_EQ(signalsOfHost, round);
  }
}

// One of the two programs in each of the pool's threads.
TEST_F(Interrupt, EndsTheKernelsOfAllThreads) {
  setInterruptHandler(notingHandler);
  const ScopedParallelFor four(
      [](int64_t count, const std::function<void(int64_t, int64_t)> &body) {
        std::vector<std::thread> threads;
        for (int64_t i = 0; i < count; ++i)
          threads.emplace_back([&body, i] { body(i, i + 1); });
        for (std::thread &thread : threads)
          thread.join();
      },
      [] { return 4; });
  for (int round = 1; round <= 20; ++round)
    EXPECT_EQ(endlessLaunch().signal, SIGINT);
  EXPECT_EQ(signalsOfHost, 20);
}

TEST_F(Interrupt, AHandlerThatIsChangedOrWrapsOursIsCalled) {
  setInterruptHandler(notingHandler);
  EXPECT_EQ(endlessLaunch().signal, SIGINT);
  struct sigaction action = {};
  action.sa_sigaction = notingHandlerWithInfo;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGINT, &action, nullptr);
  EXPECT_EQ(endlessLaunch().signal, SIGINT);
  EXPECT_EQ(signalsOfHost, 2);
  action.sa_sigaction = wrappingHandler;
  ::sigaction(SIGINT, &action, &wrapped); // ours
  EXPECT_EQ(endlessLaunch().signal, SIGINT);
  EXPECT_EQ(signalsOfHost, 3);
}

// Between launches it is the host's alone, and no launch learns of it later.
TEST_F(Interrupt, OneBetweenLaunchesEndsNone) {
  setInterruptHandler(notingHandler);
  EXPECT_EQ(endlessLaunch().signal, SIGINT);
  ::raise(SIGINT);
  EXPECT_EQ(signalsOfHost, 2);
  const CpuModule module(readFile(TESSERA_FAULTY_KERNEL), "tessera_entry");
  std::vector<int64_t> out(10);
  const int64_t slots[4] = {reinterpret_cast<int64_t>(out.data()), 9, 'e', 0};
  EXPECT_FALSE(runGrid(module, slots, {5, 2, 1}, 64).happened());
  EXPECT_EQ(out, std::vector<int64_t>(10, 1));
}

// A program without a handler, and one whose handler is for one signal.
TEST_F(InterruptDeathTest, OtherwiseTheProcessEnds) {
  EXPECT_EXIT(
      {
        setInterruptHandler(SIG_DFL);
        static_cast<void>(endlessLaunch());
      },
      testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(
      {
        setInterruptHandler(notingHandler, int(SA_RESETHAND));
        static_cast<void>(endlessLaunch(2));
      },
      testing::KilledBySignal(SIGINT), "");
}
