// runtime/device/cpu/ThreadPool.h - threads for hosts that bring none.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tessera::runtime {

class ThreadPool {
public:
  using Body = std::function<void(int64_t, int64_t)>;

  explicit ThreadPool(int threads);
  ~ThreadPool();

  // TESSERA_THREADS threads, or one per core; never destroyed.
  static ThreadPool &instance();

  int threads() const { return int(helpers.size()) + 1; }

  // body(i, i + 1) for every i in [0, count), on the caller and the helpers.
  // Runs on the caller alone while another run is going on, and in a process
  // forked from the one that made the pool: threads are not forked. Rethrows
  // what a body throws.
  void run(int64_t count, const Body &body);

private:
  void help();
  void drain(std::unique_lock<std::mutex> &guard);

  std::vector<std::thread> helpers;
  const unsigned born; // number of forks then
  std::mutex runMutex; // one run at a time

  std::mutex mutex;
  std::condition_variable wake, finished;
  const Body *body = nullptr;
  int64_t next = 0, total = 0, active = 0;
  std::exception_ptr error;
  bool stopping = false;
};

} // namespace tessera::runtime
