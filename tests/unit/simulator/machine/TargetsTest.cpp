// tests/unit/simulator/machine/TargetsTest.cpp - instructions and sizes that a
// target lacks are refused, as ptxas refuses them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/isa/Targets.h"
#include "ptx/Ptxas.h"
#include "support/CudaTools.h"
#include "tests/unit/simulator/machine/RunText.h"

#include <cstdlib>
#include <optional>

namespace tessera::sim {
namespace {

constexpr const char *Registers =
    ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .f32 %f<20>;\n"
    ".reg .b64 %rd<20>; .reg .f64 %d<20>;\n";

// Instructions whose smallest target is above sm_80, and close relatives that
// sm_80 has.
constexpr const char *Samples[] = {
    "cp.async.ca.shared.global [%r1], [%rd1], 4;",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];",
    "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};",
    "movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r3;",
    "atom.global.add.noftz.f16 %h1, [%rd1], %h2;",
    "atom.global.add.noftz.bf16 %h1, [%rd1], %h2;",
    "red.global.add.noftz.bf16x2 [%rd1], %r2;",
    "atom.global.add.v2.f32 {%f1, %f2}, [%rd1], {%f3, %f4};",
    "red.global.add.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};",
    "redux.sync.add.s32 %r1, %r2, -1;",
    "elect.sync %r1|%p1, -1;",
    "add.rn.bf16 %h1, %h2, %h3;",
    "sub.rn.bf16x2 %r1, %r2, %r3;",
    "mul.rn.bf16 %h1, %h2, %h3;",
    "mul.rn.f16 %h1, %h2, %h3;",
    "fma.rn.bf16 %h1, %h2, %h3, %h4;",
    "max.bf16 %h1, %h2, %h3;",
    "abs.bf16 %h1, %h2;",
    "neg.bf16 %h1, %h2;",
    "min.xorsign.abs.f32 %f1, %f2, %f3;",
    "max.u16x2 %r1, %r2, %r3;",
    "add.u16x2 %r1, %r2, %r3;",
    "ex2.approx.f16 %h1, %h2;",
    "ex2.approx.ftz.bf16 %h1, %h2;",
    "tanh.approx.f32 %f1, %f2;",
    "tanh.approx.bf16 %h1, %h2;",
    "setp.lt.f16 %p1, %h1, %h2;",
    "setp.lt.bf16 %p1, %h1, %h2;",
    "cvt.rn.bf16.f32 %h1, %f1;",
    "cvt.f32.bf16 %f1, %h1;",
    "cvt.rn.bf16x2.f32 %r1, %f1, %f2;",
    "cvt.rna.tf32.f32 %r1, %f1;",
    "cvt.rn.tf32.f32 %r1, %f1;",
    "cvt.rn.bf16.s32 %h1, %r1;",
    "cvt.rzi.s32.bf16 %r1, %h1;",
    "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;",
    "cvt.rn.f16x2.e4m3x2 %r1, %h1;",
    "cvt.pack.sat.s16.s32 %r1, %r2, %r3;",
    "fence.acq_rel.gpu;",
    "fence.acq_rel.cluster;",
    "fence.proxy.async;",
    "ld.global.L2::cache_hint.b32 %r1, [%rd1], %rd2;",
    "ld.global.L2::256B.b32 %r1, [%rd1];",
    "ld.shared::cta.u32 %r1, [%r2];",
    "ld.shared::cluster.u32 %r1, [%r2];",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, "
    "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f5, %f6, %f7, %f8};",
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f1, %f2, %f3, %f4}, "
    "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f5, %f6, %f7, %f8};",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d3}, {%d4}, "
    "{%d5, %d6};",
};

std::string textOf(const std::string &instruction, const std::string &target) {
  return kernelText("", std::string(Registers) + instruction + "\nret;", "",
                    target);
}

std::string refusal(const std::string &instruction, const std::string &target) {
  try {
    Module::load(textOf(instruction, target));
    return "";
  } catch (const Error &error) {
    return error.message;
  }
}

