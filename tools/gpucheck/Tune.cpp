// tools/gpucheck/Tune.cpp - checks and times the configurations of a packed
// case on the GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpucheck/GpuCheck.h"

#include "autotune/search/Contest.h"
#include "autotune/search/CorrectnessCheck.h"
#include "autotune/search/TimedMemory.h"
#include "replay/packed/Packed.h"
#include "replay/packed/PackedTuning.h"
#include "runtime/device/cuda/Driver.h"
#include "support/Error.h"
#include "support/Isolated.h"
#include "support/Text.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

namespace tessera::gpucheck {

using cases::PackedCandidate;
using runtime::cuda::Driver;

namespace {

// Launches whose median counts as one measurement.
constexpr int launchesOfATurn = 5;
// Limit for the change between two measurements of the same code. A larger
// change means that the machine's speed changed.
constexpr double driftLimit = 0.05;

struct Entrant {
  const PackedCandidate *candidate = nullptr;
  bool right = false;
  std::string problem; // of an excluded one; empty: the parent knows it
  std::vector<double> seconds;
  std::unique_ptr<runtime::CudaLaunch> launch;
};

class DeviceContest : public tune::Contest {
public:
  DeviceContest(const TuneTask &task, const SayCandidate &say)
      : task(task), say(say), target(Driver::instance().target()) {
    const auto read = cases::readTuning(task.folder, target);
    if (!read)
      throw Error(task.folder.string() + " has no configurations for " + target,
                  "pack them: tessera pack-cases --tune --target " + target);
    tuning = *read;
    for (const PackedCandidate &candidate : tuning.candidates) {
      entrants.emplace_back();
      entrants.back().candidate = &candidate;
    }
    loaded = loadCase(task.folder);
  }

  // Checks and times the configurations. Throws LostProcess.
  Tuned tune() {
    check();
    bindAll();
    run();
    Tuned tuned{row(), entry(tuning.key)};
    // A table's entries describe the upper end of a bucket.
    if (tuned.entry && tuning.tokens != tuning.key.bucket)
      tuned.entry->why +=
          "; of a recording with " + std::to_string(tuning.tokens) + " tokens";
    if (tuned.entry)
      tuned.row["entry"] = {{"use", describe(tuned.entry->use)},
                            {"us", tuned.entry->timeUs},
                            {"default_us", tuned.entry->defaultUs},
                            {"why", tuned.entry->why}};
    else if (const std::string why = unsteady(); !why.empty())
      tuned.row["unsteady"] = why;
    return tuned;
  }

private:
  void tell(const std::string &what, size_t i) const {
    say(what + " " + describe(tuning.candidates[i].use), i);
  }

  void exclude(size_t i, const std::string &why) {
    entrants[i].right = false;
    entrants[i].problem = firstLine(why);
    entrants[i].launch.reset();
    if (!Driver::instance().healthy())
      throw LostProcess{i, entrants[i].problem};
    if (i == 0)
      throw Error("the kernel's default configuration: " + entrants[i].problem);
  }

  cases::PreparedLaunch launch(size_t i) const {
    const PackedCandidate &one = tuning.candidates[i];
    return launchOf(cases::readCode(task.folder, one.code, describe(one.use)));
  }

  void check() {
    cases::LoadedCase data = loaded;
    for (size_t i = 0; i < entrants.size(); ++i) {
      if (task.excluded.contains(i))
        continue;
      if (i > 0 && Clock::now() >= task.deadline)
        return;
      tell("checking", i);
      std::string problem;
      try {
        const cases::PreparedLaunch one = launch(i);
        const Grid &grid = tuning.candidates[i].grid;
        problem = tune::checkResults(data, one, grid, device).problem;
        // Removes the results from the output tensors, so that a later
        // configuration cannot leave correct values there without writing them.
        if (i == 0 && problem.empty())
          if (auto changed = tune::withoutOldResults(loaded, one, grid, device))
            data = std::move(*changed);
      } catch (const Error &error) {
        problem = error.message;
      }
      if (problem.empty())
        entrants[i].right = true;
      else
        exclude(i, problem);
    }
  }

  void bindAll() {
    memory.emplace(loaded);
    if (task.clearCache)
      flush.emplace(Driver::instance());
    for (size_t i = 0; i < entrants.size(); ++i) {
      if (!entrants[i].right)
        continue;
      try {
        entrants[i].launch = cases::bindOnGpu(
            loaded, launch(i), tuning.candidates[i].grid, memory->memory());
        entrants[i].launch->reset();
      } catch (const Error &error) {
        exclude(i, error.message);
      }
    }
  }

