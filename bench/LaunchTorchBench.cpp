// bench/LaunchTorchBench.cpp - the torch op that launches a kernel of 16
// arguments beside an op of the same schema that does nothing. Copyright the
// tessera authors. SPDX-License-Identifier: Apache-2.0
#include "tests/unit/support/LaunchKernel.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/InferenceMode.h>
#include <torch/library.h>

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

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

// The kernel's file, for as long as the program runs.
const std::string &kernelFile() {
  static const std::string path = [] {
    std::string made = "/tmp/tessera-launch-bench-XXXXXX.py";
    ::close(::mkstemps(made.data(), 3));
    // The op passes tensors, then scalars.
    std::string text = tessera::launchKernel;
    const std::string order = "x, y, n, s, wide, lse, cu, T,";
    text.replace(text.find(order), order.size(),
                 "x, y, lse, cu, n, s, wide, T,");
    std::ofstream(made) << text;
    return made;
  }();
  return path;
}

template <typename Guard>
void measure(benchmark::State &state, const char *name) {
  const Guard guard;
  const auto op = c10::Dispatcher::singleton()
                      .findSchemaOrThrow(name, "")
                      .typed<Signature>();
  const std::vector<at::Tensor> tensors = {
      at::zeros(64), at::zeros(64), at::zeros(64), at::zeros(64, at::kInt)};
  const std::vector<c10::Scalar> scalars = {
      int64_t(0),   0.125,       int64_t(1) << 40, int64_t(512),
      int64_t(192), int64_t(64), int64_t(96),      int64_t(32),
      int64_t(96),  int64_t(32), int64_t(192),     int64_t(64)};
  const c10::SymInt grid[] = {1};
  const std::string &file = kernelFile();
  const auto call = [&] {
    op.call(file, "add", tensors, scalars, grid,
            "G=4, W=512, D=64, DP=64, E=64, EP=64");
  };
  call(); // compiles
  for (auto _ : state)
    call();
}

struct Plain {
  Plain() {}
};

void op(benchmark::State &state) {
  measure<c10::InferenceMode>(state, "tessera::launch");
}
void empty(benchmark::State &state) {
  measure<c10::InferenceMode>(state, "tessera_bench::nothing");
}
void opAutograd(benchmark::State &state) {
  measure<Plain>(state, "tessera::launch");
}
BENCHMARK(empty)->Name("torch_empty");
BENCHMARK(op)->Name("torch_launch");
BENCHMARK(opAutograd)->Name("torch_launch_autograd");

} // namespace

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  std::remove(kernelFile().c_str());
}
