// bench/LaunchBench.cpp - what a launch costs on the host beside a bare call of
// the code. Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
#include "compiler/syntax/Request.h"
#include "runtime/compile/CompileService.h"
#include "runtime/device/cpu/CpuModule.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/Driver.h"
#include "tests/unit/support/LaunchKernel.h"

#include <benchmark/benchmark.h>

#include <cstdlib>

using namespace tessera;

namespace {

alignas(64) float memory[4][64];

std::vector<Arg> arguments() {
  return {Pointer{memory[0], DType::FP32, 256},
          Pointer{memory[1], DType::FP32, 256},
          int64_t(0),
          0.125,
          int64_t(1) << 40,
          Pointer{memory[2], DType::FP32, 256},
          Pointer{memory[3], DType::I32, 256},
          int64_t(512),
          int64_t(192),
          int64_t(64),
          int64_t(96),
          int64_t(32),
          int64_t(96),
          int64_t(32),
          int64_t(192),
          int64_t(64)};
}

constexpr Dimension dimensions[] = {{"G", 4},   {"W", 512}, {"D", 64},
                                    {"DP", 64}, {"E", 64},  {"EP", 64}};

Kernel kernel() { return Kernel::fromSource(launchKernel, "add"); }

// The machine code of the launches below, called as a launch calls it.
void bareCpu(benchmark::State &state) {
  Constexprs constexprs;
  for (const Dimension &dimension : dimensions)
    constexprs[std::string(dimension.name)] = dimension.value;
  const auto compiled = runtime::CompileService::instance().get(
      kernel().compileRequest(arguments(), constexprs));
  const runtime::CpuModule module(compiled->code, compiled->meta.symbol);
  int64_t slots[64] = {};
  const uint32_t pid[3] = {0, 0, 0}, grid[3] = {1, 1, 1};
  alignas(64) static char scratch[1 << 16];
  for (auto _ : state) {
    module.entry()(slots, pid, grid, scratch);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(bareCpu)->Name("cpu_bare");

// Like a call site: the arguments are made anew at every launch.
void cpu(benchmark::State &state) {
  const PreparedLaunch launch(kernel());
  launch.launch({1, 1, 1}, arguments(), dimensions); // compiles
  for (auto _ : state) {
    const Arg args[] = {Pointer{memory[0], DType::FP32, 256},
                        Pointer{memory[1], DType::FP32, 256},
                        int64_t(0),
                        0.125,
                        int64_t(1) << 40,
                        Pointer{memory[2], DType::FP32, 256},
                        Pointer{memory[3], DType::I32, 256},
                        int64_t(512),
                        int64_t(192),
                        int64_t(64),
                        int64_t(96),
                        int64_t(32),
                        int64_t(96),
                        int64_t(32),
                        int64_t(192),
                        int64_t(64)};
    launch.launch({1, 1, 1}, args, dimensions);
  }
}
BENCHMARK(cpu)->Name("cpu_prepared");

void cpuKernel(benchmark::State &state) {
  const Kernel launched = kernel();
  const auto args = arguments();
  Constexprs constexprs;
  for (const Dimension &dimension : dimensions)
    constexprs[std::string(dimension.name)] = dimension.value;
  launched.launch({1, 1, 1}, args, constexprs);
  for (auto _ : state)
    launched.launch({1, 1, 1}, args, constexprs);
}
BENCHMARK(cpuKernel)->Name("cpu_kernel");

// The device "cuda" on the stand-in driver, which knows images by their first
// bytes.
class StandIn : public runtime::LaunchDevice {
public:
  StandIn() : LaunchDevice("stand-in") {}
  const std::string &target() const override {
    return runtime::cuda::Driver::instance().target();
  }
  bool readsPtx() const override { return true; }
  std::shared_ptr<runtime::LoadedKernel>
  load(const runtime::CompiledKernel &compiled, const std::string &name,
       const std::vector<std::string> &parameters) const override {
    runtime::CompiledKernel image = compiled;
    image.code = "GOOD";
    image.meta.symbol = "add";
    return runtime::loadStreamKernel(image, name, parameters);
  }
};

// Once: devices stay.
LaunchOptions onStandIn() {
  static const bool once = [] {
    ::setenv("TESSERA_CUDA_DRIVER", TESSERA_FAKE_CUDA, 1);
    deviceNames(); // ours come first
    runtime::registerDevice(std::make_unique<StandIn>());
    return true;
  }();
  static_cast<void>(once);
  LaunchOptions options;
  options.device = findDevice("stand-in");
  return options;
}

void bareCuda(benchmark::State &state) {
  onStandIn();
  const auto &driver = runtime::cuda::Driver::instance();
  driver.use();
  uint64_t values[16] = {reinterpret_cast<uintptr_t>(memory[0]),
                         reinterpret_cast<uintptr_t>(memory[1])};
  void *addresses[16];
  for (size_t i = 0; i < 16; ++i)
    addresses[i] = &values[i];
  for (auto _ : state)
    benchmark::DoNotOptimize(driver.api().LaunchKernel(
        nullptr, 1, 1, 1, 128, 1, 1, 0, nullptr, addresses, nullptr));
}
BENCHMARK(bareCuda)->Name("cuda_bare");

void cuda(benchmark::State &state) {
  const PreparedLaunch launch(kernel(), {}, onStandIn());
  const auto args = arguments();
  launch.launch({1, 1, 1}, args, dimensions);
  for (auto _ : state)
    launch.launch({1, 1, 1}, args, dimensions);
}
BENCHMARK(cuda)->Name("cuda_prepared");

} // namespace

BENCHMARK_MAIN();
