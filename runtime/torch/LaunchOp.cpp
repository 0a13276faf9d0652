// runtime/torch/LaunchOp.cpp - tessera::launch, any kernel of any file;
// counters of the runtime. Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/KernelFiles.h"
#include "runtime/torch/Check.h"
#include "runtime/torch/Launch.h"

#include <c10/core/Scalar.h>
#include <torch/library.h>

namespace tessera::runtime {
namespace {

// "BM=64, BN=32" -> constants of the launch.
void parseConstexprs(Launch &launch, const std::string &text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find(',', at), text.size());
    std::string item;
    for (char c : text.substr(at, end - at))
      if (c != ' ')
        item += c;
    at = end + 1;
    if (item.empty())
      continue;
    const size_t equals = item.find('=');
    size_t used = 0;
    int64_t value = 0;
    try {
      value = std::stoll(
          item.substr(equals == std::string::npos ? 0 : equals + 1), &used);
    } catch (const std::exception &) {
      used = 0;
    }
    TESSERA_CHECK(equals != std::string::npos && equals > 0 && used > 0 &&
                      equals + 1 + used == item.size(),
                  "launch", "constexprs has \"", item,
                  "\"; write NAME=integer, separated by commas");
    launch.constant(item.substr(0, equals), value);
  }
}

void launch(c10::string_view file, c10::string_view kernel,
            at::TensorList tensors, at::ArrayRef<c10::Scalar> scalars,
            at::IntArrayRef grid, c10::string_view constexprs) {
  TESSERA_CHECK(grid.size() >= 1 && grid.size() <= 3, "launch", "grid has ",
                grid.size(), " entries and must have 1 to 3");
  Launch launch{std::string(file), std::string(kernel)};
  for (const at::Tensor &tensor : tensors)
    launch.tensor(tensor);
  for (const c10::Scalar &scalar : scalars) {
    TESSERA_CHECK(!scalar.isComplex(), "launch",
                  "a scalar is complex; pass real numbers");
    if (scalar.isFloatingPoint())
      launch.real(scalar.toDouble());
    else
      launch.integer(scalar.toLong());
  }
  parseConstexprs(launch, std::string(constexprs));
  launch.run(grid[0], grid.size() > 1 ? grid[1] : 1,
             grid.size() > 2 ? grid[2] : 1);
}

void meta(c10::string_view, c10::string_view, at::TensorList,
          at::ArrayRef<c10::Scalar>, c10::SymIntArrayRef, c10::string_view) {}

std::tuple<int64_t, int64_t, int64_t, int64_t> stats() {
  const KernelStats now = kernelStats();
  const auto number = [](uint64_t count) {
    return static_cast<int64_t>(count);
  };
  return {number(now.compiled), number(now.loaded), number(now.memoryHits),
          number(now.badCacheEntries)};
}

std::tuple<std::vector<std::string>, std::vector<std::string>> files() {
  std::tuple<std::vector<std::string>, std::vector<std::string>> result;
  for (KernelFile &file : kernelFiles()) {
    std::get<0>(result).push_back(std::move(file.path));
    std::get<1>(result).push_back(std::move(file.text));
  }
  return result;
}

TORCH_LIBRARY_IMPL(tessera, CompositeExplicitAutograd, m) {
  m.impl("kernel_stats", stats);
  m.impl("kernel_files", files);
}

TORCH_LIBRARY_IMPL(tessera, CPU, m) { m.impl("launch", launch); }

TORCH_LIBRARY_IMPL(tessera, Meta, m) { m.impl("launch", meta); }

} // namespace
} // namespace tessera::runtime
