// tools/bench/Stages.cpp - tessera bench stages: times or counts each kernel of
// one layer's attention.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/Benchmark.h"
#include "language/Request.h"
#include "runtime/compile/CompileService.h"
#include "runtime/device/cuda/CudaKernel.h"
#include "runtime/device/cuda/DeviceMemory.h"
#include "runtime/launch/Parts.h"
#include "tools/bench/Attention.h"
#include "tools/bench/Options.h"
#include "tools/bench/Work.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

namespace tessera::bench {

namespace fs = std::filesystem;

namespace {

// Returns folders of recorded launches: NSA, then dense attention, forward and
// backward.
std::vector<fs::path> recordLayer(Run &run, int64_t tokens) {
  const Attention layer(run.config().model, tokens, at::kCPU, run.precision(),
                        true);
  std::vector<fs::path> all;
  const auto add = [&](const std::function<void()> &body) {
    run.progress("recording one layer of " + std::to_string(tokens) + " tokens",
                 0, 0);
    for (fs::path &folder : run.recording().of(body))
      all.push_back(std::move(folder));
  };
  at::Tensor nsa, dense;
  const auto backward = [](const at::Tensor &output,
                           const std::vector<at::Tensor> &leaves) {
    torch::autograd::grad({output}, leaves, {at::ones_like(output)});
  };
  add([&] { nsa = layer.nsa(); });
  add([&] { backward(nsa, layer.nsaLeaves()); });
  add([&] { dense = layer.dense(); });
  add([&] { backward(dense, layer.denseLeaves()); });
  return all;
}

std::vector<double> timeOnCpu(const tune::Job &job, int64_t rounds) {
  const tune::Candidate &own = job.space.candidates[0];
  const cases::PreparedLaunch launch = job.with(own);
  tune::TimedMemory memory(job.loaded);
  launch.kernel->prepare(memory.arguments(launch), launch.constexprs,
                         launch.options);
  std::vector<double> seconds;
  double guess = tune::timeLaunch(launch, own.grid, memory, 1);
  for (int64_t round = 0; round < rounds; ++round) {
    guess = tune::timeLaunch(launch, own.grid, memory, guess);
    seconds.push_back(guess);
  }
  return seconds;
}

std::vector<double> timeOnGpu(const tune::Job &job, int64_t rounds) {
  const tune::Candidate &own = job.space.candidates[0];
  const cases::PreparedLaunch launch = job.with(own);
  const tune::TimedMemory memory(job.loaded);
  const std::vector<Arg> args = memory.arguments(launch);
  LaunchOptions options = launch.options;
  options.device = findDevice("cuda:check");
  const auto compiled = runtime::CompileService::instance().get(
      launch.kernel->compileRequest(args, launch.constexprs, options));
  const auto kernel = runtime::loadCudaKernel(*compiled, launch.kernel->name(),
                                              launch.kernel->parameters());
  const auto bound = kernel->bind(own.grid, args);
  const runtime::cuda::CacheFlush flush(runtime::cuda::Driver::instance());
  bound->reset();
  bound->run();
  std::vector<double> seconds;
  for (int64_t round = 0; round < rounds; ++round) {
    bound->reset();
    seconds.push_back(bound->time(&flush) * 1e-3);
  }
  return seconds;
}

// Returns the name of the row. If a kernel has several launches, the name
// includes a number.
std::string nameOf(const fs::path &folder) {
  return folder.filename().string();
}

Row countRow(Run &run, const fs::path &folder, int64_t tokens) {
  const Counted counted = countLaunch(folder, run.gpu());
  Row row{nameOf(folder), tokens};
  row.flop = kernelFlop(counted.kernel, run.config().model, tokens);
  row.more = sumOf({counted});
  row.more["kernel"] = counted.kernel;
  // Assumes the same multiply-adds per tensor instruction as in the executed
  // ones.
  row.more["tensor_instructions_needed"] =
      counted.flop > 0 ? row.flop / (counted.flop / counted.tensorInstructions)
                       : 0;
  row.more["bound"] = counted.bound;
  row.more["registers"] = counted.registers;
  row.more["spilled_bytes"] = counted.spilledBytes;
  row.more["resident_blocks"] = counted.residentBlocks;
  row.more["predicted_for"] = run.gpu().rates.name;
  return row;
}

Row timeRow(Run &run, const fs::path &folder, int64_t tokens, int64_t rounds) {
  const std::string what =
      nameOf(folder) + " of " + std::to_string(tokens) + " tokens";
  if (const std::string why = run.brokenBy(what); !why.empty())
    return {.name = nameOf(folder), .tokens = tokens, .missing = why};
  run.measuring(what);
  const bool gpu = run.device().kind == BenchDevice::Kind::Cuda;
  tune::Job job = ownLaunch(folder, gpu ? "cuda:check" : "cpu");
  job.loadTensors();
  const std::string kernel = job.kernel->info.signature.kernel;
  Row row{nameOf(folder), tokens,
          gpu ? timeOnGpu(job, rounds) : timeOnCpu(job, rounds),
          kernelFlop(kernel, run.config().model, tokens), run.peak()};
  row.more["kernel"] = kernel;
  run.measuring("");
  return row;
}

} // namespace

int benchStages(Run &run) {
  if (run.device().ordinal)
    throw Error("--device " + run.device().name +
                    ": stages are timed on the first GPU",
                "write --device cuda, and choose the GPU by "
                "CUDA_VISIBLE_DEVICES");
  // The library records the launches of the torch ops. This program starts the
  // timed launches itself and does not record them.
  deviceNames(); // registers the library's hooks
  runtime::setLaunchHook(nullptr);
  const int64_t rounds = run.rounds(15);
  Result result(
      run.head(
          "kernels of one layer's attention, one sequence, each by itself"),
      run.options().out, run.counted(), run.unit());
  for (const int64_t tokens : run.lengths({run.counts() ? 512 : 2048})) {
    const std::vector<fs::path> folders = recordLayer(run, tokens);
    for (size_t i = 0; i < folders.size() && !run.interrupted(); ++i) {
      run.progress("bench stages: " + nameOf(folders[i]), i, folders.size());
      result.add(run.counts() ? countRow(run, folders[i], tokens)
                              : timeRow(run, folders[i], tokens, rounds));
    }
  }
  return result.finish(run.interrupted());
}

} // namespace tessera::bench