TEST(SimTargets, RefusesWhatPtxasRefuses) {
  std::string why;
  const std::optional<Ptxas> ptxas = findPtxas({}, &why);
  if (!ptxas && std::getenv("TEST_COMPLETE"))
    FAIL() << why;
  if (!ptxas)
    GTEST_SKIP() << why;
  int refused = 0;
  for (const std::string target : {"sm_80", "sm_86", "sm_89", "sm_90"})
    for (const std::string sample : Samples) {
      ptx::AssembleOptions options;
      options.ptxas = ptxas->path;
      options.target = GpuTarget::parse(target);
      options.kernel = "k";
      bool assembles = true;
      try {
        ptx::assemble(textOf(sample, target), options);
      } catch (const Error &) {
        assembles = false;
      }
      refused += !assembles;
      EXPECT_EQ(refusal(sample, target).empty(), assembles)
          << target << ": " << sample << "\n"
          << refusal(sample, target);
    }
  EXPECT_GT(refused, 30); // or the samples prove nothing
}

TEST(SimTargets, NamesTheTargetThatAnInstructionNeeds) {
  const std::string text =
      refusal("atom.global.add.noftz.bf16 %h1, [%rd1], %h2;", "sm_80");
  EXPECT_NE(text.find("an instruction of sm_90 for the target sm_80"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("atom.global.add.noftz.bf16"), std::string::npos);
}

// ptxas of CUDA 13 has no targets below sm_75: these are from the PTX ISA.
TEST(SimTargets, OlderTargets) {
  EXPECT_EQ(requiredCapability("cp.async.ca.shared.global"), 80u);
  EXPECT_EQ(requiredCapability("ldmatrix.sync.aligned.m8n8.x1.shared.b16"),
            75u);
  EXPECT_EQ(requiredCapability("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16."
                               "f32"),
            75u);
  EXPECT_EQ(requiredCapability("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16."
                               "f32"),
            0u);
  EXPECT_EQ(requiredCapability("add.s32"), 0u);
  EXPECT_NE(refusal("cp.async.wait_all;", "sm_70"), "");
  EXPECT_EQ(refusal("cp.async.wait_all;", "sm_80"), "");
}

TEST(SimTargets, SuffixesOfATargetDoNotCount) {
  EXPECT_EQ(capabilityOf("sm_90a"), 90u);
  EXPECT_EQ(capabilityOf("sm_100"), 100u);
  EXPECT_EQ(capabilityOf("sm_80, texmode_independent"), 80u);
  EXPECT_EQ(capabilityOf("compute"), 0u);
}

std::string launchError(const std::string &target, uint32_t dynamicShared,
                        const std::string &before = "",
                        const std::string &body = "ret;") {
  const Module module =
      Module::load(kernelText("", body, before, target), "text.ptx");
  try {
    module.launch("k", {1, 1, 1}, {32, 1, 1}, dynamicShared, {}, {});
    return "";
  } catch (const Error &error) {
    return error.message + " " + error.hint;
  }
}

TEST(SimTargets, SharedMemoryOfABlock) {
  struct Limit {
    const char *target;
    uint32_t bytes;
  };
  for (const Limit limit :
       {Limit{"sm_70", 98304}, Limit{"sm_75", 65536}, Limit{"sm_80", 166912},
        Limit{"sm_86", 101376}, Limit{"sm_89", 101376}, Limit{"sm_90", 232448},
        Limit{"sm_90a", 232448}}) {
    EXPECT_EQ(launchError(limit.target, limit.bytes), "") << limit.target;
    const std::string error = launchError(limit.target, limit.bytes + 16);
    EXPECT_NE(
        error.find(std::to_string(limit.bytes) + " bytes on " + limit.target),
        std::string::npos)
        << error;
  }
}

TEST(SimTargets, StaticSharedMemoryEndsAt48KiB) {
  const auto variable = [](uint32_t bytes) {
    return ".shared .align 16 .b8 big[" + std::to_string(bytes) + "];\n";
  };
  const std::string body = ".reg .b32 %r<3>; mov.u32 %r1, big; ret;";
  EXPECT_EQ(launchError("sm_90", 0, variable(49152), body), "");
  const std::string error = launchError("sm_90", 0, variable(49168), body);
  EXPECT_NE(error.find("49168 bytes of static shared memory"),
            std::string::npos)
      << error;
}

} // namespace
} // namespace tessera::sim
