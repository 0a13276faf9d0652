// tools/bench/Launch.cpp - tessera bench launch: host time of a cached launch
// compared with a bare call of the same code.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Request.h"
#include "runtime/compile/CompileService.h"
#include "runtime/device/cpu/CpuModule.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/Driver.h"
#include "tools/bench/LaunchKernel.h"
#include "tools/bench/Options.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/InferenceMode.h>
#include <torch/library.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace tessera::bench {

namespace {

// Limits in microseconds (docs/bench.md).
constexpr double cpuBar = 0.3, cudaBar = 0.5, opBar = 3 * 0.067 + cpuBar;

alignas(64) float memory[4][64];

// The arguments of a launch, created at every launch as at a call site. The
// launch does not access elements.
#define LAUNCH_ARGUMENTS                                                       \
  {Pointer{memory[0], DType::FP32, 256},                                       \
   Pointer{memory[1], DType::FP32, 256},                                       \
   int64_t(0),                                                                 \
   0.125,                                                                      \
   int64_t(1) << 40,                                                           \
   Pointer{memory[2], DType::FP32, 256},                                       \
   Pointer{memory[3], DType::I32, 256},                                        \
   int64_t(512),                                                               \
   int64_t(192),                                                               \
   int64_t(64),                                                                \
   int64_t(96),                                                                \
   int64_t(32),                                                                \
   int64_t(96),                                                                \
   int64_t(32),                                                                \
   int64_t(192),                                                               \
   int64_t(64)}

constexpr Dimension dimensions[] = {{"G", 4},   {"W", 512}, {"D", 64},
                                    {"DP", 64}, {"E", 64},  {"EP", 64}};

Constexprs constexprs() {
  Constexprs all;
  for (const Dimension &dimension : dimensions)
    all[std::string(dimension.name)] = dimension.value;
  return all;
}

Kernel kernel() { return Kernel::fromSource(launchKernel, "add"); }

// Returns the CPU seconds of this thread, on which other processes have little
// effect.
double threadSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

// A call that is timed repeatedly.
struct Call {
  std::string name;
  std::function<void(int64_t times)> run;
  std::function<void()> settle; // after each batch; not timed
  std::vector<double> seconds;  // of one call, by round
};

void timeCalls(Run &run, std::vector<Call> &calls, int64_t rounds,
               int64_t batch, int64_t batches) {
  for (Call &call : calls) // compiles
    call.run(1);
  for (int64_t round = 0; round < rounds && !run.interrupted(); ++round) {
    run.progress("bench launch", uint64_t(round), uint64_t(rounds));
    for (Call &call : calls) {
      // Takes the minimum of several batches, because a batch may be
      // interrupted.
      double least = 1;
      for (int64_t i = 0; i < batches; ++i) {
        const double start = threadSeconds();
        call.run(batch);
        least = std::min(least, (threadSeconds() - start) / double(batch));
        if (call.settle)
          call.settle();
      }
      call.seconds.push_back(least);
    }
  }
}

// Adds a row with the times of `own`, or with `above` their excess over
// `beside`.
void addRow(Result &result, const std::string &name, const Call &own,
            const Call &beside, bool above, double bar) {
  std::vector<double> seconds;
  for (size_t i = 0; i < own.seconds.size(); ++i)
    seconds.push_back(own.seconds[i] - (above ? beside.seconds[i] : 0));
  if (seconds.empty())
    return;
  Json more = {{"what", above ? "above the bare call" : "end to end"},
               {"beside", beside.name},
               {"beside_us", timesJson(beside.seconds)["us"]}};
  if (bar > 0) {
    more["bar_us"] = bar;
    more["missed"] = timesJson(seconds)["us"].get<double>() > bar;
  }
  result.add({name, 0, seconds, 0, 0, more});
}

// Calls the machine code of the launches as a launch calls it.
Call bareCpu() {
  const auto compiled = runtime::CompileService::instance().get(
      kernel().compileRequest(LAUNCH_ARGUMENTS, constexprs()));
  const auto module = std::make_shared<runtime::CpuModule>(
      compiled->code, compiled->meta.symbol);
  return {"bare call",
          [module](int64_t times) {
            int64_t slots[64] = {};
            const uint32_t pid[3] = {0, 0, 0}, grid[3] = {1, 1, 1};
            alignas(64) static char scratch[1 << 16];
            for (int64_t i = 0; i < times; ++i) {
              module->entry()(slots, pid, grid, scratch);
              asm volatile("" ::: "memory");
            }
          },
          {},
          {}};
}

Call prepared(const LaunchOptions &options) {
  const auto launch =
      std::make_shared<PreparedLaunch>(kernel(), Constexprs{}, options);
  return {"prepared launch",
          [launch](int64_t times) {
            for (int64_t i = 0; i < times; ++i) {
              const Arg args[] = LAUNCH_ARGUMENTS;
              launch->launch({1, 1, 1}, args, dimensions);
            }
          },
          {},
          {}};
}

Call unprepared() {
  return {"launch by map",
          [launched = kernel(), args = std::vector<Arg> LAUNCH_ARGUMENTS,
           given = constexprs()](int64_t times) {
            for (int64_t i = 0; i < times; ++i)
              launched.launch({1, 1, 1}, args, given);
          },
          {},
          {}};
}

using Signature = void(c10::string_view, c10::string_view, at::TensorList,
                       at::ArrayRef<c10::Scalar>, c10::SymIntArrayRef,
                       c10::string_view);

void nothing(c10::string_view, c10::string_view, at::TensorList,
             at::ArrayRef<c10::Scalar>, c10::SymIntArrayRef, c10::string_view) {
}

TORCH_LIBRARY(tessera_bench, m) {
  m.def("nothing(str file, str kernel, Tensor(a!)[] tensors, Scalar[] scalars, "
        "SymInt[] grid, str constexprs) -> ()");
}
TORCH_LIBRARY_IMPL(tessera_bench, CPU, m) { m.impl("nothing", nothing); }

// The kernel in a temporary file, which the destructor removes.
class KernelFile {
public:
  KernelFile() {
    ::close(::mkstemps(path.data(), 3));
    // The op takes tensors first, then scalars.
    std::string text = launchKernel;
    const std::string order = "x, y, n, s, wide, lse, cu, T,";
    text.replace(text.find(order), order.size(),
                 "x, y, lse, cu, n, s, wide, T,");
    std::ofstream(path) << text;
  }
  ~KernelFile() { ::unlink(path.c_str()); }
  KernelFile(const KernelFile &) = delete;

