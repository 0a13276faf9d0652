// autotune/Predict.cpp - configurations for a GPU that is not at hand.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/Predict.h"

#include "autotune/CostModel.h"
#include "autotune/Gate.h"
#include "autotune/SampledGpu.h"
#include "autotune/TableFile.h"
#include "support/Error.h"
#include "support/Log.h"
#include "support/Progress.h"

#include <algorithm>
#include <cstdio>

namespace tessera::tune {

namespace fs = std::filesystem;

namespace {

// Few enough that a budget of seconds is no lie, enough for every worker.
constexpr size_t compiledAtOnce = 4;

std::string times(double factor) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f times", factor);
  return text;
}

std::string blocksOf(const Prediction &one) {
  return std::to_string(one.resident) +
         (one.resident == 1 ? " block of an SM" : " blocks of an SM");
}

struct Predicted {
  TuneChoice use;
  Prediction prediction;
};

class Predictor {
public:
  Predictor(std::vector<Job> &jobs, const PredictOptions &options,
            const std::atomic<bool> &interrupted)
      : jobs(jobs), options(options), interrupted(interrupted),
        end(Clock::now() + options.budget),
        gpu("sim:" + options.gpu.rates.target),
        file(options.out, deviceModel(options.gpu), options.provenance) {}

  SearchResult run(const std::function<void(const JobReport &)> &done) {
    for (size_t i = 0; i < jobs.size(); ++i) {
      JobReport report = runJob(i);
      progress.clear();
      if (!interrupted || report.entry)
        done(report);
      result.reports.push_back(std::move(report));
      file.write();
    }
    result.table = file.table();
    result.interrupted = interrupted;
    return std::move(result);
  }

private:
  JobReport runJob(size_t index) {
    Job &job = jobs[index];
    JobReport report;
    report.key = job.key;
    for (const auto &[choice, why] : job.space.leftOut)
      report.excluded.push_back({choice, "not tried: " + why, ""});
    report.candidates = job.space.candidates.size();
    if (job.space.candidates.empty()) {
      report.error = "there is no configuration to try";
      if (!job.space.leftOut.empty()) {
        report.error = "the kernel's own choice " +
                       describe(job.space.leftOut[0].first) +
                       " for a GPU: " + job.space.leftOut[0].second;
        report.excluded.clear();
      }
      return report;
    }
    report.own = job.space.candidates[0].use;
    const auto now = Clock::now();
    if (now >= end || interrupted)
      return report;
    const auto share = (end - now) / (jobs.size() - index);
    try {
      job.loadTensors();
      const std::vector<Predicted> found =
          predictAll(index, now + share, report);
      if (!found.empty() && !interrupted)
        report.entry = entryOf(job, found);
    } catch (const Error &error) {
      report.error = error.message;
    }
    job.loaded.before.clear();
    job.loaded.after.clear();
    if (report.entry)
      file.replace(*report.entry);
    return report;
  }

  // In the order of the candidates; the first is the kernel's own choice.
  // Throws Error when that is wrong.
  std::vector<Predicted> predictAll(size_t index, Clock::time_point deadline,
                                    JobReport &report) {
    Job &job = jobs[index];
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
      if (progress.due())
        progress.show("predicting " + std::to_string(index + 1) + " of " +
                      std::to_string(jobs.size()) + ", " +
                      job.kernel->info.signature.kernel + ": candidate " +
                      std::to_string(k + 1) + " of " +
                      std::to_string(candidates.size()));
      const cases::PreparedLaunch launch = job.with(candidate);
      if (found.empty())
        if (auto other = withoutOldResults(loaded, launch, candidate.grid, gpu))
          loaded = std::move(*other);
      const std::string problem = check(loaded, launch, candidate.grid);
      if (problem.empty()) {
        const Prediction one = predict(gpu.profile(), options.gpu);
        if (found.empty())
          gpu.setMostInstructions(mostInstructions(gpu.profile()));
        found.push_back({candidate.use, one});
        ++report.timed;
        continue;
      }
      if (found.empty())
        throw Error("the kernel's own choice: " + problem);
      report.excluded.push_back({candidate.use, problem,
                                 reproducer(job, launch, candidate.grid,
                                            report.excluded.size(), problem)});
    }
    return found;
  }

