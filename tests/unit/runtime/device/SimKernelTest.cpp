// tests/unit/runtime/device/SimKernelTest.cpp - kernels/cuda on the simulated
// GPU against the fp64 reference; arguments, threads, caches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/runtime/device/SimLaunch.h"

#include "reference/Attention.h"
#include "reference/Gating.h"
#include "runtime/cache/Keys.h"
#include "runtime/compile/CompileService.h"
#include "runtime/device/gpu/HostRanges.h"
#include "runtime/launch/LaunchDevice.h"
#include "support/BuildId.h"
#include "tests/helpers/TensorError.h"

#include <cmath>
#include <thread>

using namespace tessera;
using reference::Array;

namespace {

std::vector<float> filled(size_t count, int seed) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = float(std::sin(double(i * 7 + size_t(seed) * 31) * 0.7));
  return values;
}

Array arrayOf(std::vector<int64_t> shape, const std::vector<float> &values) {
  Array result(std::move(shape));
  std::copy(values.begin(), values.end(), result.values.begin());
  return result;
}

void expectNear(const std::vector<float> &got, const Array &want,
                const char *name) {
  ASSERT_EQ(got.size(), want.values.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(std::isfinite(got[i])) << name << " " << i;
  const auto wanted = [&](int64_t i) { return want.values[size_t(i)]; };
  EXPECT_GT(rmsOf(0, int64_t(got.size()), wanted), 0) << name;
  const TensorError error = tensorError(
      int64_t(got.size()), want.shape.back(),
      [&](int64_t i) { return double(got[size_t(i)]); }, wanted, 2e-6);
  EXPECT_LT(error.rms, 2e-6) << name;
  EXPECT_EQ(error.first, -1) << name;
}

const std::string folder = TESSERA_SOURCE "/kernels/cuda/";

Kernel attentionKernel(const std::string &name) {
  return Kernel::fromFile(folder + "attention.cu", name);
}

TEST_F(SimDevice, WindowAttentionAgreesWithTheReference) {
  constexpr int64_t T = 45, heads = 4, keyHeads = 2, D = 12, E = 8, window = 7;
  const double scale = 0.3;
  std::vector<int32_t> cu = {0, 17, 17, 45};
  auto q = filled(T * heads * D, 1), k = filled(T * keyHeads * D, 2),
       v = filled(T * keyHeads * E, 3), dout = filled(T * heads * E, 4);
  const float nan = std::nanf("");
  std::vector<float> o(dout.size(), nan), lse(heads * T, nan),
      dq(q.size(), nan);
  const auto f = [](std::vector<float> &values) {
    return memoryOf(values, DType::FP32);
  };
  const auto with = [&](std::vector<Arg> args) {
    for (const Arg &arg : std::vector<Arg>{memoryOf(cu, DType::I32), T, heads,
                                           keyHeads, D, E, scale, window})
      args.push_back(arg);
    return args;
  };
  const Grid grid = {uint32_t(T * heads + 127) / 128, 1, 1};
  attentionKernel("window_fwd")
      .launch(grid, with({f(q), f(k), f(v), f(o), f(lse)}), {}, onSim());
  attentionKernel("window_bwd_q")
      .launch(grid, with({f(q), f(k), f(v), f(o), f(lse), f(dout), f(dq)}), {},
              onSim());
  Array rq = arrayOf({T, heads, D}, q), rk = arrayOf({T, keyHeads, D}, k),
        rv = arrayOf({T, keyHeads, E}, v), rdout = arrayOf({T, heads, E}, dout);
  Array ro({T, heads, E}), rlse({heads, T}), rdq({T, heads, D}),
      rdk({T, keyHeads, D}), rdv({T, keyHeads, E});
  const auto keys = reference::windowKeys(cu, window);
  reference::attention(rq, rk, rv, keys, scale, ro, rlse);
  reference::attentionBackward(rq, rk, rv, keys, scale, ro, rlse, rdout, {},
                               rdq, rdk, rdv);
  expectNear(o, ro, "o");
  Array rows({T, heads}); // of the kernel, by tokens
  for (int64_t t = 0; t < T; ++t)
    for (int64_t h = 0; h < heads; ++h)
      rows.values[size_t(t * heads + h)] = rlse.values[size_t(h * T + t)];
  expectNear(lse, rows, "lse");
  expectNear(dq, rdq, "dq");
}

TEST_F(SimDevice, GatesAgreeWithTheReferenceOnBothTargets) {
  constexpr int64_t rows = 75;
  auto logits = filled(3 * rows, 5);
  Array want({rows, 1, 3});
  reference::gate(arrayOf({rows, 1, 3}, logits), reference::GateMode::Softmax,
                  0.7, want);
  for (const char *device : {"sim:sm_80", "sim:sm_90"}) {
    std::vector<float> gates(logits.size(), -1);
    Kernel::fromFile(folder + "gate.cu", "gate_fwd")
        .launch({1, 1, 1},
                {memoryOf(logits, DType::FP32), memoryOf(gates, DType::FP32),
                 rows, 0.7, true},
                {}, onSim(device));
    expectNear(gates, want, device);
  }
}

const char *const plain = R"(
#ifndef FACTOR
#define FACTOR 0
#endif
extern "C" __global__ void kinds(double *out, double a, float b, int c,
                                 unsigned d, long long e, unsigned char f,
                                 bool g, const float *none) {
  double values[] = {a, b, double(c), double(d), double(e), double(f),
                     double(g), double(none == nullptr), FACTOR};
  out[threadIdx.x] = threadIdx.x < 9 ? values[threadIdx.x] : blockDim.x;
}
extern "C" __global__ void add(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] += 1;
}
extern "C" __global__ void talk(int n) {
  for (int i = 0; i < n; ++i)
    printf("line %d of %d\n", i, n);
}
)";

