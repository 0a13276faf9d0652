// trainer/loop/Signals.cpp - handlers that report and return.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/Signals.h"

#include "trainer/loop/OwnSymbols.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <execinfo.h>
#include <string_view>
#include <unistd.h>

namespace tessera::trainer {
namespace {

// The contents of the report. A handler may read lock-free atomics.
std::atomic<const char *> activity{"starting"};
std::atomic<int64_t> stepsDone{0};
std::atomic<int64_t> stepTime{0};      ///< When that was said, in seconds.
std::atomic<int64_t> reportsResume{0}; ///< In nanoseconds.
static_assert(std::atomic<int64_t>::is_always_lock_free);

int64_t monotonicNanoseconds() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}
int64_t monotonicSeconds() { return monotonicNanoseconds() / 1000000000; }

/// A line of text, formatted with async-signal-safe functions only.
class Line {
public:
  Line &add(std::string_view text) {
    const size_t taken = std::min(text.size(), sizeof buffer - length);
    std::memcpy(buffer + length, text.data(), taken);
    length += taken;
    return *this;
  }
  Line &add(int64_t number) {
    char digits[20];
    size_t first = sizeof digits;
    do
      digits[--first] = char('0' + number % 10);
    while ((number /= 10) > 0);
    return add(std::string_view(digits + first, sizeof digits - first));
  }
  Line &addHex(uint64_t number) {
    char digits[16];
    size_t first = sizeof digits;
    do
      digits[--first] = "0123456789abcdef"[number % 16];
    while ((number /= 16) > 0);
    return add(std::string_view(digits + first, sizeof digits - first));
  }
  void write() const {
    // The run continues even if the write fails.
    if (::write(STDERR_FILENO, buffer, length) < 0)
      return;
  }

private:
  char buffer[256];
  size_t length = 0;
};

/// Written before the handler is installed.
const OwnSymbols *symbols = nullptr;

/// Writes a line for each address: functions of this program by their names,
/// those of libraries as backtrace_symbols_fd() does.
void writeStack(void *const *frames, int count) {
  constexpr size_t longest = 200;
  for (int i = 0; i < count; ++i) {
    const OwnSymbols::Found found = symbols->find(frames[i]);
    if (found.name.empty())
      backtrace_symbols_fd(frames + i, 1, STDERR_FILENO);
    else
      Line()
          .add("tessera-train(")
          .add(found.name.substr(0, longest))
          .add(")[0x")
          .addHex(found.offset)
          .add("]\n")
          .write();
  }
}

} // namespace

extern "C" {
static void reportState(int number) {
  // Stack traces are slow on a busy machine. Reports get at most a tenth of the
  // time; otherwise frequent signals would stop the run.
  const int64_t start = monotonicNanoseconds();
  if (start < reportsResume.load())
    return;
  const int error = errno;
  const std::string_view name = number == SIGHUP ? "SIGHUP" : "SIGUSR1";
  Line()
      .add("\n")
      .add(name)
      .add(": ")
      .add(activity.load())
      .add(", ")
      .add(stepsDone.load())
      .add(" steps done, ")
      .add(monotonicSeconds() - stepTime.load())
      .add(" s since then; the run continues\n")
      .write();
  void *frames[64];
  writeStack(frames, backtrace(frames, 64));
  const int64_t end = monotonicNanoseconds();
  reportsResume = end + 9 * (end - start);
  errno = error;
}

static void ignoreSignal(int) {}
}

ReportSignals::ReportSignals() {
  // The first call loads a library, which a handler must not do.
  void *frame[1];
  backtrace(frame, 1);
  static const OwnSymbols own; // handlers may use it until the process ends
  symbols = &own;
  doing("starting", 0);
  const auto install = [&](int signal, void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaddset(&action.sa_mask, SIGUSR1); // one report at a time
    sigaddset(&action.sa_mask, SIGHUP);
    Replaced old = {signal, {}};
    sigaction(signal, &action, &old.before);
    replaced.push_back(old);
  };
  install(SIGUSR1, reportState);
  install(SIGHUP, reportState);
  // SIGPIPE: the reader has exited. SIGXFSZ: the log has reached the limit of
  // file sizes. Not SIG_IGN, which child processes would inherit.
  install(SIGPIPE, ignoreSignal);
  install(SIGXFSZ, ignoreSignal);
}

ReportSignals::~ReportSignals() {
  for (Replaced &r : replaced) {
    // A signal during process exit must not make the process fail.
    if ((r.signal == SIGUSR1 || r.signal == SIGHUP) &&
        r.before.sa_handler == SIG_DFL)
      r.before.sa_handler = SIG_IGN;
    sigaction(r.signal, &r.before, nullptr);
  }
}

void ReportSignals::doing(const char *what, int64_t step) {
  activity = what;
  stepsDone = step;
  stepTime = monotonicSeconds();
}

} // namespace tessera::trainer
