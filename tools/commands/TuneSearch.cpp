// tools/commands/TuneSearch.cpp - the search of tessera tune, which measures
// configurations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/TuneSearch.h"

#include "autotune/choice/ThisMachine.h"
#include "autotune/model/Predict.h"
#include "replay/gpu/GpuDevice.h"
#include "runtime/device/cpu/Parallel.h"
#include "support/BuildId.h"
#include "support/Error.h"
#include "support/Log.h"
#include "support/Options.h"
#include "support/Quantities.h"
#include "support/ScratchFolder.h"
#include "support/StopSignals.h"
#include "tools/commands/OutOption.h"
#include "tools/commands/OutputCheck.h"
#include "tools/gpucheck/GpuCheck.h"
#include "tools/tune/OnCuda.h"
#include "tools/tune/Recorded.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

std::string timeText(double microseconds) {
  char text[32];
  std::snprintf(text, sizeof(text), microseconds < 1000 ? "%.1f us" : "%.3f ms",
                microseconds < 1000 ? microseconds : microseconds / 1000);
  return text;
}

// Returns the choice as in a table: "BM=64 BN=32". A kernel without
// configurations has an empty choice.
std::string nameOf(const tune::TuneChoice &choice) {
  const std::string text = describe(choice);
  return text.empty() ? "the kernel's default configuration" : text;
}

// Prints "window_fwd  BM=64 BN=32  1.234 ms -> BM=32 BN=64  0.987 ms, 1.25x".
void print(const tune::JobReport &report) {
  const size_t colon = report.key.kernel.rfind(':');
  std::string name = report.key.kernel.substr(colon + 1);
  if (report.key.bucket)
    name += " (sequence " + std::to_string(report.key.bucket) + ")";
  std::string line;
  if (!report.error.empty())
    line = "not tuned: " + report.error;
  else if (!report.entry)
    line = "no time left; go on with --resume";
  else if (report.entry->use == report.own)
    line = nameOf(report.own) + ", " + timeText(report.entry->timeUs) + ": " +
           report.entry->why;
  else
    line = nameOf(report.own) + ", " + timeText(report.entry->defaultUs) +
           " -> " + nameOf(report.entry->use) + ", " +
           timeText(report.entry->timeUs) + ": " + report.entry->why;
  std::printf("%-28s %s\n", name.c_str(), line.c_str());
  if (report.entry && report.timed + report.excluded.size() < report.candidates)
    std::printf("%-28s   %zu of %zu candidates were %s\n", "", report.timed,
                report.candidates,
                report.entry->predicted
                    ? "predicted; a larger --budget takes more"
                    : "timed; go on with --resume");
  for (const auto &excluded : report.excluded) {
    std::printf("%-28s   %s: %s\n", "", nameOf(excluded.choice).c_str(),
                excluded.why.c_str());
    if (!excluded.reproduce.empty())
      std::printf("%-28s   to reproduce: %s\n", "", excluded.reproduce.c_str());
  }
  std::fflush(stdout);
}

void warnOfNoise(const tune::SearchResult &result) {
  double busy = 0;
  size_t drifted = 0;
  for (const tune::JobReport &report : result.reports) {
    busy = std::max(busy, report.othersBusy);
    drifted += report.drifted;
  }
  // A fifth of a core is more than an idle system uses.
  if (busy > 0.2) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.1f", busy);
    logWarning("other programs kept " + std::string(text) +
               " processors busy while kernels were timed: times are better "
               "taken on a machine at rest");
  }
  if (drifted)
    logWarning("the speed of the machine changed by more than 5% while " +
               std::to_string(drifted) +
               " launches were timed, twice in a row");
}

int summarize(const TuneSearch &search, const tune::SearchResult &result) {
  size_t measured = 0, changed = 0;
  for (const tune::JobReport &report : result.reports) {
    measured += report.entry.has_value();
    changed += report.entry && report.entry->use != report.own;
  }
  warnOfNoise(result);
  std::printf("%zu of %zu launches %s, %zu with another configuration than "
              "the kernel's own; table: %s\n",
              measured, result.reports.size(),
              search.gpu.empty() ? "tuned" : "predicted", changed,
              search.out.c_str());
  if (search.gpu.empty() && search.device == "cpu")
    std::printf("timed with %d CPU thread%s\n", runtime::hostThreads(),
                runtime::hostThreads() == 1 ? "" : "s");
  if (!result.interrupted)
    return measured ? 0 : 1;
  std::fprintf(stderr, "tessera: interrupted; go on with: %s --resume\n",
               commandLine(search).c_str());
  return 128 + SIGINT;
}

} // namespace

