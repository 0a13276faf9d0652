// tools/gpucheck/Time.cpp - times a packed case and another compiler's code,
// with rates.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpucheck/GpuCheck.h"

#include "autotune/search/TimedMemory.h"
#include "replay/packed/Packed.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/device/cuda/Peaks.h"

#include <algorithm>

namespace tessera::gpucheck {

using runtime::CudaLaunch;
using runtime::cuda::Driver;
using runtime::cuda::Peaks;

namespace {

constexpr uint32_t warmUps = 5;

// Adds a rate relative to the device's peak. A rate above the peak is a
// measurement error and is omitted.
void addRate(Json &row, const std::string &name, double amount, double us,
             double peak) {
  if (amount <= 0 || us <= 0)
    return;
  const double rate = amount / (us * 1e-6);
  if (peak > 0 && rate > peak) {
    row["above_peak"].push_back(name);
    return;
  }
  row[name] = rate;
  if (peak > 0)
    row[name + "_of_peak"] = rate / peak;
}

void addRates(Json &row, const cases::LoadedCase &loaded) {
  if (!loaded.recorded.work)
    return;
  const double us = row["us"].get<double>(),
               bytes = loaded.recorded.work->bytes;
  const LeastTime least = leastTime(loaded);
  addRate(row, "bytes_per_s", bytes, us,
          least.memory > 0 ? bytes / least.memory : 0);
  addRate(row, "flop_per_s", least.flop, us,
          least.dots > 0 ? least.flop / least.dots : 0);
}

void addTimes(Json &row, const std::string &name, std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  row[name] = 1000 * ms[ms.size() / 2];
  row[name + "_least"] = 1000 * ms.front();
  row[name + "_quartiles"] = {1000 * ms[ms.size() / 4],
                              1000 * ms[ms.size() * 3 / 4]};
}

} // namespace

LeastTime leastTime(const cases::LoadedCase &loaded) {
  LeastTime least;
  if (!loaded.recorded.work)
    return least;
  const Peaks peaks = runtime::cuda::peaksOf(Driver::instance());
  if (peaks.bytes > 0)
    least.memory = loaded.recorded.work->bytes / peaks.bytes;
  // Products of different types run one after another at best, so their times
  // add up.
  for (const auto &[type, count] : loaded.recorded.work->dotFlop) {
    const double peak = peaks.of(type == "fp32" && loaded.tf32 ? "tf32" : type);
    least.flop += count;
    least.dots += peak > 0 ? count / peak : 0;
  }
  return least;
}

Json timeCase(const Item &item, bool peer, const Options &options) {
  Json row = Json::object();
  const cases::LoadedCase loaded = loadCase(item.folder);
  const Grid &grid = loaded.recorded.grid;
  if (!grid[0] || !grid[1] || !grid[2])
    return row;
  const std::string target =
      cases::newestPackedTarget(item.folder, Driver::instance().target());
  const tune::TimedMemory memory(loaded);
  const auto bind = [&](cases::PreparedLaunch launch) {
    auto bound = cases::bindOnGpu(loaded, launch, grid, memory.memory());
    bound->reset();
    return bound;
  };
  const auto own = bind(launchOf(cases::readPacked(item.folder, target)));
  std::unique_ptr<CudaLaunch> other;
  if (peer)
    if (const auto code = cases::readPeer(item.folder, target))
      other = bind(launchOf(code->compiled, code->appended));
  std::optional<runtime::cuda::CacheFlush> flush;
  if (options.clearCache)
    flush.emplace(Driver::instance());
  std::vector<double> ours, others;
  // Runs both alternately, so that a change of the clock affects both.
  for (uint32_t i = 0; i < warmUps + options.timed; ++i) {
    const auto once = [&](CudaLaunch &launch, std::vector<double> &times) {
      const double passed = launch.time(flush ? &*flush : nullptr);
      if (i >= warmUps)
        times.push_back(passed);
    };
    once(*own, ours);
    if (other)
      once(*other, others);
  }
  addTimes(row, "us", ours);
  if (other)
    addTimes(row, "peer_us", others);
  addRates(row, loaded);
  return row;
}

} // namespace tessera::gpucheck