  // Of a block; the kernel's own choice has `own`.
  static double mostInstructions(const LaunchProfile &own) {
    double largest = 0;
    for (const LaunchProfile::Sample &sample : own.samples)
      largest = std::max(largest, warpInstructions(sample.work));
    return slowestFactor * largest + 1e5;
  }

  // The next candidates, in parallel.
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
      const std::string text = checkResults(loaded, launch, grid, gpu).problem;
      // Where in the kernel a fault is, the reproducer shows.
      return text.substr(0, text.find('\n'));
    } catch (const Error &error) {
      return "does not compile: " + error.message;
    }
  }

  std::string reproducer(const Job &job, const cases::PreparedLaunch &launch,
                         const Grid &grid, size_t number,
                         const std::string &problem) const {
    if (problem.starts_with("does not compile"))
      return "";
    fs::path folder = options.out;
    folder += ".failed";
    folder /=
        job.kernel->info.signature.kernel + "-" + std::to_string(number + 1);
    try {
      writeReproducer(folder, job.loaded.folder, launch, grid);
    } catch (const Error &error) {
      logWarning(error.message);
      return "";
    }
    return "tessera replay --device " + gpu.name() + " " + folder.string();
  }

  TuneEntry entryOf(const Job &job, const std::vector<Predicted> &found) const {
    std::vector<size_t> ranked(found.size());
    for (size_t i = 0; i < ranked.size(); ++i)
      ranked[i] = i;
    std::stable_sort(ranked.begin(), ranked.end(), [&](size_t a, size_t b) {
      return timeOf(found[a]) < timeOf(found[b]);
    });
    const size_t best = ranked[0];
    const double gain = timeOf(found[0]) / timeOf(found[best]);
    const size_t chosen = gain >= leastPredictedGain ? best : 0;
    TuneEntry entry;
    entry.key = job.key;
    entry.use = found[chosen].use;
    entry.timeUs = timeOf(found[chosen]);
    entry.defaultUs = timeOf(found[0]);
    entry.date = today();
    entry.predicted = true;
    for (size_t i : ranked)
      if (i != chosen && !entry.runnerUp) {
        entry.runnerUp = found[i].use;
        entry.runnerUpUs = timeOf(found[i]);
      }
    entry.why = why(found, best, chosen, gain);
    return entry;
  }

  static double timeOf(const Predicted &one) {
    return one.prediction.microseconds;
  }

  static std::string why(const std::vector<Predicted> &found, size_t best,
                         size_t chosen, double gain) {
    const std::string limited = ", limited by " +
                                found[chosen].prediction.limit + ", " +
                                blocksOf(found[chosen].prediction);
    if (best == 0)
      return "the kernel's own choice is predicted to be the fastest of " +
             std::to_string(found.size()) + limited;
    if (chosen == 0)
      return "the kernel's own choice" + limited + "; " +
             describe(found[best].use) + " is predicted to be " + times(gain) +
             " as fast, too little to trust";
    return times(gain) + " as fast as the kernel's own choice (" +
           blocksOf(found[0].prediction) + "), predicted" + limited;
  }

  std::vector<Job> &jobs;
  const PredictOptions &options;
  const std::atomic<bool> &interrupted;
  const Clock::time_point end;
  SampledGpu gpu;
  TableFile file;
  Progress progress;
  SearchResult result;
};

} // namespace

SearchResult predictTable(std::vector<Job> &jobs, const PredictOptions &options,
                          const std::atomic<bool> &interrupted,
                          const std::function<void(const JobReport &)> &done) {
  return Predictor(jobs, options, interrupted).run(done);
}

} // namespace tessera::tune
