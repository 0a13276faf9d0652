// runtime/device/cpu/ThreadPool.cpp - threads for hosts that bring none.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/ThreadPool.h"

#include "support/Options.h"

#include <algorithm>
#include <atomic>
#include <pthread.h>

namespace tessera::runtime {

// Counts forks in the child; getpid() would be a system call at every launch.
static std::atomic<unsigned> forks{0};

static unsigned watchForks() {
  static const int once = ::pthread_atfork(nullptr, nullptr, [] { ++forks; });
  static_cast<void>(once);
  return forks;
}

ThreadPool::ThreadPool(int threads) : born(watchForks()) {
  for (int i = 1; i < threads; ++i)
    helpers.emplace_back([this] { help(); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> guard(mutex);
    stopping = true;
  }
  wake.notify_all();
  for (std::thread &helper : helpers)
    helper.join();
}

ThreadPool &ThreadPool::instance() {
  static ThreadPool *const pool = [] {
    int threads = int(std::min<int64_t>(optionNumber(Option::Threads), 4096));
    if (!threads)
      threads = int(std::max(1u, std::thread::hardware_concurrency()));
    return new ThreadPool(threads);
  }();
  return *pool;
}

// Takes items until none is left; the lock is held outside of the body.
void ThreadPool::drain(std::unique_lock<std::mutex> &guard) {
  ++active;
  while (next < total) {
    const int64_t item = next++;
    const Body &work = *body;
    guard.unlock();
    std::exception_ptr failed;
    try {
      work(item, item + 1);
    } catch (...) {
      failed = std::current_exception();
    }
    guard.lock();
    if (failed && !error)
      error = failed;
  }
  if (--active == 0)
    finished.notify_all();
}

void ThreadPool::help() {
  std::unique_lock<std::mutex> guard(mutex);
  while (true) {
    wake.wait(guard, [&] { return stopping || next < total; });
    if (stopping)
      return;
    drain(guard);
  }
}

void ThreadPool::run(int64_t count, const Body &work) {
  std::unique_lock<std::mutex> alone(runMutex, std::defer_lock);
  if (forks != born || helpers.empty() || !alone.try_lock()) {
    for (int64_t i = 0; i < count; ++i)
      work(i, i + 1);
    return;
  }
  std::unique_lock<std::mutex> guard(mutex);
  body = &work;
  next = 0;
  total = count;
  error = nullptr;
  wake.notify_all();
  drain(guard);
  finished.wait(guard, [&] { return active == 0 && next >= total; });
  body = nullptr;
  next = total = 0;
  if (error)
    std::rethrow_exception(error);
}

} // namespace tessera::runtime
