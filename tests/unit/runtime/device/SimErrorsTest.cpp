// tests/unit/runtime/device/SimErrorsTest.cpp - what goes wrong on the
// simulated GPU: kernels, arguments, artifacts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/runtime/device/SimLaunch.h"

#include "runtime/device/sim/SimKernel.h"
#include "runtime/launch/LaunchDevice.h"

using namespace tessera;

namespace {

const char *const source = R"(extern "C" __global__ void add(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] += 1;
}
extern "C" __global__ void race(float *x) {
  __shared__ float tile[128];
  tile[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = tile[127 - threadIdx.x];
}
extern "C" __global__ void scalars(float s, int n, long long m, float *x) {
  x[0] = s + n + m;
}
extern "C" __global__ void shift(float *x) {
  if (threadIdx.x < 31)
    x[threadIdx.x] = x[threadIdx.x + 1];
}
)";

Kernel kernelOf(const std::string &name) {
  return Kernel::fromSource(source, name, "wrong.cu");
}

TEST_F(SimDevice, OutOfBoundsNamesLineTensorAndThread) {
  std::vector<float> x(200, 0);
  const std::string failure = failureOf([&] {
    kernelOf("add").launch({2, 1, 1}, {memoryOf(x, DType::FP32), int64_t(200)},
                           {}, onSim());
  });
  expectHas(failure, "sim:sm_80: add: out-of-bounds");
  expectHas(failure, "wrong.cu:3");
  expectHas(failure, "x + 800, 1 beyond the last of its 800 bytes");
  expectHas(failure, "block (1, 0, 0), thread (72, 0, 0)");
  expectHas(failure, "HINT: mask the access");
  EXPECT_THROW(
      kernelOf("add").launch(
          {1, 1, 1}, {Pointer{nullptr, DType::FP32}, int64_t(1)}, {}, onSim()),
      runtime::KernelFault);
  // The next launch is not disturbed.
  std::vector<float> y(256, 0);
  kernelOf("add").launch({2, 1, 1}, {memoryOf(y, DType::FP32), int64_t(256)},
                         {}, onSim());
  EXPECT_EQ(y, std::vector<float>(256, 1));
}

TEST_F(SimDevice, RacesAreFoundUnlessChecksAreOff) {
  std::vector<float> x(128, 1);
  const auto launch = [&] {
    kernelOf("race").launch({1, 1, 1}, {memoryOf(x, DType::FP32)}, {}, onSim());
  };
  const std::string failure = failureOf(launch);
  expectHas(failure, "shared-race");
  expectHas(failure, "wrong.cu:8");
  ::setenv("TESSERA_SIM_CHECKS", "bounds", 1);
  EXPECT_EQ(failureOf(launch), "no error");
  ::setenv("TESSERA_SIM_CHECKS", "none", 1);
  expectHas(failureOf(launch), "set it to all or bounds");
  ::unsetenv("TESSERA_SIM_CHECKS");
}

// Each thread takes over what its neighbour has: in lockstep all load first.
TEST_F(SimDevice, LanesApartFindWhatLockstepHides) {
  std::vector<float> x(32, 1);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i);
  const auto launch = [&] {
    kernelOf("shift").launch({1, 1, 1}, {memoryOf(x, DType::FP32)}, {},
                             onSim());
  };
  EXPECT_EQ(failureOf(launch), "no error");
  EXPECT_EQ(x[3], 4.0f);
  ::setenv("TESSERA_SIM_LANES", "apart", 1);
  int found = 0;
  for (int seed = 1; seed < 9; ++seed) {
    ::setenv("TESSERA_SIM_SEED", std::to_string(seed).c_str(), 1);
    const std::string failure = failureOf(launch);
    found += failure.find("global-conflict") != std::string::npos;
  }
  EXPECT_GE(found, 2);
  ::setenv("TESSERA_SIM_LANES", "alone", 1);
  expectHas(failureOf(launch), "set it to lockstep or apart");
  ::unsetenv("TESSERA_SIM_LANES");
  ::unsetenv("TESSERA_SIM_SEED");
}

TEST_F(SimDevice, ArgumentsOfAnotherKindAreErrors) {
  std::vector<float> x(4);
  std::vector<double> d(4);
  const auto failure = [&](std::vector<Arg> args) {
    return failureOf(
        [&] { kernelOf("scalars").launch({1, 1, 1}, args, {}, onSim()); });
  };
  const Pointer good = memoryOf(x, DType::FP32);
  EXPECT_EQ(failure({1.5, int64_t(2), int64_t(3), good}), "no error");
  EXPECT_EQ(x[0], 6.5f);
  expectHas(failure({int64_t(1), int64_t(2), int64_t(3), good}),
            "argument `s` of `scalars` is fp32 and was given an integer");
  expectHas(failure({1.5, 2.5, int64_t(3), good}),
            "argument `n` of `scalars` is i32 and was given a float");
  expectHas(failure({1.5, int64_t(1) << 33, int64_t(3), good}),
            "is i32 and was given 8589934592");
  expectHas(failure({1.5, int64_t(2), good, good}),
            "argument `m` of `scalars` is i64 and was given a pointer");
  expectHas(failure({1.5, int64_t(2), int64_t(3), memoryOf(d, DType::FP64)}),
            "is *fp32 and was given memory of fp64");
  expectHas(failure({1.5, int64_t(2), int64_t(3), int64_t(9)}),
            "is *fp32 and was given an integer");
  expectHas(failure({1.5, int64_t(2), int64_t(3)}), "takes 4 arguments, not 3");
}

