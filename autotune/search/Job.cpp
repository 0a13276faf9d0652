// autotune/search/Job.cpp - recorded launches to tune, one per table entry.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/Job.h"

#include "autotune/choice/KernelKey.h"
#include "replay/Buffer.h"
#include "replay/Record.h"
#include "replay/Replay.h"
#include "runtime/launch/FindFile.h"
#include "runtime/launch/LaunchDevice.h"
#include "support/Error.h"
#include "support/Options.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace tessera::tune {

namespace fs = std::filesystem;
using cases::CaseArgument;
using cases::LoadedCase;

namespace {

// Returns the file with the kernel's configurations: the recorded path, else
// the kernel of this build with that name, else the case's copy.
std::string sourceFile(const LoadedCase &loaded) {
  const std::string own = (loaded.folder / loaded.recorded.kernelFile).string();
  if (!loaded.recorded.source)
    return own;
  const std::string &file = loaded.recorded.source->file;
  const size_t ours = file.rfind("/kernels/");
  for (const std::string &name :
       {file, ours == std::string::npos ? file : file.substr(ours + 1)})
    try {
      return runtime::findKernelFile(name);
    } catch (const Error &) {
    }
  return own;
}

// Returns the prefix sums of this argument: none, or at least two.
std::vector<int32_t> prefixSums(const LoadedCase &loaded, const char *name) {
  const CaseArgument *argument = loaded.recorded.find(name);
  const auto found = loaded.before.find(name);
  if (!argument || found == loaded.before.end() ||
      argument->type != DType::I32 || argument->layout.shape.size() != 1)
    return {};
  const std::string bytes = gather(*argument, found->second, name);
  std::vector<int32_t> sums(bytes.size() / sizeof(int32_t));
  std::memcpy(sums.data(), bytes.data(), sums.size() * sizeof(int32_t));
  return sums.size() < 2 ? std::vector<int32_t>() : sums;
}

// Adds the lengths of packed sequences if the kernel has a parameter CU, and
// the number of compressed tokens if it has CU_CMP.
void addSequences(const LoadedCase &loaded, runtime::Sizes &sizes) {
  if (const auto compressed = prefixSums(loaded, "CU_CMP"); !compressed.empty())
    sizes.emplace("TC", compressed.back());
  const std::vector<int32_t> starts = prefixSums(loaded, "CU");
  if (starts.empty())
    return;
  int64_t longest = 0;
  for (size_t i = 1; i < starts.size(); ++i)
    longest = std::max<int64_t>(longest, int64_t(starts[i]) - starts[i - 1]);
  sizes.emplace("B", int64_t(starts.size()) - 1);
  sizes.emplace("T", starts.back());
  sizes.emplace("S", longest);
}

runtime::KnownLaunch knownLaunch(const LoadedCase &loaded,
                                 const Constexprs &constexprs) {
  runtime::KnownLaunch known;
  known.grid = loaded.recorded.grid;
  for (const auto &[name, value] : constexprs)
    if (const auto *number = std::get_if<int64_t>(&value))
      known.sizes[name] = *number;
  for (const CaseArgument &argument : loaded.recorded.arguments)
    if (argument.value)
      if (const auto *number = std::get_if<int64_t>(&*argument.value))
        known.sizes[argument.name] = *number;
  if (loaded.recorded.source && loaded.recorded.source->sequence > 0)
    known.sizes["S"] = loaded.recorded.source->sequence;
  addSequences(loaded, known.sizes);
  return known;
}

Job makeJob(const fs::path &folder, const std::string &device) {
  Job job;
  job.loaded = cases::loadCase(folder);
  const cases::Case &recorded = job.loaded.recorded;
  job.launch = cases::prepareLaunch(job.loaded);
  const std::string file = sourceFile(job.loaded);
  job.kernel = runtime::describeKernel(file, recorded.kernel);
  Kernel kernel = Kernel::fromFile(file, recorded.kernel);
  if (kernel.parameters() != job.launch.kernel->parameters())
    throw Error(file + ": `" + recorded.kernel +
                    "` takes other arguments than when the launch was recorded",
                "record it again");
  job.launch.kernel = kernel;
  const Constexprs all = std::move(job.launch.constexprs);
  const std::vector<std::string> tunable = tunableNames(*job.kernel);
  for (const auto &[name, value] : all) {
    const bool chosen =
        std::find(tunable.begin(), tunable.end(), name) != tunable.end();
    const bool given =
        recorded.source ? recorded.source->given.contains(name) : !chosen;
    if (given)
      job.given[name] = value;
  }
  job.launch.constexprs = job.given;
  job.launch.options = LaunchOptions();
  job.launch.options.device = findDevice(device);
  job.launch.options.tuned = false;
  if (recorded.source)
    job.launch.options.sequence = recorded.source->sequence;
  job.launch.f32Default = optionText(Option::F32Default);
  job.key = makeKey(kernel, job.launch.args, job.given, job.launch.options);
  const auto searchSpace = job.launch.options.device.get()->isCpu()
                               ? cpuSearchSpace
                               : gpuSearchSpace;
  job.space = searchSpace(
      *job.kernel, knownLaunch(job.loaded, all), job.given,
      kernel.configuration(job.launch.args, job.given, job.launch.options));
  job.loaded.before.clear(); // loaded again for the job
  job.loaded.after.clear();
  return job;
}

uint64_t programs(const Job &job) {
  const Grid &grid = job.loaded.recorded.grid;
  return uint64_t(grid[0]) * grid[1] * grid[2];
}

} // namespace

void Job::loadTensors() {
  LoadedCase again = cases::loadCase(loaded.folder);
  loaded.before = std::move(again.before);
  loaded.after = std::move(again.after);
}

cases::PreparedLaunch Job::with(const Candidate &candidate) const {
  cases::PreparedLaunch result = launch;
  for (const auto &[name, value] : candidate.use.constexprs)
    result.constexprs[name] = value;
  result.options.numWarps = candidate.use.numWarps;
  result.options.numStages = candidate.use.numStages;
  return result;
}

JobList loadJobs(const std::vector<fs::path> &folders,
                 const std::string &patterns, const std::string &device) {
  JobList list;
  std::map<TuneKey, Job> largest;
  std::string names;
  bool matched = false;
  for (const fs::path &folder : folders) {
    try {
      const std::string kernel = cases::loadCaseText(folder).recorded.kernel;
      names += (names.empty() ? "" : ", ") + kernel;
      if (!runtime::matchesKernel(kernel, patterns))
        continue;
      matched = true;
      Job job = makeJob(folder, device);
      const TuneKey key = job.key;
      const auto [place, isNew] = largest.try_emplace(key, std::move(job));
      if (isNew)
        continue;
      ++list.duplicates;
      if (programs(job) > programs(place->second))
        place->second = std::move(job);
    } catch (const Error &error) {
      list.refused.push_back(folder.string() + ": " + error.message);
    }
  }
  if (!matched && list.refused.empty())
    throw Error("no recorded launch is of a kernel `" + patterns + "`",
                "there are: " + names);
  for (auto &[key, job] : largest)
    list.jobs.push_back(std::move(job));
  return list;
}

} // namespace tessera::tune