  std::string path =
      (std::filesystem::temp_directory_path() / "tessera-bench-XXXXXX.py")
          .string();
};

Call torchOp(const std::string &called, const char *name,
             const std::shared_ptr<KernelFile> &file) {
  const auto op = c10::Dispatcher::singleton()
                      .findSchemaOrThrow(name, "")
                      .typed<Signature>();
  const std::vector<at::Tensor> tensors = {
      at::zeros(64), at::zeros(64), at::zeros(64), at::zeros(64, at::kInt)};
  const std::vector<c10::Scalar> scalars = {
      int64_t(0),   0.125,       int64_t(1) << 40, int64_t(512),
      int64_t(192), int64_t(64), int64_t(96),      int64_t(32),
      int64_t(96),  int64_t(32), int64_t(192),     int64_t(64)};
  return {called,
          [=](int64_t times) {
            const c10::InferenceMode guard;
            const c10::SymInt one[] = {1};
            for (int64_t i = 0; i < times; ++i)
              op.call(file->path, "add", tensors, scalars, one,
                      "G=4, W=512, D=64, DP=64, E=64, EP=64");
          },
          {},
          {}};
}

void launchOnCpu(Run &run, Result &result) {
  const auto file = std::make_shared<KernelFile>();
  std::vector<Call> calls = {
      bareCpu(), prepared({}), unprepared(),
      torchOp("op that does nothing", "tessera_bench::nothing", file),
      torchOp("torch op of 16 arguments", "tessera::launch", file)};
  timeCalls(run, calls, run.rounds(31), 2000, 5);
  addRow(result, "prepared launch", calls[1], calls[0], true, cpuBar);
  addRow(result, "launch by map", calls[2], calls[0], true, 0);
  addRow(result, "torch op of 16 arguments", calls[4], calls[3], false, opBar);
}

void launchOnGpu(Run &run, Result &result) {
  const char *const name = "prepared launch";
  if (const std::string why = run.brokenBy(name); !why.empty())
    return result.add({.name = name, .missing = why});
  run.measuring(name);
  const auto &driver = runtime::cuda::Driver::instance(run.device().ordinal);
  LaunchOptions options;
  options.device = runtime::cudaDevice(run.device().ordinal);
  const auto compiled = runtime::CompileService::instance().get(
      kernel().compileRequest(LAUNCH_ARGUMENTS, constexprs(), options));
  driver.use();
  runtime::cuda::Module module = nullptr;
  runtime::cuda::Function function = nullptr;
  driver.check(
      driver.api().ModuleLoadData(&module, compiled->stages.at("ptx").c_str()),
      "loading a kernel");
  driver.check(driver.api().ModuleGetFunction(&function, module,
                                              compiled->meta.symbol.c_str()),
               "finding a kernel");
  const auto settle = [&driver] {
    driver.check(driver.api().CtxSynchronize(), "running launches");
  };
  std::vector<Call> calls = {
      {"bare cuLaunchKernel",
       [&driver, function, threads = compiled->meta.threads](int64_t times) {
         uint64_t values[16] = {reinterpret_cast<uintptr_t>(memory[0]),
                                reinterpret_cast<uintptr_t>(memory[1])};
         void *addresses[16];
         for (size_t i = 0; i < 16; ++i)
           addresses[i] = &values[i];
         for (int64_t i = 0; i < times; ++i)
           driver.check(driver.api().LaunchKernel(function, 1, 1, 1, threads, 1,
                                                  1, 0, nullptr, addresses,
                                                  nullptr),
                        "launching a kernel");
       },
       settle,
       {}},
      prepared(options)};
  calls[1].settle = settle;
  timeCalls(run, calls, run.rounds(31), 100, 5);
  run.measuring("");
  addRow(result, name, calls[1], calls[0], true, cudaBar);
}

} // namespace

int benchLaunch(Run &run) {
  if (run.counts())
    throw Error("bench launch takes the host's time of a launch, and a "
                "simulated GPU does not have one",
                "write --device cpu, or --device cuda");
  Result result(run.head("host time of one cached launch of a kernel of 16 "
                         "arguments, one program: the thread's processor time, "
                         "the least of 5 batches of each round"),
                run.options().out, "us", "us");
  if (run.device().kind == BenchDevice::Kind::Cpu)
    launchOnCpu(run, result);
  else
    launchOnGpu(run, result);
  std::string missed;
  for (const Json &row : result.json()["rows"])
    if (row.value("missed", false))
      missed += (missed.empty() ? "" : ", ") + row["name"].get<std::string>();
  if (!missed.empty())
    std::printf("above the bar: %s\n", missed.c_str());
  return result.finish(run.interrupted());
}

} // namespace tessera::bench
