// ops/launch/ListingOps.cpp - internal ops that report to the trainer what the
// process launched: kernels, their files, packs, and the state of a GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Request.h"
#include "ops/Check.h"
#include "runtime/Kernel.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/launch/ConfigurationChooser.h"
#include "runtime/launch/KernelFiles.h"
#include "runtime/launch/LaunchDevice.h"
#include "runtime/launch/ListLaunches.h"
#include "runtime/launch/Routing.h"
#include "runtime/pack/PackStats.h"
#include "support/Error.h"
#include "support/Json.h"

#include <algorithm>
#include <memory>
#include <torch/library.h>

namespace tessera::runtime {
namespace {
namespace listing_ops {

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

// Returns the tuning table of launches on tensors of the device. Launches on
// tensors of host memory use the default device.
std::tuple<std::string, std::string, std::string> tableOf(c10::Device device) {
  LaunchOptions options;
  if (device.is_cuda())
    options.device = cudaDevice(std::max<int>(0, device.index()));
  TableIdentity table = configurationTable(launchDevice(options));
  return {std::move(table.path), std::move(table.origin),
          std::move(table.sha256)};
}

std::tuple<std::vector<std::string>, std::vector<std::string>,
           std::vector<std::string>>
tunedLaunches() {
  std::tuple<std::vector<std::string>, std::vector<std::string>,
             std::vector<std::string>>
      result;
  auto &[launches, configurations, sources] = result;
  for (LaunchConfiguration &launch : launchConfigurations()) {
    launches.push_back(std::move(launch.launch));
    configurations.push_back(std::move(launch.configuration));
    sources.push_back(std::move(launch.source));
  }
  return result;
}

// Not null between begin_listing() and end_listing().
std::unique_ptr<LaunchListing> &listing() {
  static std::unique_ptr<LaunchListing> current;
  return current;
}

void beginListing(bool run) {
  TESSERA_CHECK(!listing(), "tessera_internal::begin_listing",
                "launches are being listed already; call end_listing() first");
  using Launches = LaunchListing::Launches;
  listing() =
      std::make_unique<LaunchListing>(run ? Launches::Run : Launches::Skipped);
}

// Returns the compile request of the launch, for its device or, if `target` is
// not empty, for that GPU target.
std::string requestOf(const LaunchRequest &launch, c10::string_view target) {
  LaunchOptions options = launch.options;
  if (target.empty())
    return launch.kernel.compileRequest(launch.args, launch.constexprs, options)
        .toJson();
  options.device = findDevice("sim:" + std::string(target));
  try {
    return launch.kernel.compileRequest(launch.args, launch.constexprs, options)
        .toJson();
  } catch (const Error &error) { // the kernel has no GPU configuration
    return Json{{"error", error.message}, {"hint", error.hint}}.dump();
  }
}

// Returns requests as JSON (language/Request.h).
std::vector<std::string> listedLaunches(c10::string_view target) {
  TESSERA_CHECK(listing(), "tessera_internal::listed_launches",
                "no launches are being listed; call begin_listing() first");
  std::vector<std::string> requests;
  for (const LaunchRequest &launch : listing()->requests())
    requests.push_back(requestOf(launch, target));
  return requests;
}

// Compiles or loads the listed launches if `prepare` is set, and returns their
// requests as JSON (language/Request.h).
std::vector<std::string> endListing(bool prepare) {
  TESSERA_CHECK(listing(), "tessera_internal::end_listing",
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

// Returns empty strings if the GPU works.
std::tuple<std::string, std::string> gpuFault(int64_t gpu) {
  const auto fault = cuda::faultOf(int(gpu));
  if (!fault)
    return {};
  return {fault->message, fault->hint};
}

TORCH_LIBRARY_IMPL(tessera_internal, CompositeExplicitAutograd, m) {
  m.impl("pack_stats", ofPack);
  m.impl("gpu_fault", gpuFault);
  m.impl("kernel_files", files);
  m.impl("tuning_table", tableOf);
  m.impl("tuned_launches", tunedLaunches);
  m.impl("begin_listing", beginListing);
  m.impl("listed_launches", listedLaunches);
  m.impl("end_listing", endListing);
}

} // namespace listing_ops
} // namespace
} // namespace tessera::runtime
