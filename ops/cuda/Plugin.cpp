// ops/cuda/Plugin.cpp - libtessera_torch_cuda.so: memory statistics, graphs and
// NCCL from torch's CUDA libraries.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/launch/CudaPlugin.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace tessera::runtime {

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

c10::DeviceIndex indexOf(int gpu) {
  const int count = c10::cuda::device_count_ensure_non_zero();
  TORCH_CHECK(gpu >= 0 && gpu < count, "no GPU ", gpu, "; torch sees ", count);
  return c10::DeviceIndex(gpu);
}

class StepGraph : public CudaPlugin::Graph {
public:
  explicit StepGraph(c10::DeviceIndex gpu) : gpu(gpu) {}

  void capture(const std::function<void()> &step) override {
    const c10::cuda::CUDAGuard device(gpu);
    c10::cuda::device_synchronize();
    const c10::cuda::CUDAStreamGuard stream(
        c10::cuda::getStreamFromPool(/*isHighPriority=*/false, gpu));
    auto made = std::make_unique<at::cuda::CUDAGraph>();
    made->capture_begin();
    try {
      step();
    } catch (...) {
      // The stream must leave capture mode. The error of step() is rethrown,
      // because it has the cause.
      try {
        made->capture_end();
      } catch (const c10::Error &) {
      }
      throw;
    }
    made->capture_end();
    graph = std::move(made);
  }

  void replay() override {
    TORCH_CHECK(graph, "no step was captured");
    const c10::cuda::CUDAGuard device(gpu);
    graph->replay();
  }

private:
  const c10::DeviceIndex gpu;
  std::unique_ptr<at::cuda::CUDAGraph> graph;
};

class Plugin : public CudaPlugin {
public:
  Memory memory(int gpu) const override {
    prepare();
    const auto stats = allocator::getDeviceStats(indexOf(gpu));
    constexpr auto all = size_t(c10::CachingAllocator::StatType::AGGREGATE);
    const auto &used = stats.allocated_bytes[all],
               &held = stats.reserved_bytes[all];
    return {used.current,
            used.peak,
            held.current,
            held.peak,
            stats.num_alloc_retries,
            stats.num_ooms};
  }
  void resetMost(int gpu) const override {
    prepare();
    allocator::resetPeakStats(indexOf(gpu));
  }
  void releaseUnused() const override {
    prepare();
    allocator::emptyCache();
  }
  std::unique_ptr<Graph> graph(int gpu) const override {
    prepare();
    return std::make_unique<StepGraph>(indexOf(gpu));
  }
  c10::intrusive_ptr<c10d::Backend>
  nccl(c10::intrusive_ptr<c10d::Store> store, int rank, int size,
       std::chrono::milliseconds timeout) const override {
    prepare();
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = timeout;
    return c10::make_intrusive<c10d::ProcessGroupNCCL>(
        std::move(store), rank, size, std::move(options));
  }

private:
  // Initializes the allocator with the number of GPUs, which every other call
  // requires. Throws c10::Error without a GPU.
  static void prepare() {
    const int count = c10::cuda::device_count_ensure_non_zero();
    if (!allocator::get()->initialized())
      allocator::init(count);
  }
};

} // namespace

} // namespace tessera::runtime

const tessera::runtime::CudaPlugin *tessera_torch_cuda_plugin(int version) {
  static const tessera::runtime::Plugin plugin;
  return version == tessera::runtime::CudaPlugin::version ? &plugin : nullptr;
}
