// tests/unit/runtime/device/CudaDeviceTest.cpp - launches through a driver that
// is a fake: arguments, copies, errors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/CudaKernel.h"
#include "runtime/device/cuda/Driver.h"
#include "support/Error.h"
#include "support/File.h"
#include "tests/unit/support/Allocations.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>

using namespace tessera;
using runtime::CompiledKernel;
using runtime::cuda::Driver;

namespace {

template <typename F>
std::string failureOf(F &&function) {
  try {
    function();
  } catch (const std::exception &error) {
    return error.what();
  }
  return "no error";
}

void expectHas(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos)
      << "missing: " << part << "\nin: " << text;
}

int fake(const char *name) {
  void *library = ::dlopen(TESSERA_FAKE_CUDA, RTLD_NOW);
  return reinterpret_cast<int (*)()>(::dlsym(library, name))();
}

class CudaDevice : public testing::Test {
protected:
  CudaDevice() {
    ::setenv("TESSERA_CUDA_DRIVER", TESSERA_FAKE_CUDA, 1);
    compiled.code = "GOOD";
    compiled.meta.symbol = "add";
    compiled.meta.threads = 64;
    compiled.meta.params = {{"x", "pointer", "*fp32:16"},
                            {"y", "pointer", "*fp32"},
                            {"n", "scalar", "i32"},
                            {"s", "scalar", "fp32"},
                            {"wide", "scalar", "i64:16"}};
  }
  ~CudaDevice() override { ::unsetenv("FAKE_CUDA"); }
  std::shared_ptr<runtime::CudaKernel> load() {
    return runtime::loadCudaKernel(compiled, "add",
                                   {"x", "y", "n", "s", "wide"});
  }
  std::vector<Arg> arguments(float *from, float *to) {
    return {Pointer{from, DType::FP32, 400}, Pointer{to, DType::FP32, 400},
            int64_t(100), 0.5, int64_t(16)};
  }

  CompiledKernel compiled;
  std::vector<float> x = std::vector<float>(100, 1), y = x;
};

// First in the file: a driver that loaded stays.
TEST_F(CudaDevice, WithoutAGpuTheReasonIsReported) {
  const auto failure = [] { return failureOf([] { Driver::instance(); }); };
  ::setenv("TESSERA_CUDA_DRIVER", "/nonexistent/libcuda.so.1", 1);
  expectHas(failure(), "no NVIDIA GPU: /nonexistent/libcuda.so.1");
  expectHas(failure(), "HINT: use TESSERA_DEVICE=sim:sm_80");
  ::setenv("TESSERA_CUDA_DRIVER", "libz.so.1", 1);
  expectHas(failure(), "has no function cuInit");
  ::setenv("TESSERA_CUDA_DRIVER", TESSERA_FAKE_CUDA, 1);
  ::setenv("FAKE_CUDA", "none", 1);
  expectHas(failure(), "no NVIDIA GPU: the driver lists none");
  ::setenv("FAKE_CUDA", "old", 1);
  expectHas(failure(), "the GPU Fake GPU has compute capability 7.5");
  ::unsetenv("FAKE_CUDA");
  EXPECT_EQ(Driver::instance().gpu(), "Fake GPU");
  EXPECT_EQ(Driver::instance().target(), "sm_90");
  EXPECT_EQ(deviceTarget("cuda"), "sm_90");
}

TEST_F(CudaDevice, CopiesThereAndBack) {
  load()->launch({2, 1, 1}, arguments(x.data(), y.data()));
  EXPECT_EQ(y, std::vector<float>(100, 17.5f));
  EXPECT_EQ(x, std::vector<float>(100, 1));
  // One tensor for both, and views that overlap: one copy on the GPU.
  load()->launch({2, 1, 1}, arguments(x.data(), x.data()));
  EXPECT_EQ(x, std::vector<float>(100, 17.5f));
  load()->launch({0, 1, 1}, arguments(x.data(), x.data()));
  EXPECT_EQ(x[0], 17.5f);
  EXPECT_EQ(fake("fakeAllocations"), 0);
  EXPECT_EQ(fake("fakeModules"), 0);
}

TEST_F(CudaDevice, TimesDoNotChangeTheTensors) {
  const auto times = load()->time({2, 1, 1}, arguments(x.data(), y.data()), 5);
  EXPECT_EQ(times, std::vector<double>(5, 0.25));
  EXPECT_EQ(y, std::vector<float>(100, 1));
}

TEST_F(CudaDevice, PtxWhereTheCubinIsForAnotherGpu) {
  compiled.code = "BAD";
  expectHas(failureOf([&] { load(); }), "loading the code of `add` on Fake "
                                        "GPU: CUDA_ERROR_NO_BINARY_FOR_GPU");
  compiled.stages["ptx"] = "PTX";
  load()->launch({2, 1, 1}, arguments(x.data(), y.data()));
  EXPECT_EQ(y[99], 17.5f);
  compiled.code.clear();
  EXPECT_EQ(failureOf([&] { load(); }), "no error");
}

// The PTX does not say how many blocks ptxas was asked for, the metadata does.
TEST_F(CudaDevice, TheDriverAssemblesForAsManyBlocksAsPtxas) {
  compiled.code = "BAD";
  compiled.stages["ptx"] = "PTX";
  load();
  EXPECT_EQ(fake("fakeJitMinBlocks"), 0);
  compiled.meta.minBlocks = 5;
  load();
  EXPECT_EQ(fake("fakeJitMinBlocks"), 5);
}

