// tests/unit/runtime/ThreadPoolTest.cpp - threads that run kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/ThreadPool.h"
#include "support/Error.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <sched.h>
#include <thread>

using namespace tessera;
using namespace tessera::runtime;
using namespace std::chrono_literals;

TEST(ThreadPool, RunsEachItemOnceAndRethrows) {
  ThreadPool pool(4);
  EXPECT_EQ(pool.threads(), 4);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::atomic<int>> seen(37);
    pool.run(37, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        ++seen[size_t(i)];
    });
    for (auto &count : seen)
      ASSERT_EQ(count, 1);
  }
  EXPECT_THROW(pool.run(8,
                        [](int64_t begin, int64_t) {
                          if (begin == 5)
                            throw Error("five");
                        }),
               Error);
  pool.run(0, [](int64_t, int64_t) { FAIL(); });
}

TEST(ThreadPool, SeveralCallersAtOnce) {
  ThreadPool pool(3);
  std::atomic<int> total{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round)
        pool.run(
            10, [&](int64_t begin, int64_t end) { total += int(end - begin); });
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(total, 4000);
}

TEST(ThreadPool, ABodyRunsItsOwnItemsAlone) {
  ThreadPool pool(3);
  std::atomic<int> total{0};
  pool.run(6, [&](int64_t, int64_t) {
    const std::thread::id own = std::this_thread::get_id();
    pool.run(5, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(std::this_thread::get_id(), own);
      total += int(end - begin);
    });
  });
  EXPECT_EQ(total, 30);
}

namespace {

// Runs two items that last until both have begun. False if the helper took none
// within 20 ms: another process may have its core. `last` is called at the end
// of an item of the helper.
bool runsTogether(ThreadPool &pool, const std::function<void()> &last = {}) {
  const std::thread::id launching = std::this_thread::get_id();
  const auto end = std::chrono::steady_clock::now() + 20ms;
  std::atomic<int> begun{0};
  std::atomic<bool> both{false};
  pool.run(2, [&](int64_t, int64_t) {
    ++begun;
    while (begun < 2 && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    if (std::chrono::steady_clock::now() < end)
      both = true;
    if (last && std::this_thread::get_id() != launching)
      last();
  });
  return both;
}

// Calls `round` until it returns true 5 times, for at most 30 seconds.
void expectFiveTimes(const std::function<bool()> &round) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  int times = 0;
  while (times < 5 && std::chrono::steady_clock::now() < end)
    times += round();
  EXPECT_EQ(times, 5);
}

} // namespace

TEST(ThreadPool, WakesHelpersThatSleep) {
  ThreadPool pool(2);
  expectFiveTimes([&] {
    std::this_thread::sleep_for(2ms); // helpers spin for 0.1 ms
    return runsTogether(pool);
  });
}

// The launching thread ends its item first and falls asleep.
TEST(ThreadPool, WaitsForAHelperThatTakesLong) {
  ThreadPool pool(2);
  std::atomic<bool> ended{false};
  expectFiveTimes([&] {
    ended = false;
    bool called = false;
    runsTogether(pool, [&] {
      called = true;
      std::this_thread::sleep_for(3ms);
      ended = true;
    });
    EXPECT_EQ(called, ended);
    return called;
  });
}

namespace {

void computeFor(std::chrono::microseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
  }
}

// Restores the cores of this thread at the end.
class Cores {
public:
  Cores() { EXPECT_EQ(::sched_getaffinity(0, sizeof before, &before), 0); }
  ~Cores() { EXPECT_EQ(::sched_setaffinity(0, sizeof before, &before), 0); }
  // Limits this thread, and those that it starts, to one of the cores that it
  // had: `index` counts them from 0.
  void use(int index) const {
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &before) && index-- == 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
        return;
      }
    FAIL() << "these tests need two cores";
  }

private:
  cpu_set_t before;
};

// Launches items of 0.3 ms until no helper is allowed, for at most 10 seconds.
bool helpersSleepAtLast(ThreadPool &pool) {
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (pool.allowedHelpers() && std::chrono::steady_clock::now() < end)
    pool.run(8, [](int64_t, int64_t) { computeFor(300us); });
  return !pool.allowedHelpers();
}

} // namespace

// With one core for both threads the helper takes it from the launching thread,
// and the pool must notice.
TEST(ThreadPool, AHelperOnTheCoreOfTheLaunchingThreadIsSentToSleep) {
  const Cores cores;
  cores.use(0);
  ThreadPool pool(2); // its threads inherit the core
  EXPECT_TRUE(helpersSleepAtLast(pool));
}

TEST(ThreadPool, AHelperWhoseCoreAnotherThreadUsesIsSentToSleep) {
  const Cores cores;
  cores.use(1);
  ThreadPool pool(2);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop)
      computeFor(100us);
  });
  cores.use(0);
  EXPECT_TRUE(helpersSleepAtLast(pool));
  stop = true;
  other.join();
}

// An item that sleeps takes longer than it computes, as one whose core the host
// of a virtual machine took. No thread preempted it, so the helper continues.
// On a busy machine the helper may be preempted, too, so one of many pools
// counts.
TEST(ThreadPool, AHelperWithoutACoreOrAPreemptionContinues) {
  const std::thread::id launching = std::this_thread::get_id();
  const auto end = std::chrono::steady_clock::now() + 20s;
  bool continued = false;
  while (!continued && std::chrono::steady_clock::now() < end) {
    ThreadPool pool(2);
    std::atomic<int> helped{0};
    int allowed = 0;
    for (int round = 0; round < 5; ++round) {
      pool.run(2, [&](int64_t, int64_t) {
        helped += std::this_thread::get_id() != launching;
        std::this_thread::sleep_for(2ms);
      });
      allowed += pool.allowedHelpers();
    }
    continued = helped >= 3 && allowed == 5;
  }
  EXPECT_TRUE(continued);
}

TEST(ThreadPool, TheProcesssPoolGetsAnotherNumberOfThreads) {
  const int before = ThreadPool::instance().threads();
  for (const int threads : {before + 2, before + 1, before + 2}) {
    ThreadPool::setInstanceThreads(threads);
    EXPECT_EQ(ThreadPool::instance().threads(), threads);
  }
  ThreadPool::setInstanceThreads(before);
  EXPECT_EQ(ThreadPool::instance().threads(), before);
}
