// runtime/device/cpu/Interrupt.h - Ctrl-C while kernels run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A host such as Python handles SIGINT by setting a flag, which an endless
// kernel never reads. If interruptLaunches() is on, this handler replaces the
// host's while kernels run. It calls the host's handler; then every thread that
// runs a kernel leaves it.
#pragma once

#include "support/Error.h"

#include <cstdint>

namespace tessera::runtime {

// Thrown by an interrupted launch.
class TESSERA_EXCEPTION LaunchInterrupted : public Error {
public:
  using Error::Error;
};

// Installs the SIGINT handler for one launch. Does nothing if the host has no
// handler, or a handler for a single signal (SA_RESETHAND): then that signal,
// or the next one, ends the process.
class InterruptWatch {
public:
  InterruptWatch();
  // True if SIGINT arrived since construction.
  bool interrupted() const;

private:
  friend class InterruptibleThread;
  uint64_t before; // signals until construction
};

// Registers this thread as a worker of the launch. After an interrupt, the
// thread receives signals until it has left its kernel.
class InterruptibleThread {
public:
  explicit InterruptibleThread(const InterruptWatch &watch);
  InterruptibleThread(const InterruptibleThread &) = delete;
  InterruptibleThread &operator=(const InterruptibleThread &) = delete;
  ~InterruptibleThread();
};

} // namespace tessera::runtime