TEST_F(CudaDevice, LargeSharedMemoryIsAskedFor) {
  compiled.meta.sharedBytes = 48 << 10;
  load();
  EXPECT_EQ(fake("fakeDynamicShared"), 0);
  compiled.meta.sharedBytes = 100 << 10;
  load();
  EXPECT_EQ(fake("fakeDynamicShared"), 100 << 10);
}

TEST_F(CudaDevice, ErrorsAreReportedAndNothingLeaks) {
  const auto failure = [&](std::vector<Arg> args) {
    return failureOf([&] { load()->launch({2, 1, 1}, args); });
  };
  auto args = arguments(x.data(), y.data());
  ::setenv("FAKE_CUDA", "full", 1);
  expectHas(failure(args), "allocating 400 bytes for x: "
                           "CUDA_ERROR_OUT_OF_MEMORY");
  ::setenv("FAKE_CUDA", "fail", 1);
  expectHas(failure(args), "running `add`: CUDA_ERROR_ILLEGAL_ADDRESS (an "
                           "illegal memory access was encountered)");
  expectHas(failure(args), "HINT: TESSERA_DEVICE=sim:sm_80");
  ::setenv("FAKE_CUDA", "refuse", 1);
  expectHas(failure(args), "launching `add`: CUDA_ERROR_INVALID_VALUE");
  ::unsetenv("FAKE_CUDA");
  std::get<Pointer>(args[0]).bytes = Pointer::unknown;
  expectHas(failure(args), "`x` of `add` is memory of unknown size");
  args[2] = 1.5;
  expectHas(failure(args), "is i32 and was given a float");
  compiled.meta.symbol = "sub";
  expectHas(failureOf([&] { load(); }), "finding `sub` in its code");
  compiled.meta.threads = 0;
  expectHas(failureOf([&] { load(); }), "how many threads");
  EXPECT_EQ(fake("fakeAllocations"), 0);
  EXPECT_EQ(fake("fakeModules"), 0);
}

// The device "cuda": the pointers are its own.
TEST_F(CudaDevice, LaunchesOnTheStreamWithoutCopies) {
  ::setenv("FAKE_CUDA", "full", 1); // no memory for copies
  const auto kernel =
      runtime::loadStreamKernel(compiled, "add", {"x", "y", "n", "s", "wide"});
  auto args = arguments(x.data(), y.data());
  int queue = 0;
  kernel->launch({2, 1, 1}, args, &queue);
  EXPECT_EQ(y, std::vector<float>(100, 17.5f));
  EXPECT_EQ(fake("fakeStream"), int(reinterpret_cast<intptr_t>(&queue)));
  // Memory of unknown size, and none.
  std::get<Pointer>(args[0]).bytes = Pointer::unknown;
  args[2] = int64_t(0);
  kernel->launch({2, 1, 1}, args);
  EXPECT_EQ(fake("fakeStream"), 0);
  kernel->launch({0, 1, 1}, args);
  args[2] = 1.5;
  expectHas(failureOf([&] { kernel->launch({2, 1, 1}, args); }),
            "`n` of `add` is i32 and was given a float");
  ::setenv("FAKE_CUDA", "refuse", 1);
  expectHas(failureOf([&] {
              kernel->launch({2, 1, 1}, arguments(x.data(), y.data()));
            }),
            "launching `add`: CUDA_ERROR_INVALID_VALUE");
}

// From the public interface down to the driver.
TEST_F(CudaDevice, PreparedLaunchesAllocateNothing) {
  const TemporaryFolder folder;
  writeFile(folder.path() / "cubin", "GOOD");
  ::setenv("TESSERA_WORKER", TESSERA_FAKE_WORKER, 1);
  ::setenv("TESSERA_CACHE_DIR", (folder.path() / "cache").c_str(), 1);
  ::setenv("FAKE_WORKER_ARTIFACT", (folder.path() / "cubin").c_str(), 1);
  ::setenv("TESSERA_PTXAS", "none", 1);
  LaunchOptions options;
  options.device = findDevice("cuda");
  const PreparedLaunch launch(
      Kernel::fromSource("import triton\nimport triton.language as tl\n\n\n"
                         "@triton.jit\n"
                         "def add(x, y, n, s, wide, D: tl.constexpr):\n"
                         "    tl.store(y, n)\n",
                         "add"),
      {}, options);
  int queue = 0;
  const auto run = [&] {
    const Arg args[] = {Pointer{x.data(), DType::FP32},
                        Pointer{y.data(), DType::FP32}, int64_t(100), 0.5,
                        int64_t(1) << 40};
    const Dimension dimensions[] = {{"D", 64}};
    launch.launchOn(&queue, {2, 1, 1}, args, dimensions);
  };
  run();
  EXPECT_EQ(y, std::vector<float>(100, 1.5f + float(int64_t(1) << 40)));
  EXPECT_EQ(fake("fakeStream"), int(reinterpret_cast<intptr_t>(&queue)));
  const uint64_t before = allocationsOfThread();
  for (int i = 0; i < 100; ++i)
    run();
  EXPECT_EQ(allocationsOfThread() - before, 0u);
}

TEST(CudaDevices, HostMemoryIsForTheCheckedOne) {
  EXPECT_EQ(hostMemoryDevice("cuda"), "cuda:check");
  for (const char *name : {"cpu", "sim:sm_80", "cuda:check"})
    EXPECT_EQ(hostMemoryDevice(name), name);
}

} // namespace
