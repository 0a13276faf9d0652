// tests/unit/ops/CudaPluginTest.cpp - the plugin that needs libtorch_cuda: what
// works without a GPU, and the message if the plugin does not load.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/launch/CudaPlugin.h"

#include "support/Error.h"

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::runtime;

namespace {

void expectHas(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos)
      << "no " << part << " in " << text;
}

constexpr const char *lost = "no statistics of torch's GPU memory, no CUDA "
                             "graph of a whole step and no NCCL";

// TESSERA_CUDA_DRIVER names a driver that is not there (CMakeLists.txt).
TEST(CudaPlugin, WithoutAGpuNothingIsLoadedAndTheMessageNamesWhatIsLost) {
  const CudaPluginState &state = cudaPlugin();
  EXPECT_EQ(state.plugin, nullptr);
  expectHas(state.why, "is not loaded: no NVIDIA GPU");
  expectHas(state.why, lost);
  EXPECT_EQ(::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD), nullptr);
  try {
    requireCudaPlugin("NCCL");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.message, "NCCL: " + state.why);
    expectHas(error.hint, "tessera doctor");
  }
}

TEST(CudaPlugin, WhatIsNoPluginIsRefused) {
  const CudaPluginState none = loadCudaPlugin("/nonexistent/plugin.so");
  EXPECT_EQ(none.plugin, nullptr);
  expectHas(none.why, "cannot be loaded: /nonexistent/plugin.so: ");
  expectHas(none.why, lost);
  const CudaPluginState other = loadCudaPlugin("libm.so.6");
  EXPECT_EQ(other.plugin, nullptr);
  expectHas(other.why, "libm.so.6 is not a CUDA part of tessera's torch ops");
}

#ifdef TESSERA_TORCH_CUDA
TEST(CudaPlugin, LoadsAndReportsThatThereIsNoGpu) {
  const CudaPluginState state = loadCudaPlugin(TESSERA_TORCH_CUDA);
  ASSERT_NE(state.plugin, nullptr) << state.why;
  EXPECT_EQ(state.why, "");
  const auto refused = [](const auto &body) -> std::string {
    try {
      body();
      return "done";
    } catch (const c10::Error &error) {
      return error.what_without_backtrace();
    }
  };
  const CudaPlugin &plugin = *state.plugin;
  const std::vector<std::string> texts = {
      refused([&] { plugin.memory(0); }), refused([&] { plugin.resetMost(0); }),
      refused([&] { plugin.releaseUnused(); }),
      refused([&] { plugin.graph(0); }), refused([&] {
        plugin.nccl(c10::make_intrusive<c10d::HashStore>(), 0, 1,
                    std::chrono::seconds(1));
      })};
  for (const std::string &text : texts)
    expectHas(text, "NVIDIA");
}

TEST(CudaPlugin, AnotherVersionGetsNothing) {
  void *library = ::dlopen(TESSERA_TORCH_CUDA, RTLD_NOW | RTLD_GLOBAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto open = reinterpret_cast<decltype(&tessera_torch_cuda_plugin)>(
      ::dlsym(library, "tessera_torch_cuda_plugin"));
  ASSERT_NE(open, nullptr);
  EXPECT_EQ(open(CudaPlugin::version + 1), nullptr);
  EXPECT_NE(open(CudaPlugin::version), nullptr);
}
#endif

} // namespace
