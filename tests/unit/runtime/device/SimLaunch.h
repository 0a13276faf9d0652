// tests/unit/runtime/device/SimLaunch.h - launches CUDA C++ on the simulated
// GPU, with a cache of its own.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"
#include "support/Error.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

// One service serves the process, so the folder does, too.
inline const TemporaryFolder &simCache() {
  static const auto *const folder = [] {
    auto *made = new TemporaryFolder;
    ::setenv("TESSERA_CACHE_DIR", made->path().c_str(), 1);
    std::atexit([] { std::filesystem::remove_all(simCache().path()); });
    return made;
  }();
  return *folder;
}

inline LaunchOptions onSim(const std::string &device = "sim:sm_80") {
  LaunchOptions options;
  options.device = findDevice(device);
  return options;
}

template <typename T>
Pointer memoryOf(std::vector<T> &values, DType type) {
  return {values.data(), type, values.size() * sizeof(T)};
}

template <typename F>
std::string failureOf(F &&function) {
  try {
    function();
  } catch (const std::exception &error) {
    return error.what();
  }
  return "no error";
}

inline void expectHas(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos)
      << "missing: " << part << "\nin: " << text;
}

// Tests of kernels that NVRTC compiles; skipped where there is none.
class SimDevice : public testing::Test {
protected:
  void SetUp() override {
    simCache();
    std::vector<float> none(1);
    try {
      Kernel::fromSource("extern \"C\" __global__ void empty(float *x) {}",
                         "empty", "empty.cu")
          .launch({1, 1, 1}, {memoryOf(none, DType::FP32)}, {}, onSim());
    } catch (const Error &error) {
      if (error.message.find("NVRTC") == std::string::npos)
        throw;
      // `make test` installs NVRTC: without it nothing would have been tested.
      if (std::getenv("TEST_COMPLETE"))
        FAIL() << error.what();
      GTEST_SKIP() << error.what();
    }
  }
};

} // namespace tessera
