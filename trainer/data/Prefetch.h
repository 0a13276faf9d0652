// trainer/data/Prefetch.h - a thread that computes results in advance.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace tessera::trainer {

/// Calls `make` repeatedly in a thread and queues up to `depth` results. If
/// `make` throws, the next() of that result and every later one rethrow the
/// exception. `make` must own its data, because the destructor detaches a
/// thread whose last result was late.
template <typename T>
class Prefetch {
public:
  Prefetch(std::function<T()> make, size_t depth)
      : state(std::make_shared<State>()),
        thread(work, state, std::move(make), depth) {}
  ~Prefetch() {
    bool stuck = false;
    {
      const std::lock_guard lock(state->mutex);
      state->stopping = true;
      stuck = state->late;
    }
    state->changed.notify_all();
    if (stuck)
      thread.detach();
    else
      thread.join();
  }
  Prefetch(const Prefetch &) = delete;
  Prefetch &operator=(const Prefetch &) = delete;

  /// Returns the next result; nullopt if it is not ready after `wait`.
  std::optional<T> next(std::chrono::duration<double> wait) {
    std::unique_lock lock(state->mutex);
    const bool there = state->changed.wait_for(
        lock, wait, [&] { return !state->ready.empty() || state->failure; });
    state->late = !there;
    if (!there)
      return std::nullopt;
    if (state->ready.empty())
      std::rethrow_exception(state->failure);
    std::optional<T> result = std::move(state->ready.front());
    state->ready.pop_front();
    state->changed.notify_all();
    return result;
  }

private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<T> ready;
    std::exception_ptr failure;
    bool stopping = false;
    bool late = false; ///< True if the last next() timed out.
  };

  static void work(std::shared_ptr<State> state, std::function<T()> make,
                   size_t depth) {
    // The training thread must receive signals, because reports show its stack.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    std::unique_lock lock(state->mutex);
    while (true) {
      state->changed.wait(
          lock, [&] { return state->stopping || state->ready.size() < depth; });
      if (state->stopping)
        return;
      lock.unlock();
      std::optional<T> made;
      std::exception_ptr error;
      try {
        made = make();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error)
        state->failure = error;
      else
        state->ready.push_back(std::move(*made));
      state->changed.notify_all();
      if (error)
        return;
    }
  }

  std::shared_ptr<State> state;
  std::thread thread;
};

} // namespace tessera::trainer
