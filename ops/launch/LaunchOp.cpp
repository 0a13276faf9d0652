// ops/launch/LaunchOp.cpp - tessera::launch, any kernel of any file; counters
// of the runtime.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Request.h"
#include "ops/Autograd.h"
#include "ops/Check.h"
#include "ops/launch/Launch.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/launch/KernelFiles.h"
#include "runtime/launch/ListLaunches.h"
#include "runtime/pack/PackStats.h"
#include "support/Error.h"
#include "support/Json.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/Scalar.h>
#include <torch/library.h>

namespace tessera::runtime {
namespace {
namespace launch_op {

void launch(c10::string_view file, c10::string_view kernel,
            at::TensorList tensors, at::ArrayRef<c10::Scalar> scalars,
            at::IntArrayRef grid, c10::string_view constexprs) {
  TESSERA_CHECK(grid.size() >= 1 && grid.size() <= 3, "launch", "grid has ",
                grid.size(), " entries and must have 1 to 3");
  withValueErrors([&] {
    Launch launch({file.data(), file.size()}, {kernel.data(), kernel.size()},
                  {constexprs.data(), constexprs.size()});
    for (const at::Tensor &tensor : tensors)
      launch.tensor(tensor);
    for (const c10::Scalar &scalar : scalars)
      launch.number(scalar);
    launch.run(grid[0], grid.size() > 1 ? grid[1] : 1,
               grid.size() > 2 ? grid[2] : 1);
  });
}

using Signature = void(c10::string_view, c10::string_view, at::TensorList,
                       at::ArrayRef<c10::Scalar>, c10::SymIntArrayRef,
                       c10::string_view);

// What refuseGradient() does for other ops; a boxed function would copy all
// arguments of every launch.
void refuseLaunchGradient(c10::DispatchKeySet keys, c10::string_view file,
                          c10::string_view kernel, at::TensorList tensors,
                          at::ArrayRef<c10::Scalar> scalars,
                          c10::SymIntArrayRef grid,
                          c10::string_view constexprs) {
  if (at::GradMode::is_enabled())
    for (const at::Tensor &tensor : tensors)
      TORCH_CHECK_NOT_IMPLEMENTED(
          !tensor.requires_grad(),
          "tessera::launch: a raw launch has no gradient; call it under "
          "torch.no_grad() or on detached tensors");
  static const auto op = findOp<Signature>("launch");
  op.redispatch(keys & c10::after_autograd_keyset, file, kernel, tensors,
                scalars, grid, constexprs);
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

std::tuple<int64_t, int64_t, int64_t> ofPack() {
  const PackStats now = packStats();
  return {static_cast<int64_t>(now.packed), static_cast<int64_t>(now.misses),
          static_cast<int64_t>(now.workers)};
}

std::tuple<std::vector<std::string>, std::vector<std::string>> files() {
  std::tuple<std::vector<std::string>, std::vector<std::string>> result;
  for (KernelFile &file : kernelFiles()) {
    std::get<0>(result).push_back(std::move(file.path));
    std::get<1>(result).push_back(std::move(file.text));
  }
  return result;
}

// Between begin_listing() and end_listing().
std::unique_ptr<LaunchListing> &listing() {
  static std::unique_ptr<LaunchListing> current;
  return current;
}

void beginListing(bool run) {
  TESSERA_CHECK(!listing(), "begin_listing",
                "launches are being listed already; call end_listing() first");
  using Launches = LaunchListing::Launches;
  listing() =
      std::make_unique<LaunchListing>(run ? Launches::Run : Launches::Skipped);
}

// What a compiler is asked for the launch, on its own device or for a GPU.
std::string requestOf(const LaunchRequest &launch, c10::string_view target) {
  LaunchOptions options = launch.options;
  if (target.empty())
    return launch.kernel.compileRequest(launch.args, launch.constexprs, options)
        .toJson();
  options.device = findDevice("sim:" + std::string(target));
  try {
    return launch.kernel.compileRequest(launch.args, launch.constexprs, options)
        .toJson();
  } catch (const Error &error) { // no configuration for GPUs
    return Json{{"error", error.message}, {"hint", error.hint}}.dump();
  }
}

// JSON as of language/Request.h.
std::vector<std::string> listedLaunches(c10::string_view target) {
  TESSERA_CHECK(listing(), "listed_launches",
                "no launches are being listed; call begin_listing() first");
  std::vector<std::string> requests;
  for (const LaunchRequest &launch : listing()->requests())
    requests.push_back(requestOf(launch, target));
  return requests;
}

// Compiles or loads what was listed, where that is wanted, and gives the
// requests: JSON as of language/Request.h.
std::vector<std::string> endListing(bool prepare) {
  TESSERA_CHECK(listing(), "end_listing",
                "no launches are being listed; call begin_listing() first");
  const std::vector<LaunchRequest> launches = listing()->requests();
  listing().reset();
  if (prepare)
    precompile(launches);
  std::vector<std::string> requests;
  for (const LaunchRequest &launch : launches)
    requests.push_back(requestOf(launch, ""));
  return requests;
}

// Empty where the GPU works.
std::tuple<std::string, std::string> gpuFault(int64_t gpu) {
  const auto fault = cuda::faultOf(int(gpu));
  if (!fault)
    return {};
  return {fault->message, fault->hint};
}

TORCH_LIBRARY_IMPL(tessera, CompositeExplicitAutograd, m) {
  m.impl("kernel_stats", stats);
  m.impl("pack_stats", ofPack);
  m.impl("gpu_fault", gpuFault);
  m.impl("kernel_files", files);
  m.impl("begin_listing", beginListing);
  m.impl("listed_launches", listedLaunches);
  m.impl("end_listing", endListing);
}

void implement(torch::Library &m) { m.impl("launch", launch); }

TORCH_LIBRARY_IMPL(tessera, CPU, m) { implement(m); }

TORCH_LIBRARY_IMPL(tessera, CUDA, m) { implement(m); }

TORCH_LIBRARY_IMPL(tessera, Meta, m) { m.impl("launch", meta); }

TORCH_LIBRARY_IMPL(tessera, Autograd, m) {
  m.impl("launch", TORCH_FN(refuseLaunchGradient));
}

} // namespace launch_op
} // namespace
} // namespace tessera::runtime
