// bench/SimBench.cpp - lane instructions a second of the PTX simulator on one
// core.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/Sim.h"
#include "support/File.h"

#include <benchmark/benchmark.h>

using namespace tessera;
using namespace tessera::sim;

namespace {

Module load(const char *name) {
  return Module::load(readFile(std::string(TESSERA_SIM_PTX) + "/" + name),
                      name);
}

template <class F>
void measure(benchmark::State &state, F launch) {
  Options options;
  options.serial = true;
  if (state.range(0) == 0) {
    options.races = options.uninitialized = options.counters = false;
    options.conflicts = GlobalConflicts::Off;
  }
  uint64_t lanes = 0, tensor = 0;
  for (auto _ : state) {
    Report report = launch(options);
    report.throwIfBad();
    lanes += report.counters.laneInstructions;
    tensor += report.counters.tensorInstructions;
  }
  state.counters["lane_instructions"] = benchmark::Counter(
      static_cast<double>(lanes), benchmark::Counter::kIsRate);
  if (tensor)
    state.counters["mma"] = benchmark::Counter(static_cast<double>(tensor),
                                               benchmark::Counter::kIsRate);
}

void vectorAdd(benchmark::State &state) {
  Module module = load("vadd.ptx");
  constexpr int32_t N = 1 << 18;
  std::vector<float> x(N, 1), y(N, 2), z(N);
  Memory memory;
  for (std::vector<float> *v : {&x, &y, &z})
    memory.add("v", v->data(), N * 4);
  measure(state, [&](const Options &options) {
    return module.launch("vadd", {N / 1024, 1, 1}, {128, 1, 1}, 0,
                         {pointer(x.data()), pointer(y.data()),
                          pointer(z.data()), scalar(N), pointer(nullptr),
                          pointer(nullptr)},
                         memory, options);
  });
}

void softmax(benchmark::State &state) {
  Module module = load("softmax.ptx");
  constexpr int32_t Rows = 256, N = 1000;
  std::vector<float> x(Rows * N, 1), y(Rows * N);
  Memory memory;
  memory.add("x", x.data(), x.size() * 4);
  memory.add("y", y.data(), y.size() * 4);
  measure(state, [&](const Options &options) {
    return module.launch("softmax", {Rows, 1, 1}, {128, 1, 1}, 16,
                         {pointer(x.data()), pointer(y.data()), scalar(N),
                          scalar(N), pointer(nullptr), pointer(nullptr)},
                         memory, options);
  });
}

void matmul(benchmark::State &state) {
  Module module = load("matmul_fp16.ptx");
  constexpr int32_t N = 256;
  std::vector<uint16_t> a(N * N), b(N * N), c(N * N);
  Memory memory;
  for (std::vector<uint16_t> *v : {&a, &b, &c})
    memory.add("m", v->data(), v->size() * 2);
  measure(state, [&](const Options &options) {
    return module.launch("matmul", {N / 64, N / 64, 1}, {128, 1, 1}, 16384,
                         {pointer(a.data()), pointer(b.data()),
                          pointer(c.data()), scalar(N), scalar(N), scalar(N),
                          scalar(N), scalar(N), scalar(N), pointer(nullptr),
                          pointer(nullptr)},
                         memory, options);
  });
}

} // namespace

BENCHMARK(vectorAdd)->ArgName("checks")->Arg(1)->Arg(0);
BENCHMARK(softmax)->ArgName("checks")->Arg(1)->Arg(0);
BENCHMARK(matmul)->ArgName("checks")->Arg(1)->Arg(0);
BENCHMARK_MAIN();
