// tools/sim/TimedRun.cpp - runs a launch on the simulator with a time limit and
// progress.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/TimedRun.h"

#include "support/Progress.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

namespace tessera::tools {

namespace {

// Watches a launch from another thread: prints progress, and sets `stop` at the
// time limit.
class Watchdog {
public:
  Watchdog(const std::string &kernel, int64_t seconds)
      : kernel(kernel), seconds(seconds), thread([this] { watch(); }) {}
  ~Watchdog() {
    {
      std::lock_guard lock(mutex);
      done = true;
    }
    ended.notify_all();
    thread.join();
  }

  std::atomic<bool> stop = false;
  std::atomic<uint64_t> started = 0, blocks = 1;

private:
  void watch() {
    Progress progress;
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, std::chrono::milliseconds(200),
                           [this] { return done; })) {
      if (progress.seconds() >= double(seconds))
        stop = true;
      if (progress.due())
        progress.show(fmt::format(
            "simulating `{}` ... {:.0f} s of at most {}, {} of {} blocks "
            "started",
            kernel, progress.seconds(), seconds, started + 1, blocks.load()));
    }
  }

  const std::string kernel;
  const int64_t seconds;
  bool done = false;
  std::mutex mutex;
  std::condition_variable ended;
  std::thread thread; // uses all members above
};

} // namespace

TimedReport runWithin(const cases::SimLaunch &launch, sim::Options options,
                      int64_t seconds) {
  TimedReport report;
  Watchdog watchdog(launch.kernel, seconds);
  options.stop = &watchdog.stop;
  options.progress = [&](uint64_t started, uint64_t blocks) {
    watchdog.started = started;
    watchdog.blocks = blocks;
  };
  static_cast<sim::Report &>(report) = launch.run(options);
  if (watchdog.stop && !report.ok())
    report.hint =
        fmt::format("a kernel that is only slow needs a larger --timeout ({} s "
                    "now) or a smaller --grid",
                    seconds);
  return report;
}

void printFindings(const TimedReport &report) {
  if (report.ok())
    return;
  std::fprintf(stderr, "%s\n", report.text().c_str());
  if (!report.hint.empty())
    std::fprintf(stderr, "HINT: %s\n", report.hint.c_str());
}

} // namespace tessera::tools
