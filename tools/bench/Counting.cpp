// tools/bench/Counting.cpp - records launches of this process and counts them
// on a simulated GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/Counting.h"

#include "autotune/model/CostModel.h"
#include "autotune/model/SampledGpu.h"
#include "autotune/search/CorrectnessCheck.h"
#include "replay/Case.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Options.h"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace tessera::bench {

namespace fs = std::filesystem;

namespace {

// Runs all blocks of a launch on a simulated GPU, with every check.
class CountingGpu : public cases::Device {
public:
  explicit CountingGpu(std::string name) : text(std::move(name)) {}

  std::string name() const override { return text; }
  void run(const cases::LoadedCase &loaded, const cases::PreparedLaunch &launch,
           const std::vector<cases::ArgumentMemory> &memory, bool) override {
    LaunchOptions options = launch.options;
    options.device = findDevice(text);
    const sim::Report report =
        cases::gpuLaunch(*launch.kernel, boundArguments(launch, memory),
                         launch.constexprs, options, loaded.recorded.grid)
            .launch.run({});
    if (!report.ok())
      throw cases::LaunchFault(report.findings[0].text());
    counters = report.counters;
  }

  sim::Counters counters; // of the last launch

private:
  std::string text;
};

void checked(const cases::LoadedCase &loaded,
             const cases::PreparedLaunch &launch, const Grid &grid,
             cases::Device &device) {
  const tune::Verdict verdict =
      tune::checkResults(loaded, launch, grid, device);
  if (!verdict.problem.empty())
    throw Error("`" + loaded.recorded.kernel + "` on " + device.name() + ": " +
                    verdict.problem,
                "tessera check says where; figures of a wrong kernel mean "
                "nothing");
}

} // namespace

LaunchRecording::LaunchRecording() : folder("bench") {
  const auto set = [](Option option, const std::string &value) {
    ::setenv(optionInfo(option).name, value.c_str(), 1);
  };
  set(Option::Record, folder.path().string());
  set(Option::RecordKernels, "");
  set(Option::RecordLimit, "100000");
  set(Option::RecordDistinct, "0");
  // A benchmark does not print a line for each launch.
  ::setenv(optionInfo(Option::LogLevel).name, "warning", /*overwrite=*/0);
}

std::vector<fs::path> LaunchRecording::of(const std::function<void()> &body) {
  const auto all = [&] {
    std::set<fs::path> found;
    for (const auto &entry : fs::directory_iterator(folder.path()))
      if (fs::exists(entry.path() / "case.json"))
        found.insert(entry.path());
    return found;
  };
  const std::set<fs::path> before = all();
  body();
  std::vector<fs::path> made;
  for (const fs::path &path : all())
    if (!before.count(path))
      made.push_back(path);
  return made;
}

tune::Job ownLaunch(const fs::path &recorded, const std::string &device) {
  tune::JobList list = tune::loadJobs({recorded}, "", device);
  if (list.jobs.empty())
    throw Error(list.refused.at(0));
  tune::Job &job = list.jobs[0];
  if (job.space.candidates.empty())
    throw Error("`" + job.kernel->info.signature.kernel +
                    "` has no configuration for " + device +
                    (job.space.leftOut.empty()
                         ? std::string()
                         : ": " + job.space.leftOut[0].second),
                "say in the kernel's hint grid(...) how its grid follows from "
                "its tiles");
  return std::move(job);
}

Counted countLaunch(const fs::path &recorded, const tune::GpuData &gpu) {
  const std::string device = "sim:" + gpu.rates.target;
  tune::Job job = ownLaunch(recorded, device);
  job.loadTensors();
  const tune::Candidate &own = job.space.candidates[0];
  const cases::PreparedLaunch launch = job.with(own);
  job.loaded.tf32 = launch.f32Default != "ieee";

  CountingGpu counting(device);
  checked(job.loaded, launch, own.grid, counting);
  tune::SampledGpu sampled(device);
  checked(job.loaded, launch, own.grid, sampled);

  Counted result;
  result.kernel = job.kernel->info.signature.kernel;
  const sim::Counters &counters = counting.counters;
  result.warpInstructions = double(counters.warpInstructions);
  result.tensorInstructions = double(counters.tensorInstructions);
  for (const sim::InstructionCount &one : counters.instructions)
    result.flop += 2 * sim::multiplyAdds(one.opcode) * double(one.warps);
  result.bytes = sampled.profile().bytes;
  result.sectorBytes = 32 * double(counters.globalSectors);
  const tune::Prediction predicted = tune::predict(sampled.profile(), gpu);
  result.microseconds = predicted.microseconds;
  result.bound = predicted.limit;
  result.residentBlocks = predicted.resident;
  result.registers = sampled.profile().registers;
  result.spilledBytes = sampled.spilledBytes();
  return result;
}

Json sumOf(const std::vector<Counted> &launches) {
  Counted all;
  for (const Counted &one : launches) {
    all.warpInstructions += one.warpInstructions;
    all.tensorInstructions += one.tensorInstructions;
    all.flop += one.flop;
    all.bytes += one.bytes;
    all.sectorBytes += one.sectorBytes;
    all.microseconds += one.microseconds;
  }
  return {{"launches", launches.size()},
          {"warp_instructions", all.warpInstructions},
          {"tensor_instructions", all.tensorInstructions},
          {"flop_executed", all.flop},
          {"bytes", all.bytes},
          {"l2_bytes", all.sectorBytes},
          {"predicted_us", all.microseconds}};
}

} // namespace tessera::bench
