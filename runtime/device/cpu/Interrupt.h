// runtime/device/cpu/Interrupt.h - Ctrl-C while kernels run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A handler of the host only notes the signal (Python's does), which a kernel
// without an end never learns of. Where interruptLaunches() is on, ours stands
// before it while kernels run: it calls the host's, then every thread that runs
// a kernel leaves it.
#pragma once

#include "support/Error.h"

#include <cstdint>

namespace tessera::runtime {

// What an interrupted launch throws.
class TESSERA_EXCEPTION LaunchInterrupted : public Error {
public:
  using Error::Error;
};

// Of one launch. Where the host has no handler, or one for a single signal
// (SA_RESETHAND), nothing is done: that signal, or the next, ends the process.
class InterruptWatch {
public:
  InterruptWatch();
  // Whether SIGINT came since.
  bool interrupted() const;

private:
  friend class InterruptibleThread;
  uint64_t before; // signals so far
};

// While it lives, this thread works on the launch, and is told of an interrupt
// by a signal of its own until it has left its kernel.
class InterruptibleThread {
public:
  explicit InterruptibleThread(const InterruptWatch &watch);
  InterruptibleThread(const InterruptibleThread &) = delete;
  InterruptibleThread &operator=(const InterruptibleThread &) = delete;
  ~InterruptibleThread();
};

} // namespace tessera::runtime