  // Implements tune::Contest.
  size_t size() const override { return entrants.size(); }
  tune::Standing at(size_t i) const override {
    const Entrant &one = entrants[i];
    tune::Standing standing;
    standing.use = &one.candidate->use;
    standing.usable = one.right;
    standing.seconds = &one.seconds;
    standing.timed = !one.seconds.empty();
    if (standing.timed)
      standing.sample = tune::sampleOf(one.seconds);
    return standing;
  }
  void time(const std::vector<size_t> &which, int rounds) override {
    for (int round = 0; round < rounds; ++round)
      for (size_t place = 0; place < which.size(); ++place) {
        // Rounds run forward and backward alternately, so that drift affects
        // all configurations equally.
        const size_t i = which[round % 2 ? which.size() - 1 - place : place];
        if (!entrants[i].right)
          continue;
        if (round > 0 && over())
          return;
        if (!round)
          tell("timing", i);
        try {
          timeOnce(i);
        } catch (const Error &error) {
          exclude(i, error.message);
        }
      }
  }
  void forget(const std::vector<size_t> &which) override {
    for (size_t i : which)
      entrants[i].seconds.clear();
  }
  bool over() const override { return Clock::now() >= task.deadline; }
  std::string remark() const override {
    return drifted() ? ", while the GPU's speed changed" : "";
  }

  void timeOnce(size_t i) {
    std::vector<double> milliseconds;
    for (int k = 0; k < launchesOfATurn; ++k)
      milliseconds.push_back(
          entrants[i].launch->time(flush ? &*flush : nullptr));
    std::sort(milliseconds.begin(), milliseconds.end());
    const double seconds = 1e-3 * milliseconds[launchesOfATurn / 2];
    if (const std::string why = abovePeak(seconds); !why.empty())
      return exclude(i, why);
    entrants[i].seconds.push_back(seconds);
  }

  // Returns a message if the time is shorter than the hardware permits, else an
  // empty text.
  std::string abovePeak(double seconds) const {
    if (seconds <= 0)
      return "a launch of no time: a fault of the measurement";
    const LeastTime least = leastTime(loaded);
    return seconds < std::max(least.dots, least.memory)
               ? "faster than the hardware's peak allows: a fault "
                 "of the measurement"
               : "";
  }

  // Compares the first and the last times of the kernel's default
  // configuration, which takes part in every round.
  bool drifted() const {
    const std::vector<double> &own = entrants[0].seconds;
    if (own.size() < 8)
      return false;
    const auto half = own.begin() + long(own.size() / 2);
    const double first = tune::sampleOf({own.begin(), half}).median,
                 last = tune::sampleOf({half, own.end()}).median;
    return std::abs(last / first - 1) > driftLimit;
  }

  Json row() const {
    Json row = {{"kernel", loaded.recorded.kernel},
                {"target", target},
                {"key", describe(tuning.key)},
                {"drifted", drifted()}};
    size_t timed = 0;
    for (const Entrant &one : entrants) {
      Json cell = {{"use", describe(one.candidate->use)}};
      if (!one.seconds.empty()) {
        const tune::Sample sample = tune::sampleOf(one.seconds);
        cell["us"] = sample.median * 1e6;
        cell["spread"] = sample.spread;
        cell["turns"] = one.seconds.size();
        ++timed;
      }
      if (!one.problem.empty())
        cell["excluded"] = one.problem;
      row["candidates"].push_back(std::move(cell));
    }
    for (const auto &[use, why] : tuning.leftOut)
      row["left_out"].push_back({{"use", describe(use)}, {"why", why}});
    row["timed"] = timed;
    return row;
  }

  const TuneTask &task;
  const SayCandidate &say;
  const std::string target;
  cases::GpuDevice device{"", 1};
  cases::PackedTuning tuning;
  cases::LoadedCase loaded;
  std::vector<Entrant> entrants;
  std::optional<tune::TimedMemory> memory;
  std::optional<runtime::cuda::CacheFlush> flush;
};

} // namespace

Tuned tuneCase(const TuneTask &task, const SayCandidate &say) {
  return DeviceContest(task, say).tune();
}

} // namespace tessera::gpucheck
