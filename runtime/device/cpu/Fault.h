// runtime/device/cpu/Fault.h - kernels that the processor stops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// An access to memory that is not there ends a program with a signal. Where the
// instruction is one of a kernel that runs under a FaultGuard, the signal's
// handler returns to the guard; every other signal goes on to the handler that
// was there before. SIGINT: Interrupt.h.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <string>

namespace tessera::runtime {

// Where the instructions of a kernel lie.
struct CodeRange {
  uintptr_t begin = 0, end = 0;
  bool holds(uintptr_t address) const {
    return begin <= address && address < end;
  }
};

struct Fault {
  int signal = 0; // 0: none
  bool writes = false;
  // What was accessed; 0 where the processor does not say it.
  uintptr_t address = 0;
  uintptr_t instruction = 0; // that the processor stopped at; 0: unknown
  uint32_t pid[3] = {0, 0, 0};

  bool happened() const { return signal != 0; }
  // "program (3, 0, 0) writes to memory that is not there".
  std::string text() const;
};

// While it lives, faults of this thread in the code come back to `landing`.
// Compiled code holds nothing that needs a destructor.
class FaultGuard {
public:
  explicit FaultGuard(CodeRange code);
  ~FaultGuard();
  FaultGuard(const FaultGuard &) = delete;
  FaultGuard &operator=(const FaultGuard &) = delete;

  // Set with sigsetjmp(guard.landing, 0) before the code runs.
  sigjmp_buf landing;
  // The program that runs.
  uint32_t pid[3] = {0, 0, 0};
  // Filled in when the landing is reached.
  Fault fault;

  // For the handler: whether the signal is a fault of the code that this thread
  // runs, which is then noted. `info` is a siginfo_t, `context` a ucontext_t.
  static bool caught(int signal, const void *info, const void *context);
  // For the handler of a signal that shall end what runs: returns only where it
  // did not find this thread in a kernel.
  static void leaveKernel(int signal, const void *context);

private:
  static FaultGuard *atWork(const void *context);
  void leftBy(int signal);

  CodeRange code;
  FaultGuard *outer;
  unsigned control; // of the floating point unit, which a handler resets
};

} // namespace tessera::runtime
