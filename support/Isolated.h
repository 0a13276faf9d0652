// support/Isolated.h - work in a process that it may break: one piece of work,
// or item after item, with another process where one broke.
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
  std::string text;      // of all but Done: "signal 11 (Segmentation fault)"
  int signal = 0;        // that ended a crashed process; 0: it exited
  std::string hint = {}; // of Failed: that of the Error
};

// Forks, and returns the child's number, or 0 in the child, which ends with
// this process. To be called while there is one thread. Throws Error.
pid_t forkChild();
// Waits until the child ends.
ExitStatus waitForChild(pid_t child);

using Report = std::function<void(const Json &)>;

// Forks; the child calls `body`, and each object that it reports arrives here
// as a call of `event`. Ended: Done when the body returned; Failed when it
// threw Error; Crashed when the process died; Endless, with the child killed,
// when nothing arrived for `limit()` seconds (asked again after every event);
// Interrupted, likewise, when the flag was set. The child ends with this
// process. To be called while there is one thread. Throws Error where no
// process can be started.
Ended runIsolated(const std::function<void(const Report &)> &body,
                  const Report &event, const std::function<double()> &limit,
                  const std::atomic<bool> &interrupted);

// Where an item is: what is being done, and with which part of the item.
struct Phase {
  std::string what;
  std::optional<size_t> part = {};
};

// A part of an item left the process in a state in which nothing works any
// more.
struct LostProcess {
  size_t part;
  std::string why;
};

// Items that a process does one after another. The item that hangs, crashes or
// spoils the process ends it, and another process does the rest. Both processes
// have the same object, as of the fork: what run() changes in it stays in the
// worker.
class IsolatedItems {
public:
  virtual ~IsolatedItems() = default;

  // Returns when next() has no item, or when the flag is set. Throws Error when
  // open() throws, hangs or crashes, and when two processes in a row end
  // without a result.
  void runAll(const std::atomic<bool> &interrupted);

protected:
  using Say = std::function<void(const Phase &)>;

  // The first item from `from` on that is to be done. Called in both processes.
  virtual std::optional<size_t> next(size_t from) const = 0;

  // In the worker: what it does first, an item, and whether the process can do
  // another one. run() throws LostProcess, and Error.
  virtual Json open() { return nullptr; }
  virtual Json run(size_t item, const Say &say) = 0;
  virtual bool usable() const { return false; }

  // In this process. `limit`: seconds that a phase may take.
  virtual double limit() const = 0;
  virtual void opened(const Json &) {}
  virtual void done(size_t item, Json row) = 0;
  // The item, or its part, ended the process or threw Error.
  virtual void failed(size_t item, const Phase &phase, const Ended &how) = 0;

private:
  void work(size_t first, const Report &report);
  bool runProcess(size_t first, const std::atomic<bool> &interrupted);
};

} // namespace tessera
