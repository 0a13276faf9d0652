// trainer/loop/RunControl.cpp - heartbeat, watchdog and .HALT.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/RunControl.h"

#include "support/Sync.h"
#include "trainer/observe/Telemetry.h"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace tessera::trainer {
namespace {

constexpr size_t remembered = 63;
constexpr double manyMedians = 10;

std::string haltFile(const std::string &folder) { return folder + "/.HALT"; }

} // namespace

double stallLimit(std::vector<double> stepSeconds, double least) {
  if (stepSeconds.empty())
    return least;
  const auto middle =
      stepSeconds.begin() + std::ptrdiff_t(stepSeconds.size() / 2);
  std::nth_element(stepSeconds.begin(), middle, stepSeconds.end());
  return std::max(least, manyMedians * *middle);
}

bool clearHalt(const std::string &folder) {
  std::error_code code;
  return std::filesystem::remove(haltFile(folder), code);
}

std::string haltText(const std::string &folder) {
  const std::string text = tryReadFile(haltFile(folder)).value_or("");
  return text.substr(0, text.find('\n'));
}

RunControl::RunControl(const std::string &folder, int64_t rank, double least)
    : folder(folder), rank(rank), least(least), watched(pthread_self()),
      since(Clock::now()) {
  const std::string name =
      fmt::format("{}/heartbeat_rank{}.jsonl", folder, rank);
  // A run without a heartbeat file continues.
  heartbeat.reset(
      ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (rank == 0 && least > 0)
    watcher = std::thread([this] { watch(); });
}

RunControl::~RunControl() {
  {
    const std::lock_guard lock(mutex);
    ending = true;
  }
  wake.notify_all();
  if (watcher.joinable())
    watcher.join();
}

void RunControl::beat(const char *what, int64_t step) {
  const Clock::time_point now = Clock::now();
  {
    const std::lock_guard lock(mutex);
    if (inStep)
      seconds.push_back(std::chrono::duration<double>(now - since).count());
    if (seconds.size() > remembered)
      seconds.pop_front();
    inStep = std::string_view(what) == "step";
    said = false;
    number = step;
    since = now;
  }
  const double time = double(::time(nullptr));
  const std::string line = nlohmann::json({{"ts", time},
                                           {"iso", isoTime(time)},
                                           {"pid", ::getpid()},
                                           {"rank", rank},
                                           {"step", step},
                                           {"msg", "beat"},
                                           {"phase", what}})
                               .dump() +
                           "\n";
  std::string_view left = line;
  if (heartbeat)
    writeAll(heartbeat.get(), left);
}

bool RunControl::halted() const {
  return ::access(haltFile(folder).c_str(), F_OK) == 0;
}

void RunControl::watch() {
  std::unique_lock lock(mutex);
  while (!ending) {
    wake.wait_for(lock, std::chrono::milliseconds(200));
    const double quiet =
        std::chrono::duration<double>(Clock::now() - since).count();
    if (ending || !inStep || said ||
        quiet < stallLimit({seconds.begin(), seconds.end()}, least))
      continue;
    said = true;
    logLine(fmt::format("WARNING: step {} has taken {:.0f} s so far; its stack "
                        "follows, the run continues",
                        number, quiet));
    // The handler prints the stack of the thread that receives the signal.
    ::pthread_kill(watched, SIGUSR1);
  }
}

} // namespace tessera::trainer
