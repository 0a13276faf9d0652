// autotune/search/TuneLaunches.cpp - iterates over launches and fills a table.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/TuneLaunches.h"

#include "autotune/search/CorrectnessCheck.h"
#include "support/Error.h"
#include "support/Log.h"

#include <algorithm>

namespace tessera::tune {

namespace fs = std::filesystem;

Run::Run(std::vector<Job> &jobs, const SearchOptions &options,
         const std::atomic<bool> &interrupted)
    : options(options), interrupted(interrupted), jobs(jobs),
      end(Clock::now() + options.budget),
      file(options.out, options.device, options.provenance) {}

// Entries apply to the upper end of a bucket. A recorded launch cannot be
// lengthened, because the contents of its other arguments are unknown.
static std::string ofOtherLength(const Job &job) {
  const int64_t length = job.launch.options.sequence;
  if (length == job.key.bucket)
    return "";
  return "; of a recording with " + std::to_string(length) + " tokens";
}

SearchResult Run::run(const std::function<void(const JobReport &)> &done) {
  SearchResult result;
  for (current = 0; current < jobs.size(); ++current) {
    JobReport report = runJob();
    progress.clear();
    if (!interrupted || report.entry)
      done(report);
    result.reports.push_back(std::move(report));
    save();
    file.write();
  }
  result.table = file.table();
  result.interrupted = interrupted;
  return result;
}

JobReport Run::runJob() {
  Job &job = jobs[current];
  JobReport report;
  report.key = job.key;
  report.candidates = job.space.candidates.size();
  if (job.space.candidates.empty()) {
    report.error = "no configuration to try";
    if (!job.space.leftOut.empty())
      report.error = "the kernel's default configuration " +
                     describe(job.space.leftOut[0].first) + ": " +
                     job.space.leftOut[0].second;
    return report;
  }
  for (const auto &[choice, why] : job.space.leftOut)
    report.excluded.push_back({choice, "not tried: " + why, ""});
  report.own = job.space.candidates[0].use;
  const auto now = Clock::now();
  const auto share = std::max(end - now, Clock::duration::zero()) /
                     int64_t(jobs.size() - current);
  try {
    tuneJob(job, now + share, report);
  } catch (const Error &error) {
    report.error = error.message;
  }
  job.loaded.before.clear();
  job.loaded.after.clear();
  if (report.entry) {
    report.entry->why += ofOtherLength(job);
    file.replace(*report.entry);
  }
  return report;
}

void Run::show(const std::string &doing, const std::string &what) {
  if (!progress.due())
    return;
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(
      std::max(end - Clock::now(), Clock::duration::zero()));
  progress.show(doing + " " + std::to_string(current + 1) + " of " +
                std::to_string(jobs.size()) + ", " +
                jobs[current].kernel->info.signature.kernel + ": " + what +
                ", at most " + std::to_string(left.count()) + " s left");
}

std::string Run::kept(const TuneKey &key) const {
  const TuneEntry *entry = file.table().find(key);
  return entry ? "the table keeps its entry " + describe(entry->use)
               : "launches use the kernel's default configuration";
}

std::string Run::reproducer(const Job &job, const cases::PreparedLaunch &launch,
                            const Grid &grid, const std::string &number) const {
  fs::path folder = options.out;
  folder += ".failed";
  folder /= job.kernel->info.signature.kernel + "-" + number;
  try {
    writeReproducer(folder, job.loaded.folder, launch, grid);
  } catch (const Error &error) {
    logWarning(error.message);
    return "";
  }
  return folder.string();
}

} // namespace tessera::tune
