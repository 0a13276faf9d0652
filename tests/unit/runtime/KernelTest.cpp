// tests/unit/runtime/KernelTest.cpp - tests of runtime/Kernel.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Kernels are "compiled" by the fake worker of tests/faults: its artifact
// records the slots it was given.
#include "runtime/Kernel.h"

#include "language/Request.h"
#include "replay/Device.h"
#include "runtime/launch/FindFile.h"
#include "support/CpuTarget.h"
#include "support/Error.h"
#include "support/File.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <thread>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

const char *const source = R"(import triton
import triton.language as tl


# tessera: cpu(BM=32)
@triton.autotune(configs=[triton.Config({"BM": 128, "BN": 64}, num_warps=8)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BM"] == 0})
@triton.jit
def record(out, n, x, BM: tl.constexpr, EVEN: tl.constexpr, BN: tl.constexpr = 16):
    tl.store(out, n)


@triton.jit(do_not_specialize=["n"])
def plain(out, n, x, B: tl.constexpr = 4, T: tl.constexpr = tl.float32):
    tl.store(out, n)


@triton.jit
def fail(out, n, x):
    tl.store(out, n)
)";

// One service serves the process: its environment is set before the first use.
class Environment : public testing::Environment {
public:
  void SetUp() override {
    folder = std::make_unique<TemporaryFolder>();
    ::setenv("TESSERA_WORKER", TESSERA_FAKE_WORKER, 1);
    ::setenv("TESSERA_CACHE_DIR", (folder->path() / "cache").c_str(), 1);
    ::setenv("FAKE_WORKER_ARTIFACT", TESSERA_FIXTURE_KERNEL, 1);
  }
  void TearDown() override { folder.reset(); }

private:
  std::unique_ptr<TemporaryFolder> folder;
};
[[maybe_unused]] auto *const environment =
    testing::AddGlobalTestEnvironment(new Environment);

struct Launched {
  explicit Launched(size_t programs = 1) : out(6 * programs) {}
  Pointer pointer() { return {out.data(), DType::I64}; }
  int64_t slot(int index) const { return out[size_t(2 + index)]; }
  alignas(16) std::vector<int64_t> out;
};

int64_t float32Bits(float value) { return std::bit_cast<uint32_t>(value); }

template <typename F>
std::string failureOf(F &&function) {
  try {
    function();
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST(Kernel, RunsTheGridWithItsArguments) {
  Kernel kernel = Kernel::fromSource(source, "plain");
  EXPECT_EQ(kernel.parameters(), (std::vector<std::string>{"out", "n", "x"}));
  Launched launched(6);
  kernel.launch({3, 2, 1}, {launched.pointer(), int64_t(-5), 2.5});
  for (size_t program = 0; program < 6; ++program) {
    EXPECT_EQ(launched.out[6 * program], 1);
    EXPECT_EQ(launched.out[6 * program + 3], -5);
    EXPECT_EQ(launched.out[6 * program + 4], float32Bits(2.5f));
    EXPECT_EQ(launched.out[6 * program + 5], 0);
  }
  kernel.launch({0, 2, 1}, {launched.pointer(), int64_t(-5), 2.5});
  EXPECT_EQ(launched.out[0], 1);
  kernel.launch({1, 1, 1}, {launched.pointer(), true, 2.5});
  EXPECT_EQ(launched.out[3], 1);
}

// The integer 1 becomes part of the code and has no slot any more.
TEST(Kernel, OneIsSpecializedUnlessForbidden) {
  Launched launched;
  Kernel::fromSource(source, "plain")
      .launch({1, 1, 1}, {launched.pointer(), int64_t(1), 2.5});
  EXPECT_EQ(launched.slot(1), 1);
  Kernel::fromSource(source, "record")
      .launch({1, 1, 1}, {launched.pointer(), int64_t(1), 2.5});
  EXPECT_EQ(launched.slot(1), float32Bits(2.5f));
}

TEST(Kernel, CompilesOncePerClassOfArguments) {
  Kernel kernel = Kernel::fromSource(source, "plain");
  Launched launched(2);
  auto compiled = [&](Arg n, Constexprs constexprs = {}, int shift = 0) {
    const uint64_t before = kernelStats().compiled;
    kernel.launch({1, 1, 1},
                  {Pointer{launched.out.data() + shift, DType::I64}, n, 2.5},
                  constexprs);
    return kernelStats().compiled - before;
  };
  EXPECT_LE(compiled(int64_t(7)), 1u); // maybe by another test
  EXPECT_EQ(compiled(int64_t(8)), 0u);
  EXPECT_EQ(compiled(int64_t(16)), 0u); // not specialized
  EXPECT_EQ(compiled(int64_t(1) << 40), 1u);
  EXPECT_EQ(compiled(int64_t(7), {}, 1), 1u); // off a 16-byte boundary
  EXPECT_EQ(compiled(int64_t(7), {{"B", int64_t(8)}}), 1u);
  EXPECT_EQ(compiled(int64_t(7), {{"B", int64_t(8)}}), 0u);
  EXPECT_EQ(compiled(int64_t(7), {{"B", true}}), 1u);
  EXPECT_EQ(compiled(int64_t(7), {{"B", int64_t(1)}}), 1u);
  EXPECT_EQ(compiled(int64_t(7), {{"B", 1.0}}), 1u);
  EXPECT_EQ(compiled(int64_t(7), {{"B", std::string("x")}}), 1u);
  EXPECT_EQ(compiled(int64_t(7), {{"B", nullptr}}), 1u);
  EXPECT_EQ(compiled(int64_t(7), {{"T", DType::BF16}}), 1u);
  EXPECT_EQ(compiled(int64_t(7), {{"T", DType::BF16}}), 0u);

  const uint64_t hits = kernelStats().memoryHits;
  EXPECT_EQ(compiled(int64_t(7)), 0u);
  EXPECT_EQ(kernelStats().memoryHits, hits + 1);
  // Another object of the same text finds the same code.
  const uint64_t before = kernelStats().compiled;
  Kernel::fromSource(source, "plain")
      .prepare({launched.pointer(), int64_t(7), 2.5});
  EXPECT_EQ(kernelStats().compiled, before);
}

TEST(Kernel, ConfigurationHeuristicsAndDefaults) {
  Kernel kernel = Kernel::fromSource(source, "record");
  Launched launched;
  auto configuration = [&](int64_t n, Constexprs given = {}) {
    return kernel.configuration({launched.pointer(), n, 2.5}, given);
  };
  Constexprs got = configuration(64);
  // The cpu hint replaces the autotune configuration.
  EXPECT_EQ(got.at("BM"), ConstexprValue(int64_t(32)));
  EXPECT_EQ(got.at("BN"), ConstexprValue(int64_t(16)));
  EXPECT_EQ(got.at("EVEN"), ConstexprValue(true));
  EXPECT_EQ(configuration(65).at("EVEN"), ConstexprValue(false));
  got = configuration(64, {{"BM", int64_t(128)}});
  EXPECT_EQ(got.at("BM"), ConstexprValue(int64_t(128)));
  EXPECT_EQ(got.at("EVEN"), ConstexprValue(false));
  EXPECT_EQ(configuration(64, {{"EVEN", false}}).at("EVEN"),
            ConstexprValue(false));

  // Values decide heuristics, so equal classes can need different code.
  kernel.prepare({launched.pointer(), int64_t(33), 2.5});
  const uint64_t before = kernelStats().compiled;
  kernel.prepare({launched.pointer(), int64_t(34), 2.5});
  EXPECT_EQ(kernelStats().compiled, before);
  kernel.prepare({launched.pointer(), int64_t(48), 2.5});
  kernel.prepare({launched.pointer(), int64_t(64), 2.5});
  EXPECT_EQ(kernelStats().compiled, before + 2);
}

// The hint cpu(...) is not for GPUs, whose artifacts are others.
TEST(Kernel, DevicesHaveTheirOwnConfigurationAndCode) {
  Kernel kernel = Kernel::fromSource(source, "record");
  Launched launched;
  const std::vector<Arg> args = {launched.pointer(), int64_t(64), 2.5};
  LaunchOptions onGpu;
  onGpu.device = findDevice("sim:sm_80");
  EXPECT_EQ(kernel.configuration(args, {}, onGpu).at("BM"),
            ConstexprValue(int64_t(128)));
  EXPECT_EQ(kernel.configuration(args, {}, onGpu).at("BN"),
            ConstexprValue(int64_t(64)));
  EXPECT_EQ(kernel.configuration(args, {}, onGpu).at("EVEN"),
            ConstexprValue(false));
  const auto gpu = kernel.compileRequest(args, {}, onGpu);
  EXPECT_EQ(gpu.target, "sm_80");
  EXPECT_EQ(gpu.options.numWarps, 8);
  EXPECT_EQ(gpu.options.numStages, 3);
  const auto cpu = kernel.compileRequest(args);
  EXPECT_EQ(cpu.target, hostTarget());
  EXPECT_NE(cpu.key(), gpu.key());
  onGpu.device = findDevice("sim:sm_90");
  EXPECT_NE(kernel.compileRequest(args, {}, onGpu).key(), gpu.key());
  onGpu.numWarps = 2;
  onGpu.numStages = 1;
  EXPECT_EQ(kernel.compileRequest(args, {}, onGpu).options.numWarps, 2);
  EXPECT_EQ(kernel.compileRequest(args, {}, onGpu).options.numStages, 1);
  // Without any configuration: Triton's defaults.
  onGpu = {};
  onGpu.device = findDevice("sim:sm_80");
  const auto bare =
      Kernel::fromSource(source, "plain").compileRequest(args, {}, onGpu);
  EXPECT_EQ(bare.options.numWarps, 4);
  EXPECT_EQ(bare.options.numStages, 3);
  EXPECT_TRUE(
      contains(failureOf([] { findDevice("gpu"); }), "no device `gpu`"));
}

TEST(Kernel, PrecisionOfDotsReachesTheRequest) {
  Kernel kernel = Kernel::fromSource(source, "plain");
  Launched launched;
  const std::vector<Arg> args = {launched.pointer(), int64_t(64), 2.5};
  const auto usual = kernel.compileRequest(args);
  EXPECT_EQ(usual.options.f32Default, "tf32");
  ::setenv("TESSERA_F32_DEFAULT", "ieee", 1);
  const auto exact = kernel.compileRequest(args);
  ::setenv("TESSERA_F32_DEFAULT", "fp32", 1);
  EXPECT_TRUE(contains(failureOf([&] { kernel.compileRequest(args); }),
                       "set it to tf32 or ieee"));
  ::unsetenv("TESSERA_F32_DEFAULT");
  EXPECT_EQ(exact.options.f32Default, "ieee");
  EXPECT_NE(exact.key(), usual.key());
}

TEST(Kernel, MistakesAreErrorsWithHints) {
  Kernel kernel = Kernel::fromSource(source, "plain");
  Launched launched;
  const std::vector<Arg> args = {launched.pointer(), int64_t(7), 2.5};
  std::string failure =
      failureOf([&] { kernel.launch({1, 1, 1}, {launched.pointer()}); });
  EXPECT_TRUE(contains(failure, "takes 3 arguments, not 1")) << failure;
  EXPECT_TRUE(contains(failure, "out, n, x")) << failure;
  failure =
      failureOf([&] { kernel.launch({1, 1, 1}, args, {{"b", int64_t(1)}}); });
  EXPECT_TRUE(contains(failure, "did you mean `B`?")) << failure;
  failure = failureOf([] { Kernel::fromSource(source, "plane"); });
  EXPECT_TRUE(contains(failure, "plain")) << failure;
  EXPECT_THROW(Kernel::fromSource("def f(:\n", "f"), CompileError);
  EXPECT_THROW(Kernel::fromFile("kernels/none.py", "f"), Error);
  failure = failureOf(
      [&] { Kernel::fromSource(source, "fail").launch({1, 1, 1}, args); });
  EXPECT_TRUE(contains(failure, "does not compile")) << failure;
}

TEST(Kernel, FilesAreFoundInTheKernelFolder) {
  TemporaryFolder folder;
  makePrivateFolder(folder.path() / "nsa");
  writeFile(folder.path() / "nsa" / "one.py", source);
  ::setenv("TESSERA_KERNELS", folder.path().c_str(), 1);
  EXPECT_EQ(Kernel::fromFile("kernels/nsa/one.py", "plain").name(), "plain");
  EXPECT_EQ(Kernel::fromFile("nsa/one.py", "plain").name(), "plain");
  EXPECT_EQ(Kernel::fromFile(folder.path() / "nsa" / "one.py", "plain").name(),
            "plain");
  ::unsetenv("TESSERA_KERNELS");
}

// Another checkout's kernels/ in the current folder must not replace ours.
TEST(Kernel, OurKernelFilesWinOverTheCurrentFolder) {
  TemporaryFolder folder;
  const fs::path root = fs::canonical(folder.path()),
                 before = fs::current_path();
  const fs::path ours = root / "ours", here = root / "here";
  for (const fs::path &made : {ours / "nsa", here / "kernels" / "nsa"})
    makePrivateFolder(made);
  const std::string name = "kernels/nsa/window_fwd.py";
  writeFile(ours / "nsa" / "window_fwd.py", "# ours\n");
  writeFile(here / name, "# another\n");
  writeFile(here / "kernels" / "only.py", "# here alone\n");
  writeFile(here / "mine.py", "# mine\n");
  writeFile(ours / "mine.py", "# ours\n");
  fs::current_path(here);
  testing::internal::CaptureStderr();
  // The kernels that this test was built with.
  const std::string built = runtime::findKernelFile(name);
  ::setenv("TESSERA_KERNELS", ours.c_str(), 1);
  const std::string chosen = runtime::findKernelFile(name);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(built.find(root.string()), std::string::npos) << built;
  EXPECT_EQ(chosen, (ours / "nsa" / "window_fwd.py").string());
  EXPECT_TRUE(contains(said, built)) << said;
  EXPECT_TRUE(contains(said, name)) << said;
  // What is only here, what is named as being here, what was typed.
  EXPECT_EQ(runtime::findKernelFile("kernels/only.py"),
            (here / "kernels" / "only.py").string());
  EXPECT_EQ(runtime::findKernelFile("./" + name), (here / name).string());
  EXPECT_EQ(runtime::findKernelFile("mine.py"), (here / "mine.py").string());
  EXPECT_EQ(runtime::findTypedFile(name), (here / name).string());
  fs::current_path(root);
  EXPECT_EQ(runtime::findTypedFile(name),
            (ours / "nsa" / "window_fwd.py").string());
  EXPECT_THROW(runtime::findKernelFile(""), Error);
  ::unsetenv("TESSERA_KERNELS");
  fs::current_path(before);
}

// Replaying in order takes the host's threads away for one launch, whether it
// succeeds or throws.
TEST(Kernel, ReplayGivesTheHostsThreadsBack) {
  int calls = 0;
  setParallelFor(
      [&](int64_t count, const std::function<void(int64_t, int64_t)> &body) {
        ++calls;
        body(0, count);
      },
      [] { return 2; });
  const auto device = cases::openDevice("cpu");
  cases::LoadedCase loaded;
  loaded.recorded.grid = {4, 1, 1};
  Launched launched(4);
  for (const char *kernel : {"plain", "fail"}) {
    cases::PreparedLaunch launch;
    launch.kernel = Kernel::fromSource(source, kernel);
    launch.args = {launched.pointer(), int64_t(7), 2.5};
    launch.f32Default = "tf32";
    const std::string failure =
        failureOf([&] { device->run(loaded, launch, {}, true); });
    EXPECT_EQ(failure.empty(), launch.kernel->name() == "plain") << failure;
    EXPECT_EQ(calls, 0);
  }
  Kernel::fromSource(source, "plain")
      .launch({4, 1, 1}, {launched.pointer(), int64_t(7), 2.5});
  EXPECT_EQ(calls, 1);
  setParallelFor(nullptr, nullptr);
  ::unsetenv("TESSERA_F32_DEFAULT"); // the device sets it
}

// The programs take nanoseconds, waking a thread microseconds. A busy machine
// may interrupt some of the launches, which then look large.
TEST(Kernel, SmallGridsAskForNoThreads) {
  std::atomic<int> asked{0};
  const ScopedParallelFor scope(
      [&](int64_t count, const std::function<void(int64_t, int64_t)> &body) {
        ++asked;
        body(0, count);
      },
      [] { return 2; });
  const Kernel kernel = Kernel::fromSource(source, "plain");
  Launched launched(4);
  for (int i = 0; i < 1000; ++i)
    kernel.launch({4, 1, 1}, {launched.pointer(), int64_t(7), 2.5});
  EXPECT_GE(asked, 1);
  EXPECT_LT(asked, 500);
}

TEST(Kernel, BatchesCompileAhead) {
  Kernel kernel = Kernel::fromSource(source, "plain");
  Launched launched;
  std::vector<LaunchRequest> requests;
  for (int64_t block = 100; block < 110; ++block)
    requests.push_back({kernel,
                        {launched.pointer(), int64_t(7), 2.5},
                        {{"B", block % 5}},
                        {}});
  const uint64_t before = kernelStats().compiled;
  precompile(requests);
  const uint64_t compiled = kernelStats().compiled - before;
  EXPECT_GE(compiled, 3u); // B=1 and B=4 may be there from other tests
  EXPECT_LE(compiled, 5u);
  precompile(requests);
  EXPECT_EQ(kernelStats().compiled, before + compiled);
}

TEST(Kernel, ManyThreadsLaunch) {
  Kernel kernel = Kernel::fromSource(source, "plain");
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 50; ++i) {
        Launched launched(20);
        kernel.launch({20, 1, 1}, {launched.pointer(), 7 + t, 2.5},
                      {{"B", 1000 + i % 3}});
        for (size_t program = 0; program < 20; ++program)
          ASSERT_EQ(launched.out[6 * program + 3], 7 + t);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Kernel, DTypesAndConstexprText) {
  for (const char *name : {"bf16", "bfloat16", "tl.bfloat16"})
    EXPECT_EQ(dtypeFromText(name), DType::BF16) << name;
  EXPECT_FALSE(dtypeFromText("bf17"));
  for (int i = 0; i <= int(DType::FP64); ++i)
    EXPECT_EQ(dtypeFromText(dtypeName(DType(i))), DType(i));
  const Constexprs got = constexprsFromJson(
      R"({"A": 3, "B": true, "C": 0.5, "D": null, "E": "tl.float16", "F": "relu"})");
  EXPECT_EQ(got.at("A"), ConstexprValue(int64_t(3)));
  EXPECT_EQ(got.at("B"), ConstexprValue(true));
  EXPECT_EQ(got.at("C"), ConstexprValue(0.5));
  EXPECT_EQ(got.at("D"), ConstexprValue(nullptr));
  EXPECT_EQ(got.at("E"), ConstexprValue(DType::FP16));
  EXPECT_EQ(got.at("F"), ConstexprValue(std::string("relu")));
  EXPECT_TRUE(constexprsFromJson("").empty());
  for (const char *bad : {"[]", "{", R"({"A": [1]})", R"({"A": "tl.float17"})",
                          R"({"A": 18446744073709551615})"})
    EXPECT_THROW(constexprsFromJson(bad), Error) << bad;
}

TEST(Kernel, HostTargetIsNamedInFull) {
  const auto target = CpuTarget::parse(hostTarget());
  ASSERT_TRUE(target);
  EXPECT_EQ(target->name(), CpuTarget::host()->name());
}
