// tests/simtorch/Plugin.cpp - what libtessera_torch_cuda.so is on a real GPU:
// graphs of the simulated driver, no NCCL.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/launch/CudaPlugin.h"
#include "tests/simtorch/Driver.h"

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace simtorch {
namespace {

using tessera::runtime::CudaPlugin;

class StepGraph : public CudaPlugin::Graph {
public:
  explicit StepGraph(int gpu) : gpu(gpu) {}
  ~StepGraph() override {
    if (executable) {
      settle();
      call("cuGraphExecDestroy", executable);
    }
  }

  void capture(const std::function<void()> &step) override {
    settle();
    call("cuStreamCreate", &held.stream, 1u);
    void *const before = currentStream(gpu);
    setCurrentStream(gpu, held.stream);
    call("cuStreamBeginCapture_v2", held.stream, 0);
    simtorch::capture(&held);
    const auto end = [&](void **graph) {
      simtorch::capture(nullptr);
      setCurrentStream(gpu, before);
      return reinterpret_cast<int (*)(void *, void **)>(
          find("cuStreamEndCapture"))(held.stream, graph);
    };
    void *graph = nullptr;
    try {
      step();
    } catch (...) {
      end(&graph);
      throw;
    }
    check(end(&graph), "cuStreamEndCapture");
    call("cuGraphInstantiateWithFlags", &executable, graph, 0ULL);
    call("cuGraphDestroy", graph);
  }
  void replay() override {
    TORCH_CHECK(executable, "no step was captured");
    call("cuGraphLaunch", executable, currentStream(gpu));
  }

private:
  const int gpu;
  Capture held; // as long as the graph
  void *executable = nullptr;
};

class Plugin : public CudaPlugin {
public:
  Memory memory(int) const override { return {}; }
  void resetMost(int) const override {}
  void releaseUnused() const override {}
  std::unique_ptr<Graph> graph(int gpu) const override {
    return std::make_unique<StepGraph>(gpu);
  }
  c10::intrusive_ptr<c10d::Backend>
  nccl(c10::intrusive_ptr<c10d::Store>, int, int,
       std::chrono::milliseconds) const override {
    TORCH_CHECK(false, "NCCL needs GPUs");
    return {};
  }
};

} // namespace
} // namespace simtorch

const tessera::runtime::CudaPlugin *tessera_torch_cuda_plugin(int version) {
  static const simtorch::Plugin plugin;
  return version == tessera::runtime::CudaPlugin::version ? &plugin : nullptr;
}
