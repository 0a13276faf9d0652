// autotune/model/Predict.cpp - predicts configurations for a GPU you do not
// have.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/Predict.h"

#include "autotune/model/CostModel.h"
#include "autotune/model/Floors.h"
#include "autotune/model/SampledGpu.h"
#include "autotune/search/CorrectnessCheck.h"
#include "autotune/search/Times.h"
#include "autotune/search/TuneLaunches.h"
#include "support/Error.h"
#include "support/Text.h"

#include <algorithm>
#include <cstdio>

namespace tessera::tune {

namespace {

// Small enough to respect a budget of seconds, large enough to keep all workers
// busy.
constexpr size_t compiledAtOnce = 4;

std::string times(double factor) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f times", factor);
  return text;
}

// Returns text such as "1.42 times the floor of tensor (31.5 us)".
std::string floorText(double microseconds, const LaunchProfile &profile,
                      const GpuData &gpu) {
  const Floor floor = floorsOf(profile, gpu).front();
  if (floor.microseconds <= 0)
    return "";
  char text[96];
  std::snprintf(text, sizeof(text), ", %.2f times the floor of %s (%.1f us)",
                microseconds / floor.microseconds, floor.unit.c_str(),
                floor.microseconds);
  const std::string unchecked = uncheckedPart(profile, gpu);
  return text + (unchecked.empty() ? "" : "; " + unchecked);
}

std::string blocksOf(const Prediction &one) {
  return std::to_string(one.resident) +
         (one.resident == 1 ? " block of an SM" : " blocks of an SM");
}

struct Predicted {
  TuneChoice use;
  Prediction prediction;
  std::string floor; // floorText()
};

class Predictor : public Run {
public:
  Predictor(std::vector<Job> &jobs, const SearchOptions &options,
            const GpuData &data, const std::atomic<bool> &interrupted)
      : Run(jobs, options, interrupted), data(data),
        gpu("sim:" + data.rates.target),
        known(Times::read(timesFile(options.out))) {}

private:
  void tuneJob(Job &job, Clock::time_point deadline,
               JobReport &report) override {
    if (over())
      return;
    job.loadTensors();
    const std::vector<Predicted> found = predictAll(job, deadline, report);
    for (const Predicted &one : found)
      note(job, one.use, one.prediction.microseconds * 1e-6, "");
    for (const JobReport::Excluded &one : report.excluded)
      note(job, one.choice, 0, one.why);
    if (!found.empty() && !interrupted)
      report.entry = entry(job, found);
  }

  // Later runs never reuse predicted times. They are stored for display
  // (tessera tune --show --html).
  void note(const Job &job, const TuneChoice &use, double seconds,
            const std::string &problem) {
    KnownTime time;
    time.setCandidate(job.key, use, use == job.space.candidates[0].use);
    time.what = job.kernel->info.signature.kernel + " " + time.choice;
    time.problem = problem;
    time.seconds.median = seconds;
    time.samples = problem.empty();
    const std::string key = "predicted " + describe(job.key) + " " +
                            job.key.textHash + " " + time.choice;
    known.set(key, std::move(time));
  }

  void save() override { known.write(timesFile(options.out)); }

  // Predicts all candidates, in their order. The first is the kernel's default
  // configuration. Throws Error if that one fails.
  std::vector<Predicted> predictAll(const Job &job, Clock::time_point deadline,
                                    JobReport &report) {
    const std::vector<Candidate> &candidates = job.space.candidates;
    cases::LoadedCase loaded = job.loaded;
    loaded.tf32 = job.launch.f32Default != "ieee";
    std::vector<Predicted> found;
    gpu = SampledGpu(gpu.name());
    for (size_t k = 0; k < candidates.size(); ++k) {
      if (interrupted || (!found.empty() && Clock::now() >= deadline))
        break;
      if (k % compiledAtOnce == 0)
        compileSome(job, k);
      const Candidate &candidate = candidates[k];
      show("predicting", "candidate " + std::to_string(k + 1) + " of " +
                             std::to_string(candidates.size()));
      const cases::PreparedLaunch launch = job.with(candidate);
      if (found.empty())
        if (auto other = withoutOldResults(loaded, launch, candidate.grid, gpu))
          loaded = std::move(*other);
      const std::string problem = check(loaded, launch, candidate.grid);
      if (problem.empty()) {
        const Prediction one = predict(gpu.profile(), data);
        if (found.empty()) {
          gpu.setMostInstructions(mostInstructions(gpu.profile()));
          gpu.requireStored();
        }
        found.push_back({candidate.use, one,
                         floorText(one.microseconds, gpu.profile(), data)});
        ++report.timed;
        continue;
      }
      if (found.empty())
        throw Error("the kernel's default configuration: " + problem);
      report.excluded.push_back({candidate.use, problem,
                                 commandFor(job, launch, candidate.grid,
                                            report.excluded.size(), problem)});
    }
    return found;
  }