TEST_F(SimDevice, ArgumentsOfEveryKindAndDefinitions) {
  Kernel kernel = Kernel::fromSource(plain, "kinds", "plain.cu");
  std::vector<double> out(64);
  LaunchOptions options = onSim();
  options.numWarps = 2; // no __launch_bounds__
  kernel.launch({1, 1, 1},
                {memoryOf(out, DType::FP64), 0.1, 0.5, int64_t(-7),
                 int64_t(0xffffffff), int64_t(1) << 40, int64_t(200), true,
                 nullptr},
                {{"FACTOR", 2.5}}, options);
  const std::vector<double> want = {
      0.1, 0.5, -7, 4294967295.0, double(int64_t(1) << 40), 200, 1, 1, 2.5};
  EXPECT_EQ(std::vector<double>(out.begin(), out.begin() + 9), want);
  EXPECT_EQ(out[9], 64);
}

TEST_F(SimDevice, MemoryOfUnknownSizeIsTheCompleteMapping) {
  Kernel kernel = Kernel::fromSource(plain, "add", "plain.cu");
  std::vector<float> x(300, 1);
  kernel.launch({3, 1, 1}, {Pointer{x.data(), DType::FP32}, int64_t(300)}, {},
                onSim());
  EXPECT_EQ(x, std::vector<float>(300, 2));
}

// A pointer into the middle of what may be touched, and views that overlap.
TEST_F(SimDevice, MemoryBeforeTheAddressAndOverlappingViews) {
  Kernel kernel = Kernel::fromSource(
      "extern \"C\" __global__ void back(float *x, float *y) {"
      " x[-(int)threadIdx.x] = threadIdx.x; if (threadIdx.x == 0) y[12] = 5; }",
      "back", "back.cu");
  std::vector<float> large(40, -1);
  LaunchOptions options = onSim();
  options.numWarps = 1;
  const Pointer middle{large.data() + 31, DType::FP32, 4, 31 * 4};
  kernel.launch({1, 1, 1},
                {middle, Pointer{large.data() + 20, DType::FP32, 80}}, {},
                options);
  EXPECT_EQ(large[31], 0);
  EXPECT_EQ(large[0], 31);
  EXPECT_EQ(large[32], 5);
}

TEST_F(SimDevice, ThreadsLaunchOneKernel) {
  Kernel kernel = Kernel::fromSource(plain, "add", "plain.cu");
  std::vector<std::vector<float>> x(4, std::vector<float>(1000, 0));
  std::vector<std::thread> threads;
  for (std::vector<float> &mine : x)
    threads.emplace_back([&kernel, &mine] {
      for (int i = 0; i < 5; ++i)
        kernel.launch({8, 1, 1}, {memoryOf(mine, DType::FP32), int64_t(1000)},
                      {}, onSim());
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::vector<float> &mine : x)
    EXPECT_EQ(mine, std::vector<float>(1000, 5));
}

TEST_F(SimDevice, PrintsUpToTheLimit) {
  Kernel kernel = Kernel::fromSource(plain, "talk", "plain.cu");
  LaunchOptions options = onSim();
  options.numWarps = 1;
  ::setenv("TESSERA_PRINT_LIMIT", "40", 1);
  testing::internal::CaptureStdout();
  kernel.launch({1, 1, 1}, {int64_t(2)}, {}, options);
  const std::string text = testing::internal::GetCapturedStdout();
  ::unsetenv("TESSERA_PRINT_LIMIT");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 41) << text;
  expectHas(text, "line 0 of 2\n");
  expectHas(text, "left out (TESSERA_PRINT_LIMIT=40)");
}

