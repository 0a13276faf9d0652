// bench/tune/Truth.cpp - the tuner against an exhaustive search of recorded
// launches. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
//
//   tune_truth OUT.json SECONDS CASES...
//
// Of every launch all candidates are compiled, checked and timed in turns. Then
// search() gets SECONDS for each, twice: as the launch is, and with the slowest
// candidate planted as the kernel's own choice. bench/tune_truth.py adds where
// and when. TESSERA_THREADS=1 keeps other programs out of the times
// (autotune/Benchmark.h).
#include "autotune/Search.h"
#include "runtime/cases/Case.h"
#include "runtime/launch/LaunchDevice.h"
#include "runtime/tune/DeviceModel.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Json.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <numeric>
#include <string>

using namespace tessera;
using namespace tessera::tune;
namespace fs = std::filesystem;

namespace {

constexpr int rounds = 7;
std::atomic<bool> never{false};

Clock::time_point inHours(int hours) {
  return Clock::now() + std::chrono::hours(hours);
}

Json exhaustive(Job &job) {
  job.loadTensors();
  Trials trials(job, never, [](const std::string &) {});
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
    if (trial.timed())
      one.update(Json{{"us", trial.sample.median * 1e6},
                      {"spread", trial.sample.spread}});
    else
      one["excluded"] = trial.problem;
    candidates.push_back(std::move(one));
  }
  job.loaded.before.clear();
  job.loaded.after.clear();
  return candidates;
}

// What search() chooses for each job; empty where it has no entry.
std::vector<std::string> choices(std::vector<Job> jobs, int seconds,
                                 const fs::path &table) {
  SearchOptions options;
  options.budget = std::chrono::seconds(seconds * int(jobs.size()));
  options.out = table;
  options.device = deviceModel(runtime::findLaunchDevice("cpu"));
  std::vector<std::string> chosen;
  for (const JobReport &report :
       search(jobs, options, never, [](const JobReport &) {}).reports)
    chosen.push_back(report.entry ? describe(report.entry->use) : "");
  fs::remove(table);
  fs::remove(timesFile(table));
  return chosen;
}

// The slowest that is right becomes the kernel's own choice.
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

int run(int argc, char **argv) {
  const std::string out = argv[1];
  const int seconds = std::stoi(argv[2]);
  std::vector<fs::path> folders;
  for (int i = 3; i < argc; ++i)
    for (const fs::path &folder : cases::findCases(argv[i]))
      folders.push_back(folder);
  JobList list = loadJobs(folders, "", "cpu");
  Json rows = Json::array();
  for (Job &job : list.jobs) {
    rows.push_back({{"kernel", job.key.kernel},
                    {"key", describe(job.key)},
                    {"bucket", job.key.bucket},
                    {"programs", job.loaded.recorded.grid},
                    {"candidates", exhaustive(job)}});
    std::fprintf(stderr, "%zu of %zu: %s\n", rows.size(), list.jobs.size(),
                 job.key.kernel.c_str());
  }
  const std::vector<std::string> own =
      choices(list.jobs, seconds, out + ".own.yaml");
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i]["tuned"] = own[i];
    plant(list.jobs[i], rows[i]["candidates"]);
  }
  const std::vector<std::string> planted =
      choices(list.jobs, seconds, out + ".planted.yaml");
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i]["tuned_from_slowest"] = planted[i];
  writeFile(out,
            Json{{"seconds_each", seconds}, {"rows", rows}}.dump(1) + "\n");
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  try {
    if (argc < 4)
      throw Error("tune_truth takes OUT.json SECONDS CASES...",
                  "bench/tune/Truth.cpp says which");
    return run(argc, argv);
  } catch (const Error &error) {
    std::fprintf(stderr, "tune_truth: %s\nHINT: %s\n", error.message.c_str(),
                 error.hint.c_str());
  } catch (const std::exception &error) {
    std::fprintf(stderr, "tune_truth: %s\n", error.what());
  }
  return 1;
}
