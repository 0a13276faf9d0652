// autotune/search/Benchmark.cpp - times launches on this machine's CPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/Benchmark.h"

#include "runtime/device/cpu/ThreadPool.h"
#include "support/File.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

namespace tessera::tune {

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double launchClock() {
  timespec now = {};
  ::clock_gettime(runtime::ThreadPool::instance().threads() == 1
                      ? CLOCK_THREAD_CPUTIME_ID
                      : CLOCK_MONOTONIC,
                  &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

int64_t launchesFor(double guess, double atLeast) {
  const double wanted = std::ceil(atLeast / std::max(guess, 1e-7));
  return int64_t(std::clamp(wanted, 1.0, 10000.0));
}

double timeLaunch(const cases::PreparedLaunch &launch, const Grid &grid,
                  TimedMemory &memory, double guess, double atLeast) {
  const std::vector<Arg> args = memory.arguments(launch);
  const int64_t count = launchesFor(guess, atLeast);
  memory.restore();
  const double start = launchClock();
  for (int64_t i = 0; i < count; ++i)
    launch.kernel->launch(grid, args, launch.constexprs, launch.options);
  return (launchClock() - start) / double(count);
}

double timeControl() {
  std::vector<double> seconds;
  runtime::ThreadPool &pool = runtime::ThreadPool::instance();
  std::atomic<double> sink{0};
  for (int i = 0; i < 5; ++i) {
    const double start = launchClock();
    pool.run(pool.threads(), [&](int64_t begin, int64_t) {
      // A dependent chain that the compiler cannot shorten.
      double x = 0.5 + double(begin) * 1e-3;
      for (int step = 0; step < 1000000; ++step)
        x = x * 0.999999 + 1e-6;
      sink = x;
    });
    seconds.push_back(launchClock() - start);
  }
  return sampleOf(std::move(seconds)).median;
}

std::optional<LoadWatch::Ticks> LoadWatch::now() {
  // cpu user nice system idle iowait irq softirq steal ...
  const auto text = tryReadFile("/proc/stat");
  if (!text)
    return std::nullopt;
  std::istringstream line(*text);
  std::string word;
  double part[8] = {};
  line >> word;
  for (double &value : part)
    line >> value;
  if (!line || word != "cpu")
    return std::nullopt;
  Ticks ticks;
  for (int i : {0, 1, 2, 5, 6, 7})
    ticks.all += part[i] / double(::sysconf(_SC_CLK_TCK));
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage use = {};
    if (::getrusage(who, &use) != 0)
      return std::nullopt;
    for (const timeval &time : {use.ru_utime, use.ru_stime})
      ticks.ours += double(time.tv_sec) + double(time.tv_usec) * 1e-6;
  }
  return ticks;
}

LoadWatch::LoadWatch() : begin(now()), since(Clock::now()) {}

std::optional<double> LoadWatch::othersBusy() const {
  const auto end = now();
  const double seconds = secondsSince(since);
  // The system counts in hundredths of a second per processor.
  if (!begin || !end || seconds < shortest)
    return std::nullopt;
  const double others = (end->all - begin->all) - (end->ours - begin->ours);
  return std::max(0.0, others / seconds);
}

} // namespace tessera::tune