// A second program finds everything in the cache: no worker is started.
TEST_F(SimDevice, WarmStartsNeedNoWorker) {
  TemporaryFolder cache;
  runtime::CompileService::Settings settings;
  settings.cacheFolder = cache.path() / "cache";
  settings.buildId = compilerBuildId();
  std::vector<float> x(1);
  const language::CompileRequest request =
      Kernel::fromSource(plain, "add", "plain.cu")
          .compileRequest({memoryOf(x, DType::FP32), int64_t(3)}, {}, onSim());
  EXPECT_EQ(request.target, "sm_80");
  runtime::CompileService cold(settings);
  const auto first = cold.get(request);
  EXPECT_EQ(cold.counters().compiled, 1u);

  ::setenv("TESSERA_WORKER", "/nonexistent/tessera-worker", 1);
  runtime::CompileService warm(settings);
  const auto second = warm.get(request);
  ::unsetenv("TESSERA_WORKER");
  EXPECT_EQ(warm.counters().loaded, 1u);
  EXPECT_EQ(second->code, first->code);
  EXPECT_EQ(second->stages.at("ptx"), first->stages.at("ptx"));
  EXPECT_EQ(second->meta.threads, first->meta.threads);
  EXPECT_EQ(second->meta.symbol, "add");

  // An entry without PTX does not count.
  const auto key = runtime::artifactKey(request.key(), settings.buildId);
  auto entry = cold.cache().load(key);
  ASSERT_TRUE(entry);
  entry->stages.erase("ptx");
  cold.cache().store(key, *entry);
  runtime::CompileService again(settings);
  EXPECT_EQ(again.get(request)->stages.count("ptx"), 1u);
  EXPECT_EQ(again.counters().compiled, 1u);
}

TEST(HostRanges, OverlapsBecomeOneRange) {
  std::vector<char> a(100), b(50);
  const auto merged = runtime::mergedRanges({{"B", b.data(), 50, true},
                                             {"A", a.data(), 60, false},
                                             {"C", a.data() + 40, 60, true},
                                             {"none", nullptr, 0, true}});
  ASSERT_EQ(merged.size(), 2u);
  for (const runtime::HostRange &range : merged)
    if (range.name == "A/C") {
      EXPECT_EQ(range.begin, a.data());
      EXPECT_EQ(range.bytes, 100u);
      EXPECT_TRUE(range.writable);
    } else {
      EXPECT_EQ(range.name, "B");
      EXPECT_EQ(range.bytes, 50u);
    }
}

TEST(HostRanges, Mappings) {
  static const char constant[] = "read-only";
  const auto mapping = runtime::mappingOf(constant);
  ASSERT_TRUE(mapping);
  EXPECT_FALSE(mapping->writable);
  EXPECT_LE(mapping->begin, constant);
  EXPECT_GE(mapping->begin + mapping->bytes, constant + sizeof(constant));
  EXPECT_FALSE(runtime::mappingOf(nullptr));
}

TEST(LaunchDevice, NamesAndTargets) {
  EXPECT_EQ(deviceNames().front(), "cpu");
  EXPECT_EQ(deviceTarget("sim:sm_80"), "sm_80");
  EXPECT_EQ(deviceTarget("sim:sm_90"), "sm_90");
  EXPECT_EQ(deviceTarget("cpu"), hostTarget());
  expectHas(failureOf([] { deviceTarget("sim:sm_8"); }),
            "did you mean `sim:sm_80`?");
  expectHas(failureOf([] { setDefaultDevice("gpu"); }), "no device `gpu`");
  EXPECT_EQ(defaultDevice(), "cpu");
  setDefaultDevice("sim:sm_90");
  EXPECT_EQ(defaultDevice(), "sim:sm_90");
  EXPECT_EQ(runtime::launchDevice({}).target(), "sm_90");
  EXPECT_EQ(runtime::launchDevice(onSim("cpu")).name, "cpu");
  setDefaultDevice("cpu");
}

} // namespace
