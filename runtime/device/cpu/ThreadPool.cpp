// runtime/device/cpu/ThreadPool.cpp - threads that run kernels unless a host
// library lends its own.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/ThreadPool.h"

#include "support/Options.h"

#include <algorithm>
#include <ctime>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

namespace tessera::runtime {

// Longer than the time between most launches of a training step, and shorter
// than a time slice of the system. The launching thread spins as long for the
// last items, then leaves its core to a helper that may need one.
static constexpr uint64_t spinNanoseconds = 100'000;
// A helper that waited longer than this for a core lost it; interrupts take
// less.
static constexpr uint64_t lossNanoseconds = 200'000;

static uint64_t nanoseconds(clockid_t clock) {
  timespec now = {};
  ::clock_gettime(clock, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

static uint64_t wallTime() { return nanoseconds(CLOCK_MONOTONIC); }

// How often the system gave this thread's core to another thread although this
// one could have continued.
static int64_t preemptions() {
  rusage usage = {};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

static void relax() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

// Counts forks in the child; getpid() would be a system call at every launch.
static std::atomic<unsigned> forks{0};

static unsigned watchForks() {
  static const int once = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });
  static_cast<void>(once);
  return forks;
}

ThreadPool::ThreadPool(int threads)
    : forksAtStart(watchForks()), limit(threads - 1), allowed(threads - 1) {
  for (int i = 1; i < threads; ++i)
    helpers.push_back(std::make_unique<Helper>());
  for (int i = 0; i + 1 < threads; ++i)
    helpers[size_t(i)]->thread = std::thread([this, i] { help(i); });
}

ThreadPool::~ThreadPool() {
  stopping = true;
  for (const auto &helper : helpers) {
    ++helper->wakeups;
    helper->wakeups.notify_all();
  }
  for (const auto &helper : helpers)
    helper->thread.join();
}

static std::atomic<ThreadPool *> &current() {
  static std::atomic<ThreadPool *> pool{nullptr};
  return pool;
}

ThreadPool &ThreadPool::instance() {
  if (ThreadPool *pool = current().load(std::memory_order_acquire))
    return *pool;
  static std::mutex mutex;
  std::lock_guard<std::mutex> guard(mutex);
  if (!current()) {
    int threads = int(std::min<int64_t>(optionNumber(Option::Threads), 4096));
    if (!threads)
      threads = int(std::max(1u, std::thread::hardware_concurrency()));
    setInstanceThreads(threads);
  }
  return *current();
}

void ThreadPool::setInstanceThreads(int threads) {
  ThreadPool *const before = current();
  if (before && before->threads() == threads)
    return;
  // The pool before is kept: another thread may be running on it. Its helpers
  // sleep.
  static std::mutex mutex;
  static std::vector<std::unique_ptr<ThreadPool>> *const all =
      new std::vector<std::unique_ptr<ThreadPool>>;
  std::lock_guard<std::mutex> guard(mutex);
  for (const auto &pool : *all)
    if (pool->threads() == threads) {
      current() = pool.get();
      return;
    }
  all->push_back(std::make_unique<ThreadPool>(threads));
  current() = all->back().get();
}

bool ThreadPool::mayTake(int index) const {
  return index < allowed && open > 0;
}

void ThreadPool::runItem(int64_t item) {
  try {
    (*body)(item, item + 1);
  } catch (...) {
    std::lock_guard<std::mutex> guard(errorMutex);
    if (!error)
      error = std::current_exception();
  }
  if (unfinished.fetch_sub(1, std::memory_order_seq_cst) != 1)
    return;
  ++ended;
  if (launcherSleeps)
    ended.notify_all();
}

// Takes items until none is open.
void ThreadPool::drain() {
  int64_t left = open.load(std::memory_order_acquire);
  while (left > 0) {
    if (!open.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel,
                                    std::memory_order_acquire))
      continue;
    runItem(total - left);
    left = open.load(std::memory_order_acquire);
  }
}

void ThreadPool::help(int index) {
  while (!stopping) {
    if (!spin(index)) {
      sleep(index);
      continue;
    }
    const int64_t preempted = preemptions();
    const uint64_t wall = wallTime(),
                   used = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    drain();
    const uint64_t wallPassed = wallTime() - wall,
                   usedPassed = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - used;
    computedTime += usedPassed;
    // Without a preemption the host of a virtual machine took the core. It
    // takes that of the launching thread as often, so sleeping would save
    // nothing.
    if (wallPassed > usedPassed + lossNanoseconds && preemptions() != preempted)
      lostTime += wallPassed - usedPassed;
  }
}

// Waits for items. False if there were none for a while, or if this thread
// shares the core of the launching thread: then it must not spin.
bool ThreadPool::spin(int index) {
  const uint64_t begin = wallTime();
  while (index < allowed.load(std::memory_order_relaxed) && !stopping) {
    for (int i = 0; i < 64; ++i) {
      if (open.load(std::memory_order_relaxed) > 0)
        return true;
      relax();
    }
    if (running && ::sched_getcpu() == launcherCore) {
      ++shared;
      return false;
    }
    if (wallTime() - begin > spinNanoseconds)
      return false;
  }
  return false;
}

// Every wake-up that run() decides on after it has made items open is seen:
// either here, before the wait, or by run(), which sees `asleep`.
void ThreadPool::sleep(int index) {
  Helper &self = *helpers[size_t(index)];
  const uint32_t seen = self.wakeups;
  self.asleep = true;
  if (!mayTake(index) && !stopping)
    self.wakeups.wait(seen);
  self.asleep = false;
}

void ThreadPool::wakeHelpers(int64_t items) {
  const int64_t wanted = std::min<int64_t>(items, allowed);
  for (int64_t i = 0; i < wanted; ++i) {
    Helper &helper = *helpers[size_t(i)];
    if (!helper.asleep)
      continue;
    ++helper.wakeups;
    helper.wakeups.notify_one();
  }
}

void ThreadPool::waitForHelpers() {
  const uint64_t begin = wallTime();
  while (unfinished.load(std::memory_order_acquire)) {
    for (int i = 0; i < 64; ++i) {
      if (!unfinished.load(std::memory_order_acquire))
        return;
      relax();
    }
    if (wallTime() - begin > spinNanoseconds)
      break;
  }
  launcherSleeps = true;
  while (true) {
    const uint32_t seen = ended;
    if (!unfinished.load(std::memory_order_seq_cst))
      break;
    ended.wait(seen);
  }
  launcherSleeps = false;
}

void ThreadPool::run(int64_t count, const Body &work) {
  const uint64_t now = helpers.empty() || count <= 1 ? 0 : wallTime();
  if (!now || forks != forksAtStart || running.exchange(true)) {
    for (int64_t i = 0; i < count; ++i)
      work(i, i + 1);
    return;
  }
  if (lostTime)
    limit.helped(now, computedTime.exchange(0), lostTime.exchange(0));
  if (const uint64_t seen = shared; seen != knownShared) {
    knownShared = seen;
    limit.lostCore(now);
  }
  allowed = limit.allowed(now);
  launcherCore = ::sched_getcpu();
  body = &work;
  total = count;
  error = nullptr;
  unfinished = count;
  open.store(count, std::memory_order_seq_cst);
  wakeHelpers(count - 1);
  drain();
  waitForHelpers();
  body = nullptr;
  const std::exception_ptr failed = error;
  running = false;
  if (failed)
    std::rethrow_exception(failed);
}

} // namespace tessera::runtime
