// runtime/device/cpu/ThreadPool.h - threads that run kernels unless a host
// library lends its own.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/cpu/HelperLimit.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tessera::runtime {

// The launching thread takes items like the helpers, and waits only for items
// that a helper has begun. A helper that does not run, because another process
// has its core, delays nothing: the launching thread runs its items. Between
// launches helpers spin for `spin`, then sleep.
//
//     launching thread   item 0 | item 2 | item 3 | wait | return
//     helper                  item 1 ............ |
class ThreadPool {
public:
  using Body = std::function<void(int64_t, int64_t)>;

  explicit ThreadPool(int threads);
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;
  ~ThreadPool();

  // Returns the process's pool, made at the first call with TESSERA_THREADS
  // threads, or one for each core. It is never destroyed.
  static ThreadPool &instance();
  // Makes instance() return a pool of so many threads. A launch that another
  // thread has begun ends on the pool before.
  static void setInstanceThreads(int threads);

  int threads() const { return int(helpers.size()) + 1; }

  // Calls body(i, i + 1) for every i in [0, count), on the caller and the
  // helpers, and returns when all calls have returned. Rethrows the first
  // exception of a call. Runs everything on the caller while another run
  // continues, inside of a body, and in a process forked after the pool was
  // made: a fork does not copy threads.
  void run(int64_t count, const Body &body);

  // How many helpers may take items now; tests read it.
  int allowedHelpers() const { return allowed; }

private:
  struct Helper {
    std::thread thread;
    std::atomic<uint32_t> wakeups{0};
    std::atomic<bool> asleep{false};
  };

  void help(int index);
  bool mayTake(int index) const;
  bool spin(int index);
  void sleep(int index);
  void drain();
  void runItem(int64_t item);
  void wakeHelpers(int64_t items);
  void waitForHelpers();

  std::vector<std::unique_ptr<Helper>> helpers;
  const unsigned forksAtStart;
  std::atomic<bool> running{false}, stopping{false};

  // `open` counts the items that no thread has taken. A thread that takes one
  // may read `body` and `total` until it decrements `unfinished`.
  const Body *body = nullptr;
  int64_t total = 0;
  alignas(64) std::atomic<int64_t> open{0};
  alignas(64) std::atomic<int64_t> unfinished{0};
  std::atomic<uint32_t> ended{0}; // changes when the last item ends
  std::atomic<bool> launcherSleeps{false};

  std::mutex errorMutex;
  std::exception_ptr error;

  // Used by the running caller alone, apart from the atomic members.
  HelperLimit limit;
  std::atomic<int> allowed;
  // Nanoseconds since the running caller last noted them: in which helpers
  // computed, and in which they waited for a core.
  std::atomic<uint64_t> computedTime{0}, lostTime{0};
  // How often a helper was on the launching thread's core.
  std::atomic<uint64_t> shared{0};
  uint64_t knownShared = 0;
  std::atomic<int> launcherCore{-1};
};

} // namespace tessera::runtime