TEST_F(SimDevice, CudaSourcesOnTheCpuAndUnknownKernels) {
  std::vector<float> x(4);
  expectHas(failureOf([&] {
              kernelOf("add").launch({1, 1, 1},
                                     {memoryOf(x, DType::FP32), int64_t(4)}, {},
                                     onSim("cpu"));
            }),
            "is CUDA C++, which the cpu does not run");
  expectHas(failureOf([] { kernelOf("ad"); }), "did you mean `add`?");
  // Errors of the source are reported with their location.
  expectHas(failureOf([&] {
              Kernel::fromSource(
                  "extern \"C\" __global__ void bad(float *x) { x = y; }",
                  "bad", "bad.cu")
                  .launch({1, 1, 1}, {memoryOf(x, DType::FP32)}, {}, onSim());
            }),
            "bad.cu:1");
}

TEST_F(SimDevice, GridsBeyondTheLimitsAreErrors) {
  std::vector<float> x(128);
  expectHas(failureOf([&] {
              kernelOf("race").launch({1, 70000, 1}, {memoryOf(x, DType::FP32)},
                                      {}, onSim());
            }),
            "beyond the limits");
  kernelOf("race").launch({0, 1, 1}, {memoryOf(x, DType::FP32)}, {}, onSim());
}

// Artifacts as a damaged cache or a wrong compiler could give them.
class SimArtifact : public testing::Test {
protected:
  static constexpr const char *ptx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry store(.param .u64 x, .param .u32 n)
.reqntid 32
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [x];
  ld.param.u32 %r1, [n];
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

  SimArtifact() {
    good.meta.symbol = "store";
    good.meta.params = {{"x", "pointer", "*i32"}, {"n", "scalar", "i32"}};
    good.meta.threads = 32;
    good.stages["ptx"] = ptx;
  }
  std::shared_ptr<runtime::LoadedKernel>
  load(const runtime::CompiledKernel &compiled) {
    return runtime::loadSimKernel(runtime::findLaunchDevice("sim:sm_80"),
                                  compiled, "store", {"x", "n"});
  }
  std::string failure(const runtime::CompiledKernel &compiled) {
    return failureOf([&] { load(compiled); });
  }

  runtime::CompiledKernel good;
};

TEST_F(SimArtifact, Good) {
  std::vector<int32_t> x(1);
  // All 32 threads write the same number.
  load(good)->launch({1, 1, 1}, {memoryOf(x, DType::I32), int64_t(-5)});
  EXPECT_EQ(x[0], -5);
}

TEST_F(SimArtifact, WithoutPtx) {
  good.stages.clear();
  expectHas(failure(good), "the artifact of `store` for sim:sm_80 has no PTX");
  expectHas(failure(good), "tessera cache clear");
  good.stages["ptx"] = "";
  expectHas(failure(good), "has no PTX");
}

TEST_F(SimArtifact, ParametersThatDoNotFit) {
  good.meta.params.pop_back();
  expectHas(failure(good), "takes parameters of these bytes: 8, 4; its "
                           "metadata says 8");
  good.meta.params.push_back({"n", "scalar", "i64"});
  expectHas(failure(good), "its metadata says 8, 8");
  good.meta.params.back() = {"m", "scalar", "i32"};
  expectHas(failure(good), "wants an argument `m`");
  good.meta.params.back() = {"n", "scalar", "int"};
  expectHas(failure(good), "of type `int`");
}

TEST_F(SimArtifact, PtxThatDoesNotLoad) {
  good.stages["ptx"] = std::string(ptx).replace(60, 5, "%!");
  EXPECT_THROW(load(good), Error);
  good.stages["ptx"] = ptx;
  good.meta.symbol = "stores";
  expectHas(failure(good), "no kernel stores");
}

TEST_F(SimArtifact, MoreSharedMemoryThanTheTargetHas) {
  good.meta.sharedBytes = 163 * 1024;
  EXPECT_EQ(failure(good), "no error");
  good.meta.sharedBytes += 4;
  expectHas(failure(good), "takes 166916 bytes of shared memory, a block of "
                           "sm_80 has 166912");
}

} // namespace
