// runtime/compile/WorkerPool.h - starts and reuses tessera-worker processes,
// which compile the requests of CompileService.
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

// Returns the path of the compiler: TESSERA_WORKER, else tessera-worker in the
// folder of the program or of this library, in the bin folder next to the
// library's, or in libexec/tessera next to the library's folder or its parent
// (a library may be in lib/x86_64-linux-gnu). Throws Error if none exists.
std::filesystem::path findWorker();

// Thrown if no worker can be started or memory for its reply is lacking. The
// request did not cause it, and a retry may succeed.
class TESSERA_EXCEPTION WorkerUnavailable : public Error {
public:
  using Error::Error;
};

// Result of one request.
struct WorkerOutcome {
  std::string failure; // empty: there is a reply. Else how the worker ended.
  std::string reply;   // JSON
  std::string artifact;
};

// Manages up to `size` worker processes, started on demand and reused. Each
// worker has its own process group and reads from descriptor 3. A worker exits
// when this process ends, because its socket closes.
class WorkerPool {
public:
  // Rejects workers of another build than `buildId`: their output would be
  // stored under the wrong key. Kills a worker that does not send its greeting
  // within `greetingTimeout`.
  WorkerPool(size_t size, std::string buildId,
             std::chrono::milliseconds greetingTimeout);
  ~WorkerPool();

  // Called several times a second during a request, with the worker's phase
  // ("ptxas"; empty: not reported).
  using Waiting = std::function<void(const std::string &phase)>;
  // Sends a request and blocks until a worker replies. At the timeout, kills
  // the worker's process group. Throws WorkerUnavailable.
  WorkerOutcome run(std::string_view request, std::chrono::milliseconds timeout,
                    const Waiting &waiting);
  // Ends idle workers, each of which holds much memory.
  void releaseIdle();

  size_t size() const { return limit; }
  // `started` counts the processes started so far, `busyNow` the running
  // requests.
  uint64_t started() const;
  size_t busyNow() const;

private:
  struct Worker;
  class Lease;
  std::unique_ptr<Worker> start();
  // Receives the greeting and returns its build id. Throws Error.
  std::string greet(Worker &worker, const std::string &path);
  // Sets `exited` if the worker exited or was killed instead of replying.
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
