// runtime/compile/WorkerPool.h - the processes that compile.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

// TESSERA_WORKER, else tessera-worker beside the program, beside the library
// this code lies in, or in the bin folder next to the library's. Throws Error
// when there is none.
std::filesystem::path findWorker();

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
  // be kept under the wrong key.
  WorkerPool(size_t size, std::string buildId);
  ~WorkerPool();

  // Blocks until a worker is free and has answered; at the time-out its group
  // is killed. Throws Error when no worker can be started.
  WorkerOutcome run(std::string_view request,
                    std::chrono::milliseconds timeout);
  // Ends the workers that wait for work: each holds much memory.
  void releaseIdle();

  size_t size() const { return limit; }
  // Processes started so far.
  uint64_t started() const;

private:
  struct Worker;
  std::unique_ptr<Worker> acquire();
  std::unique_ptr<Worker> start();
  void release(std::unique_ptr<Worker> worker);
  // `exited` becomes true when the worker left, or was killed, instead of
  // answering.
  WorkerOutcome ask(std::unique_ptr<Worker> worker, std::string_view request,
                    std::chrono::milliseconds timeout, bool &exited);

  const size_t limit;
  const std::string buildId;
  mutable std::mutex mutex;
  std::condition_variable available;
  std::vector<std::unique_ptr<Worker>> idle;
  size_t busy = 0;
  uint64_t startedCount = 0;
};

} // namespace tessera::runtime
