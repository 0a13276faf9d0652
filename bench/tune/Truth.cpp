// bench/tune/Truth.cpp - the tuner against an exhaustive search of recorded
// launches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
//   tune_truth OUT.json SECONDS LIMIT CASES...
//
// Of every launch all candidates are compiled, checked and timed alternately.
// Then search() gets
// SECONDS for it, twice: as the launch is, and with the slowest candidate
// set as the kernel's default. The fastest, the kernel's default and what was
// found twice are then timed in turns again. A launch that OUT.json has is left
// out, none begins after LIMIT seconds (0: no limit); 0 SECONDS: without the
// searches. bench/tune_truth.py adds where and when. TESSERA_THREADS=1 keeps
// other programs out of the times (autotune/search/Benchmark.h).
#include "autotune/choice/ThisMachine.h"
#include "autotune/search/Search.h"
#include "replay/Case.h"
#include "runtime/launch/LaunchDevice.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Json.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>

using namespace tessera;
using namespace tessera::tune;
namespace fs = std::filesystem;

namespace {

constexpr int rounds = 7, finalRounds = 7, finalProcesses = 3;
std::atomic<bool> never{false};

Clock::time_point inHours(int hours) {
  return Clock::now() + std::chrono::hours(hours);
}

Json exhaustive(Trials &trials) {
  trials.compile(inHours(2));
  trials.check(inHours(2));
  std::vector<size_t> right;
  for (size_t i = 0; i < trials.all.size(); ++i)
    if (trials.all[i].state == Trial::State::Right)
      right.push_back(i);
  trials.time(right, rounds, inHours(2));
  Json candidates = Json::array();
  for (const Trial &trial : trials.all) {
    Json one = {{"use", describe(trial.candidate.use)},
                {"grid", trial.candidate.grid},
                {"tiles", Json::object()}};
    for (const auto &[name, value] : trial.candidate.use.constexprs)
      if (const auto *number = std::get_if<int64_t>(&value))
        one["tiles"][name] = *number;
    if (trial.timed()) {
      one.update(Json{{"us", trial.sample.median * 1e6},
                      {"spread", trial.sample.spread}});
    } else {
      one["excluded"] = trial.problem;
    }
    candidates.push_back(std::move(one));
  }
  return candidates;
}

// What search() chooses; empty where it has no entry.
std::string choice(const Job &job, int seconds, const fs::path &table) {
  SearchOptions options;
  options.budget = std::chrono::seconds(seconds);
  options.out = table;
  options.device = deviceModel(runtime::findLaunchDevice("cpu"));
  std::vector<Job> jobs = {job};
  const SearchResult found =
      search(jobs, options, never, [](const JobReport &) {});
  fs::remove(table);
  fs::remove(timesFile(table));
  const auto &entry = found.reports.at(0).entry;
  return entry ? describe(entry->use) : "";
}

// Times of these and of the fastest, in turns, by what they choose. Each of
// several processes has its tensors at other addresses.
Json timesInTurns(Trials &trials, const std::vector<std::string> &uses) {
  std::vector<size_t> which;
  size_t fastest = 0;
  for (size_t i = 0; i < trials.all.size(); ++i)
    if (trials.all[i].timed() &&
        trials.all[i].sample.median < trials.all[fastest].sample.median)
      fastest = i;
  for (size_t i = 0; i < trials.all.size(); ++i)
    if (const std::string use = describe(trials.all[i].candidate.use);
        trials.all[i].timed() &&
        (i == 0 || i == fastest ||
         std::find(uses.begin(), uses.end(), use) != uses.end())) {
      which.push_back(i);
      trials.all[i].seconds.clear();
    }
  for (int i = 0; i < finalProcesses; ++i)
    trials.time(which, finalRounds, inHours(2));
  Json times = Json::object();
  for (size_t i : which)
    times[describe(trials.all[i].candidate.use)] =
        trials.all[i].sample.median * 1e6;
  return times;
}

// The slowest correct candidate becomes the kernel's default configuration.
void plant(Job &job, const Json &candidates) {
  size_t slowest = 0;
  double most = 0;
  for (size_t i = 0; i < candidates.size(); ++i)
    if (const double us = candidates[i].value("us", 0.0); us > most) {
      most = us;
      slowest = i;
    }
  auto &list = job.space.candidates;
  std::rotate(list.begin(), list.begin() + int64_t(slowest),
              list.begin() + int64_t(slowest) + 1);
}

Json measured(Job job, int seconds, const std::string &out) {
  Json row = {{"kernel", job.key.kernel},
              {"key", describe(job.key)},
              {"bucket", job.key.bucket},
              {"programs", job.loaded.recorded.grid},
              {"seconds_each", seconds}};
  Job planted = job;
  job.loadTensors();
  Trials trials(job, never, [](const std::string &) {});
  row["candidates"] = exhaustive(trials);
  if (seconds == 0)
    return row;
  std::vector<std::string> uses = {choice(job, seconds, out + ".own.yaml")};
  plant(planted, row["candidates"]);
  uses.push_back(choice(planted, seconds, out + ".planted.yaml"));
  row["tuned"] = uses[0];
  row["tuned_from_slowest"] = uses[1];
  row["in_turns_us"] = timesInTurns(trials, uses);
  return row;
}

int run(int argc, char **argv) {
  const std::string out = argv[1];
  const int seconds = std::stoi(argv[2]), limit = std::stoi(argv[3]);
  const auto begin = Clock::now();
  std::vector<fs::path> folders;
  for (int i = 4; i < argc; ++i)
    for (const fs::path &folder : cases::findCases(argv[i]))
      folders.push_back(folder);
  JobList list = loadJobs(folders, "", "cpu");
  const auto text = tryReadFile(out);
  Json rows = text ? parseJson(*text, out) : Json::array();
  for (const Job &job : list.jobs) {
    const std::string key = describe(job.key);
    if (std::any_of(rows.begin(), rows.end(),
                    [&](const Json &row) { return row["key"] == key; }))
      continue;
    if (limit > 0 && Clock::now() - begin > std::chrono::seconds(limit))
      break;
    rows.push_back(measured(job, seconds, out));
    writeFile(out, rows.dump(1) + "\n");
    std::fprintf(stderr, "%zu of %zu: %s\n", rows.size(), list.jobs.size(),
                 job.key.kernel.c_str());
  }
  std::fprintf(stderr, "%zu of %zu launches are measured\n", rows.size(),
               list.jobs.size());
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  try {
    if (argc < 5)
      throw Error("tune_truth takes OUT.json SECONDS LIMIT CASES...",
                  "bench/tune/Truth.cpp says which");
    return run(argc, argv);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "tune_truth: %s\n", error.what());
  }
  return 1;
}
