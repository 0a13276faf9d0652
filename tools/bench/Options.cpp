// tools/bench/Options.cpp - the options of every verb of `tessera bench`.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/Options.h"

#include "autotune/model/Devices.h"
#include "support/Options.h"
#include "support/StopSignals.h"
#include "support/Text.h"
#include "tools/bench/Counting.h"
#include "tools/bench/Timer.h"
#include "trainer/loop/Placement.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <cstdlib>
#include <memory>

namespace tessera::bench {

namespace {

// Default geometry without a config: 8 query heads, 2 KV heads of 64 channels,
// and the block sizes of the paper.
const std::vector<std::string> usual = {"model.dim=512", "model.n_heads=8",
                                        "model.n_kv_groups=2", "model.d_k=64",
                                        "model.d_v=64"};

trainer::Config configOf(const Options &options) {
  std::vector<std::string> settings =
      options.config.empty() ? usual : std::vector<std::string>();
  settings.insert(settings.end(), options.settings.begin(),
                  options.settings.end());
  return trainer::readConfig(options.config, settings);
}

// Launches on CPU tensors run on the CPU. For a simulated GPU, a recording of
// them is counted.
void chooseDevice(trainer::Config &config, const BenchDevice &device) {
  ::setenv(optionInfo(Option::Device).name, "cpu", 1);
  config.device = device.kind == BenchDevice::Kind::Cuda
                      ? trainer::ComputeDevice::Cuda
                      : trainer::ComputeDevice::Cpu;
}

// Returns the GPU whose times are predicted from the counters of sim:TARGET.
const tune::GpuData &gpuOf(const Options &options) {
  const std::string target =
      options.device.substr(options.device.find(':') + 1);
  const tune::GpuData &gpu =
      tune::findGpu(options.gpu.empty() ? target : options.gpu);
  if (gpu.rates.target != target)
    throw Error("--gpu " + options.gpu + " runs code for " + gpu.rates.target +
                    ", not for " + target,
                "write --device sim:" + gpu.rates.target);
  return gpu;
}

} // namespace

Run::Run(const Options &options)
    : given(options), settings(configOf(options)),
      where(parseDevice(options.device)), place(c10::kCPU) {
  if (!options.gpu.empty() && !counts())
    throw Error("--gpu " + options.gpu +
                    ": times are predicted in addition to the "
                    "counters of a simulated GPU",
                "add --device sim:" + tune::findGpu(options.gpu).rates.target);
  if (counts())
    predicted = &gpuOf(options);
  if (counts() || options.verb == "stages")
    recorded = std::make_unique<LaunchRecording>();
  // Recordings run on the cpu first. They must use the GPU's kernels, although
  // others may be faster there.
  if (counts())
    ::setenv(optionInfo(Option::KernelsOf).name, "gpu", 1);
  chooseDevice(settings, where);
  // Sets the threads of launches without a torch op, because the peak is that
  // of as many threads.
  ::setenv(optionInfo(Option::Threads).name,
           std::to_string(settings.threads).c_str(), 1);
  at::set_num_threads(int(settings.threads));
  place = trainer::placementOf(settings);
  if (where.ordinal)
    place = c10::Device(c10::kCUDA, c10::DeviceIndex(where.ordinal));
  if (where.kind == BenchDevice::Kind::Cpu)
    most = cpuPeak(int(settings.threads));
  else if (where.kind == BenchDevice::Kind::Cuda)
    most = gpuPeak(where.ordinal, optionText(Option::F32Default) != "ieee");
}

c10::ScalarType Run::precision() const {
  return settings.precision == trainer::Precision::Bf16 ? c10::kBFloat16
                                                        : c10::kFloat;
}

std::vector<int64_t> Run::lengths(std::vector<int64_t> otherwise) const {
  return given.lengths.empty() ? otherwise : given.lengths;
}

int64_t Run::rounds(int64_t otherwise) const {
  return given.rounds ? given.rounds : otherwise;
}

double Run::peak() const { return most.of(precision() != c10::kFloat); }

Json Run::head(const std::string &what) const {
  Json head = machineFacts(where, int(settings.threads));
  head["what"] = what;
  head["verb"] = given.verb;
  head["command"] = given.command;
  head["versions"]["torch"] = TORCH_VERSION;
  if (!counts())
    head["peak"] = {{"flop_per_s", peak()}, {"source", most.source}};
  const models::ModelConfig &model = settings.model;
  head["geometry"] = {{"heads", model.heads},
                      {"kv_heads", model.kvHeads},
                      {"d_k", model.keyDim},
                      {"d_v", model.valueDim},
                      {"l", model.nsa.blockLength},
                      {"d", model.nsa.stride},
                      {"n_sel", model.nsa.selectedBlocks},
                      {"l_sel", model.nsa.selectionLength},
                      {"w", model.nsa.window},
                      {"precision", c10::toString(precision())}};
  return head;
}

std::string Run::counted() const {
  return counts() ? "warp_instructions" : "us";
}
std::string Run::unit() const { return counts() ? "instructions" : "us"; }

bool Run::interrupted() const { return StopSignals::received() != 0; }

void Run::progress(const std::string &what, uint64_t done, uint64_t total) {
  if (line.due())
    line.show(what + line.timeLeft(done, total));
}

static void countVariants(Run &run, Result &result,
                          const std::vector<Variant> &variants,
                          int64_t tokens) {
  for (const Variant &variant : variants) {
    Row row{variant.name, tokens, {}, variant.flop, 0, variant.more};
    if (!variant.ours) {
      row.missing = "not ours: there is nothing to count";
      result.add(row);
      continue;
    }
    const auto folders = run.recording().of(variant.run);
    std::vector<Counted> counted;
    for (const auto &folder : folders) {
      if (run.interrupted())
        return;
      run.progress("counting " + variant.name + ", " +
                       folder.filename().string(),
                   counted.size(), folders.size());
      counted.push_back(countLaunch(folder, run.gpu()));
    }
    row.more.update(sumOf(counted));
    row.more["predicted_for"] = run.gpu().rates.name;
    result.add(row);
  }
}

namespace {

// Times of one variant.
struct Timed {
  const Variant &variant;
  std::vector<double> seconds;
  std::string missing; // why it is not timed
};

// The first run compiles kernels and fills caches.
void warmUp(Timed &timed, Timer &timer) {
  try {
    timer.seconds(timed.variant.run);
  } catch (const std::exception &error) {
    if (timed.variant.ours)
      throw;
    timed.missing = "does not run here: " + firstLine(error.what());
  }
}

} // namespace

void measure(Run &run, Result &result, const std::vector<Variant> &variants,
             int64_t tokens, int64_t rounds, uint64_t &done, uint64_t total) {
  if (run.counts())
    return countVariants(run, result, variants, tokens);
  static const std::unique_ptr<Timer> timer = Timer::of(run.device());
  std::vector<Timed> all;
  const auto nameOf = [&](const Timed &timed) {
    return timed.variant.name + " of " + std::to_string(tokens) + " tokens";
  };
  for (const Variant &variant : variants) {
    all.push_back({variant, {}, ""});
    all.back().missing = run.brokenBy(nameOf(all.back()));
  }
  for (int64_t round = 0; round <= rounds; ++round) {
    for (Timed &timed : all) {
      if (run.interrupted() || !timed.missing.empty())
        continue;
      run.progress("bench " + run.options().verb + ": " + timed.variant.name,
                   done, total);
      run.measuring(nameOf(timed));
      if (round == 0)
        warmUp(timed, *timer);
      else
        timed.seconds.push_back(timer->seconds(timed.variant.run));
    }
    done += uint64_t(tokens);
  }
  run.measuring("");
  for (Timed &timed : all)
    if (!timed.seconds.empty() || !timed.missing.empty())
      result.add({timed.variant.name, tokens, timed.seconds, timed.variant.flop,
                  run.peak(), timed.variant.more, timed.missing});
}

} // namespace tessera::bench