  // Returns the instruction limit of a block; `own` is the profile of the
  // kernel's default configuration.
  static double mostInstructions(const LaunchProfile &own) {
    double largest = 0;
    for (const LaunchProfile::Sample &sample : own.samples)
      largest = std::max(largest, warpInstructions(sample.work));
    return slowestFactor * largest + 1e5;
  }

  // Compiles the next candidates in parallel.
  void compileSome(const Job &job, size_t first) const {
    const std::vector<Candidate> &all = job.space.candidates;
    std::vector<cases::PreparedLaunch> launches;
    std::vector<std::pair<const cases::PreparedLaunch *, Grid>> list;
    const size_t last = std::min(first + compiledAtOnce, all.size());
    launches.reserve(last - first);
    for (size_t k = first; k < last; ++k) {
      launches.push_back(job.with(all[k]));
      list.emplace_back(&launches.back(), all[k].grid);
    }
    cases::compileGpuLaunches(list);
  }

  std::string check(const cases::LoadedCase &loaded,
                    const cases::PreparedLaunch &launch, const Grid &grid) {
    try {
      // The reproducer shows the fault's place, so the first line suffices.
      return firstLine(checkResults(loaded, launch, grid, gpu).problem);
    } catch (const Error &error) {
      return "does not compile: " + error.message;
    }
  }

  std::string commandFor(const Job &job, const cases::PreparedLaunch &launch,
                         const Grid &grid, size_t number,
                         const std::string &problem) const {
    if (problem.starts_with("does not compile"))
      return "";
    const std::string folder =
        reproducer(job, launch, grid, std::to_string(number + 1));
    return folder.empty()
               ? ""
               : "tessera replay --device " + gpu.name() + " " + folder;
  }

  static TuneEntry entry(const Job &job, const std::vector<Predicted> &found) {
    std::vector<TimedChoice> choices;
    for (const Predicted &one : found)
      choices.push_back({one.use, one.prediction.microseconds * 1e-6});
    const size_t best = fastestOf(choices);
    const double gain = choices[0].seconds / choices[best].seconds;
    const size_t chosen = gain >= leastPredictedGain ? best : 0;
    TuneEntry entry =
        entryOf(job.key, choices, chosen, why(found, best, chosen, gain));
    entry.predicted = true;
    return entry;
  }

  static std::string why(const std::vector<Predicted> &found, size_t best,
                         size_t chosen, double gain) {
    const std::string limited =
        ", limited by " + found[chosen].prediction.limit + ", " +
        blocksOf(found[chosen].prediction) + found[chosen].floor;
    if (best == 0)
      return "the kernel's default configuration is predicted to be the "
             "fastest of " +
             std::to_string(found.size()) + limited;
    if (chosen == 0)
      return "the kernel's default configuration" + limited + "; " +
             describe(found[best].use) + " is predicted to be " + times(gain) +
             " as fast, too little to trust";
    return times(gain) + " as fast as the kernel's default configuration (" +
           blocksOf(found[0].prediction) + "), predicted" + limited;
  }

  const GpuData &data;
  SampledGpu gpu;
  Times known;
};

} // namespace

SearchResult predictTable(std::vector<Job> &jobs, const SearchOptions &options,
                          const GpuData &gpu,
                          const std::atomic<bool> &interrupted,
                          const std::function<void(const JobReport &)> &done) {
  return Predictor(jobs, options, gpu, interrupted).run(done);
}

} // namespace tessera::tune
