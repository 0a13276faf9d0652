// runtime/device/cpu/Interrupt.cpp - Ctrl-C while kernels run.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/Interrupt.h"

#include "runtime/Kernel.h"
#include "runtime/device/cpu/Fault.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <mutex>
#include <semaphore.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace tessera {

namespace {

std::atomic<bool> wanted{false};
std::atomic<uint64_t> interrupts{0};

// A thread that runs a launch; 0: unused. Another thread reads it, so slots are
// reused but never freed.
struct Slot {
  std::atomic<pid_t> thread{0};
  std::atomic<uint64_t> before{0}; // interrupts when the launch began
  std::atomic<bool> taken{true};
  Slot *next = nullptr;
};
std::atomic<Slot *> slots{nullptr};

Slot *takeSlot() {
  for (Slot *slot = slots; slot; slot = slot->next) {
    bool taken = false;
    if (slot->taken.compare_exchange_strong(taken, true))
      return slot;
  }
  Slot *made = new Slot;
  made->next = slots;
  while (!slots.compare_exchange_weak(made->next, made))
    ;
  return made;
}

struct OwnSlot {
  Slot *const slot = takeSlot();
  const pid_t thread = pid_t(::syscall(SYS_gettid));
  int depth = 0; // launches within launches
  ~OwnSlot() { slot->taken = false; }
};
thread_local OwnSlot ownSlot;
// The slot of this thread while it runs a launch; the handler reads it.
thread_local Slot *volatile launching
    __attribute__((tls_model("initial-exec"))) = nullptr;

// A handler of the host, which ours precedes.
struct HostHandler {
  struct sigaction action;
  HostHandler *older;
};
std::atomic<HostHandler *> hostHandlers{nullptr};
// Nesting depth of host handlers in this thread: one of them may call ours
// again.
thread_local volatile int calling __attribute__((tls_model("initial-exec"))) =
    0;

// Marks the signals that our handler sends to our threads.
const char mark = 0;

void callHost(int signal, siginfo_t *info, void *context) {
  HostHandler *handler = hostHandlers;
  for (int i = 0; i < calling && handler; ++i)
    handler = handler->older;
  if (!handler)
    return;
  calling = calling + 1;
  if (handler->action.sa_flags & SA_SIGINFO)
    handler->action.sa_sigaction(signal, info, context);
  else
    handler->action.sa_handler(signal);
  calling = calling - 1;
}

// Signals each thread whose launch must end. Returns true if there are any.
bool tellThreads() {
  siginfo_t info = {};
  info.si_signo = SIGINT;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_ptr = const_cast<char *>(&mark);
  bool any = false;
  for (Slot *slot = slots; slot; slot = slot->next)
    if (const pid_t thread = slot->thread;
        thread && slot->before != interrupts) {
      any = true;
      ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread, SIGINT, &info);
    }
  return any;
}

// Posted by the handler, which must not block.
sem_t wake;

// A signal has no effect on a thread that is outside of its kernel (just before
// it, or in a function it calls). So signals are repeated until all threads
// have left.
void tellUntilTheyLeave() {
  while (true) {
    if (::sem_wait(&wake) != 0)
      continue;
    while (tellThreads())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void startTeller() {
  ::sem_init(&wake, 0, 0);
  // This thread blocks all signals of the host.
  sigset_t all, old;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old);
  std::thread(tellUntilTheyLeave).detach();
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

void onInterrupt(int signal, siginfo_t *info, void *context) {
  const int error = errno;
  const bool ours =
      info->si_code == SI_QUEUE && info->si_value.sival_ptr == &mark;
  const bool nested = calling > 0;
  if (!ours)
    callHost(signal, info, context);
  if (!ours && !nested) {
    ++interrupts;
    ::sem_post(&wake);
  }
  errno = error;
  const Slot *const slot = launching;
  if (!nested && slot && slot->before != interrupts)
    runtime::FaultGuard::leaveKernel(signal, context);
}

// Installs our handler before the host's, unless it is installed.
void installHandler() {
  struct sigaction current;
  if (::sigaction(SIGINT, nullptr, &current) != 0 ||
      (current.sa_flags & SA_SIGINFO && current.sa_sigaction == onInterrupt) ||
      current.sa_flags & int(SA_RESETHAND))
    return;
  if (!(current.sa_flags & SA_SIGINFO) &&
      (current.sa_handler == SIG_DFL || current.sa_handler == SIG_IGN))
    return;
  static std::mutex mutex;
  std::lock_guard<std::mutex> alone(mutex);
  if (!hostHandlers)
    startTeller();
  hostHandlers = new HostHandler{current, hostHandlers};
  struct sigaction action = {};
  action.sa_sigaction = onInterrupt;
  // The mask stays as it is, so that leaving by a jump need not restore it.
  action.sa_flags =
      SA_SIGINFO | SA_NODEFER | (current.sa_flags & (SA_ONSTACK | SA_RESTART));
  ::sigaction(SIGINT, &action, nullptr);
}

} // namespace

void interruptLaunches(bool on) { wanted = on; }

namespace runtime {

InterruptWatch::InterruptWatch() : before(interrupts) {
  if (wanted)
    installHandler();
}

bool InterruptWatch::interrupted() const {
  return interrupts.load(std::memory_order_relaxed) != before;
}

InterruptibleThread::InterruptibleThread(const InterruptWatch &watch) {
  if (ownSlot.depth++)
    return;
  ownSlot.slot->before.store(watch.before, std::memory_order_relaxed);
  // Publish the thread before the launch reads the interrupt count. Then either
  // the launch sees an interrupt, or the signalling thread sees this slot.
  ownSlot.slot->thread.store(ownSlot.thread, std::memory_order_seq_cst);
  launching = ownSlot.slot;
}

InterruptibleThread::~InterruptibleThread() {
  if (--ownSlot.depth)
    return;
  launching = nullptr;
  ownSlot.slot->thread.store(0, std::memory_order_release);
}

} // namespace runtime
} // namespace tessera
