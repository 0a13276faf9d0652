// support/Isolated.h - runs work in a child process that the work may crash: a
// single task, or a list of items that continues in a new process after a
// crash.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"
#include "support/Process.h"

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>

namespace tessera {

struct Ended {
  enum class How { Done, Failed, Crashed, Endless, Interrupted };
  How how = How::Done;
  std::string text;      // except for Done: "signal 11 (Segmentation fault)"
  int signal = 0;        // that ended a crashed process; 0: it exited
  std::string hint = {}; // of Failed: that of the Error
};

// Forks. Returns the child's process id, or 0 in the child. The child dies with
// this process. Must be called while the process has one thread. Throws Error.
pid_t forkChild();
// Waits for the child to exit.
ExitStatus waitForChild(pid_t child);

using Report = std::function<void(const Json &)>;

// Runs `body` in a forked child. Each object that the child reports arrives in
// this process as a call of `event`. Returns Done if the body returned, Failed
// if it threw Error, Crashed if the child died. Returns Endless and kills the
// child if nothing arrived for `limit()` seconds (evaluated again after every
// event), and Interrupted, likewise, if the flag was set. The child dies with
// this process. Must be called while the process has one thread. Throws Error
// if the fork fails.
Ended runIsolated(const std::function<void(const Report &)> &body,
                  const Report &event, const std::function<double()> &limit,
                  const std::atomic<bool> &interrupted);

// Progress of an item: the current action and the part of the item.
struct Phase {
  std::string what;
  std::optional<size_t> part = {};
};

// Thrown if a part of an item left the process in an unusable state.
struct LostProcess {
  size_t part;
  std::string why;
};

// Processes items in a worker process, one after another. If an item hangs,
// crashes or corrupts the worker, a new worker continues with the next item.
// Both processes have the same object as of the fork; changes made by run()
// stay in the worker.
class IsolatedItems {
public:
  virtual ~IsolatedItems() = default;

  // Returns when next() returns nullopt, or when the flag is set. Throws Error
  // if open() throws, hangs or crashes, and if two workers in a row end without
  // a result.
  void runAll(const std::atomic<bool> &interrupted);

protected:
  using Say = std::function<void(const Phase &)>;

  // Returns the first unprocessed item from `from` on. Called in both
  // processes.
  virtual std::optional<size_t> next(size_t from) const = 0;

  // Called in the worker: open() first, then run() for each item. run() throws
  // LostProcess if the worker cannot process another item, and Error.
  virtual Json open() { return nullptr; }
  virtual Json run(size_t item, const Say &say) = 0;
  virtual bool usable() const { return false; }

  // Called in this process. limit() returns the maximum seconds of a phase.
  virtual double limit() const = 0;
  virtual void opened(const Json &) {}
  virtual void done(size_t item, Json row) = 0;
  // Reports that the item, or a part of it, ended the worker or threw Error.
  virtual void failed(size_t item, const Phase &phase, const Ended &how) = 0;

private:
  void work(size_t first, const Report &report);
  bool runProcess(size_t first, const std::atomic<bool> &interrupted);
};

} // namespace tessera