void addTuneSearchOptions(CLI::App &verb, TuneSearch &search) {
  verb.add_option(
      "--config", search.config,
      "a training run, of which a micro-batch is recorded and tuned: "
      "tessera train --config FILE [key=value ...]");
  verb.add_option("inputs", search.rest,
                  "settings of the run with --config, else FILE.py of a "
                  "pattern, whose op is tuned, with sizes (model.n_heads=8 "
                  "train.seq_len=4096), or folders of recorded launches "
                  "(docs/cases.md)");
  verb.add_option("--kernels", search.kernels,
                  "patterns of kernel names: \"select_*,rope\"; default: all");
  verb.add_option("--device", search.device,
                  "whose kernels are timed: cpu, or cuda for the GPU of this "
                  "machine")
      ->capture_default_str();
  verb.add_option("--gpu", search.gpu,
                  "predict times for a GPU that this machine lacks: a100, "
                  "a100-pcie, h100, h200 (docs/cost-model.md)");
  verb.add_option("--budget", search.budget,
                  "time to compile and measure: 90s, 5m")
      ->capture_default_str();
  addOut(verb, search.out,
         "the table; entries are added to one that is there; "
         "FOLDER/: named after the device, there");
  verb.add_flag("--resume", search.resume,
                "time nothing again whose time is known from an earlier run "
                "(next to the table, in TABLE.times)");
}

bool wantsSearch(const TuneSearch &search) {
  return !search.config.empty() || !search.rest.empty();
}

namespace {

// Times CPU kernels with the threads of the recorded launches, which are those
// of the run, unless TESSERA_THREADS is set. Launches of a larger machine use
// all processors of this one.
void useRecordedThreads(const tune::JobList &list) {
  if (optionNumber(Option::Threads) != 0)
    return;
  int64_t threads = 0;
  for (const tune::Job &job : list.jobs)
    if (job.loaded.recorded.source)
      threads = std::max(threads, job.loaded.recorded.source->threads);
  threads = std::min<int64_t>(threads, std::thread::hardware_concurrency());
  if (threads > 0)
    ::setenv(optionInfo(Option::Threads).name, std::to_string(threads).c_str(),
             1);
}

// Records the launches to tune, or finds recorded ones.
tune::JobList jobsOf(const TuneSearch &search, const fs::path &scratch,
                     const std::string &device) {
  tune::JobList list =
      tune::loadJobs(recordedFolders(search, scratch), search.kernels, device);
  // Limits compilation so that one kernel cannot use the time of all others.
  if (!std::getenv(optionInfo(Option::CompileTimeout).name))
    ::setenv(optionInfo(Option::CompileTimeout).name, "60", 1);
  for (const std::string &why : list.refused)
    logWarning("not tuned: " + why);
  if (list.jobs.empty())
    throw Error("no launch to tune",
                "see the reasons above; record the launches again");
  if (device == "cpu")
    useRecordedThreads(list);
  return list;
}

// Names the table after the device if the user gave no name or only a folder.
tune::SearchOptions searchOptions(TuneSearch &search,
                                  const tune::DeviceModel &device) {
  tune::SearchOptions options;
  options.budget = parseTimeSpan(search.budget, "--budget");
  options.resume = search.resume;
  options.device = device;
  if (search.out.empty() || search.out.ends_with('/'))
    search.out += fileStem(device) + ".yaml";
  // The search on a GPU creates the folder, for the files of its work.
  if (search.device == "cuda")
    requireWritableFolder(fs::absolute(search.out).parent_path());
  else
    requireWritableFile(search.out);
  options.out = search.out;
  options.provenance.compiler = compilerBuildId();
  options.provenance.command = commandLine(search);
  return options;
}

int runPrediction(TuneSearch search) {
  if (search.device != "cpu" || search.resume)
    throw Error("--gpu predicts times and measures nothing: " +
                    std::string(search.resume ? "there is nothing to --resume"
                                              : "it takes no --device"),
                "leave one of the two out");
  const tune::GpuData gpu = tune::findGpu(search.gpu);
  const tune::SearchOptions options =
      searchOptions(search, tune::deviceModel(gpu));
  const StopSignals signals;
  const ScratchFolder scratch("tune");
  tune::JobList list =
      jobsOf(search, scratch.path(), "sim:" + gpu.rates.target);
  return summarize(search, tune::predictTable(list.jobs, options, gpu,
                                              StopSignals::isSet(), print));
}

} // namespace

int runTuneSearch(const TuneSearch &given) {
  TuneSearch search = given;
  if (!search.gpu.empty())
    return runPrediction(search);
  if (search.device != "cpu" && search.device != "cuda")
    throw Error("--device " + search.device + " is not tuned",
                "say --device cpu or --device cuda; --gpu NAME predicts for a "
                "GPU that this machine lacks");
  const tune::SearchOptions options = searchOptions(
      search, search.device == "cuda"
                  ? gpucheck::deviceOf(cases::gpuFacts())
                  : tune::deviceModel(runtime::findLaunchDevice("cpu")));
  const StopSignals signals;
  if (search.device == "cuda")
    return tuneOnCuda(search, options);
  const ScratchFolder scratch("tune");
  tune::JobList list = jobsOf(search, scratch.path(), search.device);
  return summarize(
      search, tune::search(list.jobs, options, StopSignals::isSet(), print));
}

} // namespace tessera::tools
