// runtime/device/cpu/Fault.h - turns faults of cpu kernels into errors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A kernel that accesses unmapped memory raises a signal. If the faulting
// instruction belongs to a kernel that runs under a FaultGuard, the signal
// handler jumps back to the guard. The handler forwards every other signal to
// the handler that was installed before. Interrupt.h handles SIGINT.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <string>

namespace tessera::runtime {

// Address range of a kernel's instructions.
struct CodeRange {
  uintptr_t begin = 0, end = 0;
  bool holds(uintptr_t address) const {
    return begin <= address && address < end;
  }
};

struct Fault {
  int signal = 0; // 0: none
  bool writes = false;
  // Address of the access; 0 if the processor does not report it.
  uintptr_t address = 0;
  uintptr_t instruction = 0; // faulting instruction; 0: unknown
  uint32_t pid[3] = {0, 0, 0};

  bool happened() const { return signal != 0; }
  // Returns the fault as text: "program (3, 0, 0) writes to memory that is not
  // there".
  std::string text() const;
};

// While a guard lives, a fault of this thread inside the code jumps to
// `landing`. The jump skips destructors, which is safe because compiled code
// does not need any.
class FaultGuard {
public:
  explicit FaultGuard(CodeRange code);
  ~FaultGuard();
  FaultGuard(const FaultGuard &) = delete;
  FaultGuard &operator=(const FaultGuard &) = delete;

  // Jump target; set with sigsetjmp(guard.landing, 0) before the code runs.
  sigjmp_buf landing;
  // Id of the running program.
  uint32_t pid[3] = {0, 0, 0};
  // Set before the jump to `landing`.
  Fault fault;

  // Called by the signal handler. Returns true, and records the fault, if the
  // signal is a fault of the code that this thread runs. `info` is a siginfo_t,
  // `context` a ucontext_t.
  static bool caught(int signal, const void *info, const void *context);
  // Called by the handler of a signal that interrupts launches. Jumps out of
  // the kernel that this thread runs; returns only if it does not run one.
  static void leaveKernel(int signal, const void *context);

private:
  static FaultGuard *atWork(const void *context);
  void leftBy(int signal);

  CodeRange code;
  FaultGuard *outer;
  unsigned control; // of the floating point unit, which a handler resets
};

} // namespace tessera::runtime
