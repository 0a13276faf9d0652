// runtime/compile/WorkerPool.h - the processes that compile.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Error.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

// TESSERA_WORKER, else tessera-worker beside the program, beside the library
// this code lies in, in the bin folder next to the library's, or in
// libexec/tessera next to the library's folder or the one above (a library may
// be in lib/x86_64-linux-gnu). Throws Error when there is none.
std::filesystem::path findWorker();

// There is no worker to be had, or no memory for its answer: nothing that the
// request did, and it may be gone at the next attempt.
class TESSERA_EXCEPTION WorkerUnavailable : public Error {
public:
  using Error::Error;
};

// What became of one request.
struct WorkerOutcome {
  std::string failure; // empty: there is a reply. Else how the worker ended.
  std::string reply;   // JSON
  std::string artifact;
};

// Up to `size` worker processes, started when needed and kept for further
// requests. Each lives in its own process group, reads from descriptor 3 and
// ends when this process does, because its socket closes.
class WorkerPool {
public:
  // Workers of another build than `buildId` are refused: what they make would
  // be kept under the wrong key. One that has not answered its greeting after
  // `greetingTimeout` is killed.
  WorkerPool(size_t size, std::string buildId,
             std::chrono::milliseconds greetingTimeout);
  ~WorkerPool();

  // Called while a worker is waited for, several times a second, with what it
  // does ("ptxas"; empty: it has not said).
  using Waiting = std::function<void(const std::string &phase)>;
  // Blocks until a worker is free and has answered; at the time-out its group
  // is killed. Throws WorkerUnavailable.
  WorkerOutcome run(std::string_view request, std::chrono::milliseconds timeout,
                    const Waiting &waiting);
  // Ends the workers that wait for work: each holds much memory.
  void releaseIdle();

  size_t size() const { return limit; }
  // Processes started so far, and requests at work.
  uint64_t started() const;
  size_t busyNow() const;

private:
  struct Worker;
  class Lease;
  std::unique_ptr<Worker> start();
  // The greeting's build id. Throws Error.
  std::string greet(Worker &worker, const std::string &path);
  // `exited` becomes true when the worker left, or was killed, instead of
  // answering.
  WorkerOutcome ask(Worker &worker, std::string_view request,
                    std::chrono::milliseconds timeout, const Waiting &waiting,
                    bool &exited);

  const size_t limit;
  const std::string buildId;
  const std::chrono::milliseconds greetingTimeout;
  mutable std::mutex mutex;
  std::condition_variable available;
  std::vector<std::unique_ptr<Worker>> idle;
  size_t busy = 0;
  uint64_t startedCount = 0;
};

} // namespace tessera::runtime
