// runtime/device/cpu/Fault.cpp - kernels that the processor stops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/Fault.h"

#include <csignal>
#include <iterator>
#include <mutex>
#include <ucontext.h>
#include <xmmintrin.h>

namespace tessera::runtime {

// A signal handler reads it, so it must not be allocated on first use nor kept
// in a register.
static thread_local FaultGuard *volatile innermost
    __attribute__((tls_model("initial-exec"))) = nullptr;

static constexpr int handled[] = {SIGSEGV, SIGBUS, SIGFPE};
// The handlers that were installed before.
static struct sigaction before[std::size(handled)];

// Returns the guard of the kernel whose instruction this thread was executing
// when the signal arrived.
FaultGuard *FaultGuard::atWork(const void *context) {
  const auto &registers =
      static_cast<const ucontext_t *>(context)->uc_mcontext.gregs;
  FaultGuard *guard = innermost;
  return guard && guard->code.holds(uintptr_t(registers[REG_RIP])) ? guard
                                                                   : nullptr;
}

void FaultGuard::leftBy(int signal) {
  fault.signal = signal;
  for (int axis : {0, 1, 2})
    fault.pid[axis] = pid[axis];
  ::_mm_setcsr(control);
}

bool FaultGuard::caught(int signal, const void *infoPointer,
                        const void *contextPointer) {
  const auto &info = *static_cast<const siginfo_t *>(infoPointer);
  const auto &registers =
      static_cast<const ucontext_t *>(contextPointer)->uc_mcontext.gregs;
  FaultGuard *guard = atWork(contextPointer);
  // A signal sent by a process (kill) has a si_code of 0 or less.
  if (!guard || info.si_code <= 0)
    return false;
  constexpr long pageFault = 14, isWrite = 2;
  if (registers[REG_TRAPNO] == pageFault) {
    guard->fault.address = uintptr_t(info.si_addr);
    guard->fault.writes = registers[REG_ERR] & isWrite;
  }
  guard->fault.instruction = uintptr_t(registers[REG_RIP]);
  guard->leftBy(signal);
  return true;
}

void FaultGuard::leaveKernel(int signal, const void *context) {
  FaultGuard *guard = atWork(context);
  if (!guard)
    return;
  guard->leftBy(signal);
  ::siglongjmp(guard->landing, 1);
}

static void passOn(int signal, siginfo_t *info, void *context) {
  const struct sigaction *next = nullptr;
  for (size_t i = 0; i < std::size(handled); ++i)
    if (handled[i] == signal)
      next = &before[i];
  if (next->sa_flags & SA_SIGINFO)
    return next->sa_sigaction(signal, info, context);
  const bool sent = info->si_code <= 0;
  if (next->sa_handler == SIG_IGN && sent)
    return;
  if (next->sa_handler != SIG_DFL && next->sa_handler != SIG_IGN)
    return next->sa_handler(signal);
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(signal, &standard, nullptr);
  // A fault recurs when the handler returns, so a core file shows its place. A
  // sent signal must be raised again.
  if (sent)
    ::raise(signal);
}

static void onSignal(int signal, siginfo_t *info, void *context) {
  if (FaultGuard::caught(signal, info, context))
    ::siglongjmp(innermost->landing, 1);
  passOn(signal, info, context);
}

static void install() {
  for (size_t i = 0; i < std::size(handled); ++i) {
    struct sigaction action = {};
    action.sa_sigaction = onSignal;
    // The mask stays as it is, so that leaving by a jump need not restore it.
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    ::sigaction(handled[i], &action, &before[i]);
  }
}

FaultGuard::FaultGuard(CodeRange code)
    : code(code), outer(innermost), control(::_mm_getcsr()) {
  static std::once_flag once;
  std::call_once(once, install);
  innermost = this;
}

FaultGuard::~FaultGuard() { innermost = outer; }

std::string Fault::text() const {
  const std::string program = "program (" + std::to_string(pid[0]) + ", " +
                              std::to_string(pid[1]) + ", " +
                              std::to_string(pid[2]) + ")";
  if (signal == SIGINT)
    return program + " was interrupted";
  if (signal == SIGFPE)
    return program + " divides by zero";
  // A general protection fault: the processor reports neither address nor kind.
  if (!address)
    return program + " accesses an address that no memory can have";
  return program + (writes ? " writes to" : " reads") +
         " memory that is not there";
}

} // namespace tessera::runtime
