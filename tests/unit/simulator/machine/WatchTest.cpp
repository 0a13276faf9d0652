// tests/unit/simulator/machine/WatchTest.cpp - what tessera debug sees:
// registers after the instructions of a line.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/simulator/machine/Fixture.h"

#include "simulator/Watch.h"

#include <bit>

namespace tessera::sim {
namespace {

// Y[t] = sum of k + t over three turns, in float; lanes of the second half of a
// warp skip line 13. Line 14 is inlined from line 7 of another file.
constexpr const char *Loop = R"(
  .reg .pred %p<4>;
  .reg .b16 %h<4>;
  .reg .b32 %r<20>;
  .reg .b32 %q<4>;
  .reg .b64 %rd<8>;
  .file 1 "/some/where/kernel.py"
  .file 2 "/other/helper.py"
  .loc 1 10 4
  ld.param.u64 %rd1, [Y];
  mov.u32 %r1, %tid.x;
  mov.b32 %r2, 0;
  mov.b32 %q1, 0f00000000;
$again:
  .loc 1 11 4
  add.s32 %r3, %r1, %r2;
  cvt.rn.f32.s32 %r4, %r3;
  .loc 1 12 4
  add.f32 %q1, %q1, %r4;
  mov.b32 %q2, %q1;
  and.b32 %r5, %r1, 16;
  setp.ne.s32 %p1, %r5, 0;
  .loc 1 13 4
  @!%p1 add.s32 %r6, %r3, 100;
  .loc 2 7 1, function_name $name, inlined_at 1 14 8
  cvt.rn.f16.f32 %h1, %q1;
  mov.b32 %r7, {%h1, %h1};
  fma.rn.f16x2 %r8, %r7, %r7, %r7;
  .loc 1 15 4
  add.s32 %r2, %r2, 1;
  setp.lt.s32 %p2, %r2, 3;
  .loc 1 16 4
  @%p2 bra $again;
  .loc 1 17 4
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  mov.u32 %r9, %ctaid.x;
  st.global.b32 [%rd3], %q1;
  ret;
)";

std::vector<WatchStep> watched(Watch watch, Dim3 grid = {2, 1, 1}) {
  static const Module module =
      Module::load(kernelText(".param .u64 Y", Loop), "loop.ptx");
  std::vector<float> y(64);
  Memory memory;
  memory.add("Y", y.data(), 256, true, false);
  std::vector<WatchStep> steps;
  watch.step = [&](const WatchStep &step) { steps.push_back(step); };
  Options options;
  options.watch = &watch;
  module.launch("k", grid, {64, 1, 1}, 0, {pointer(y.data())}, memory, options)
      .throwIfBad();
  for (int t = 0; t < 64; ++t)
    EXPECT_EQ(y[static_cast<size_t>(t)], static_cast<float>(3 * t + 3));
  return steps;
}

Watch atLine(uint32_t line, std::string file = "") {
  Watch watch;
  watch.block = {1, 0, 0};
  watch.line = line;
  watch.file = std::move(file);
  return watch;
}

TEST(SimWatch, WrittenRegistersOfEachExecution) {
  std::vector<WatchStep> steps = watched(atLine(11));
  // Two instructions, three turns, two warps.
  ASSERT_EQ(steps.size(), 12u);
  const WatchStep &s = steps[2 * 2 + 1];
  EXPECT_EQ(s.warp, 0u);
  EXPECT_EQ(s.execution, 3u);
  EXPECT_EQ(s.text, "cvt.rn.f32.s32 %r4, %r3");
  EXPECT_EQ(s.source, "kernel.py:11:4");
  ASSERT_EQ(s.registers.size(), 1u);
  EXPECT_EQ(s.registers[0].name, "%r4");
  EXPECT_EQ(s.registers[0].type, Type::F32);
  EXPECT_EQ(s.registers[0].uninitialized, 0u);
  for (uint32_t l = 0; l < 32; ++l)
    EXPECT_EQ(
        std::bit_cast<float>(static_cast<uint32_t>(s.registers[0].lanes[l])),
        static_cast<float>(l + 2));
  EXPECT_EQ(steps.back().warp, 1u);
  EXPECT_EQ(steps.back().registers[0].lanes[0], std::bit_cast<uint32_t>(34.0f));
}

TEST(SimWatch, TypesComeFromTheUsesOfARegister) {
  std::map<std::string, Type> types;
  for (uint32_t line : {11u, 12u, 13u, 15u})
    for (const WatchStep &step : watched(atLine(line)))
      for (const RegisterValue &value : step.registers)
        types[value.name] = value.type;
  EXPECT_EQ(types["%r3"], Type::S32);
  EXPECT_EQ(types["%q1"], Type::F32);
  EXPECT_EQ(types["%q2"], Type::F32); // only moved
  EXPECT_EQ(types["%r5"], Type::S32);
  EXPECT_EQ(types["%p1"], Type::None);
}

// Registers that only a product reads: two halves each, or one tf32.
TEST(SimWatch, FragmentsHaveTheTypesOfTheirProduct) {
  struct {
    const char *shape, *element;
    Type type;
  } kinds[] = {{"m16n8k16", "bf16", Type::Bf16x2},
               {"m16n8k16", "f16", Type::F16x2},
               {"m16n8k8", "tf32", Type::F32}};
  for (const auto &kind : kinds) {
    const std::string element = kind.element;
    std::string body = ".reg .b32 %a<4>, %b<2>, %d<4>;\n.file 1 \"k.py\"\n"
                       ".loc 1 20 4\n";
    for (const char *name :
         {"%a0", "%a1", "%a2", "%a3", "%b0", "%b1", "%d0", "%d1", "%d2", "%d3"})
      body += std::string("mov.b32 ") + name + ", 0;\n";
    body += std::string(".loc 1 21 4\nmma.sync.aligned.") + kind.shape +
            ".row.col.f32." + element + "." + element +
            ".f32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, "
            "{%d0, %d1, %d2, %d3};\nret;\n";
    const Module module =
        Module::load(kernelText(".param .u64 Y", body), "mma.ptx");
    std::map<std::string, Type> types;
    Watch watch;
    watch.line = 20;
    watch.step = [&](const WatchStep &step) {
      for (const RegisterValue &value : step.registers)
        types[value.name] = value.type;
    };
    Options options;
    options.watch = &watch;
    std::vector<float> y(64);
    Memory memory;
    memory.add("Y", y.data(), 256, true, false);
    module
        .launch("k", {1, 1, 1}, {32, 1, 1}, 0, {pointer(y.data())}, memory,
                options)
        .throwIfBad();
    EXPECT_EQ(types["%a0"], kind.type) << element;
    EXPECT_EQ(types["%b1"], kind.type) << element;
    EXPECT_EQ(types["%d2"], Type::F32) << element;
  }
}

TEST(SimWatch, LanesThatDoNotExecute) {
  std::vector<WatchStep> steps = watched(atLine(13));
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_EQ(steps[0].lanes, 0x0000ffffu);
  EXPECT_EQ(steps[0].registers[0].lanes[15], 115u);
  EXPECT_EQ(steps[0].registers[0].uninitialized, 0xffff0000u);
}

TEST(SimWatch, InlinedLinesCountAtBothLocations) {
  std::vector<WatchStep> caller = watched(atLine(14));
  std::vector<WatchStep> callee = watched(atLine(7, "helper.py"));
  ASSERT_EQ(caller.size(), 18u);
  ASSERT_EQ(callee.size(), caller.size());
  EXPECT_EQ(caller[2].registers[0].type, Type::F16x2);
  EXPECT_EQ(caller[2].registers[0].name, "%r8");
  // The kernel's file has no line 7.
  EXPECT_THROW(watched(atLine(7)), Error);
}

TEST(SimWatch, NamedRegistersAndPtxLines) {
  Watch watch;
  watch.block = {0, 0, 0};
  watch.registers = {"%r9", "%q1"};
  std::string text = kernelText(".param .u64 Y", Loop);
  size_t at = text.find("st.global");
  watch.ptxLine =
      1 + static_cast<uint32_t>(std::count(
              text.begin(), text.begin() + static_cast<long>(at), '\n'));
  std::vector<WatchStep> steps = watched(watch);
  ASSERT_EQ(steps.size(), 2u);
  ASSERT_EQ(steps[0].registers.size(), 2u);
  EXPECT_EQ(steps[0].registers[0].lanes[3], 0u); // %ctaid.x of this block
  EXPECT_EQ(steps[1].registers[1].lanes[0], std::bit_cast<uint32_t>(99.0f));
  watch.block = {1, 0, 0};
  EXPECT_EQ(watched(watch)[0].registers[0].lanes[3], 1u);
}

std::string messageOf(const Watch &watch) {
  try {
    watched(watch);
  } catch (const Error &error) {
    return error.message + " HINT: " + error.hint;
  }
  return "";
}

TEST(SimWatch, Errors) {
  std::string message = messageOf(atLine(99));
  EXPECT_NE(message.find("comes from line 99"), std::string::npos) << message;
  EXPECT_NE(message.find("10, 11, 12, 13, 14, 15, 16, 17"), std::string::npos)
      << message;
  EXPECT_NE(messageOf(atLine(16)).find("only steers"), std::string::npos);
  Watch watch = atLine(11);
  watch.registers = {"%r33"};
  message = messageOf(watch);
  EXPECT_NE(message.find("no register %r33"), std::string::npos) << message;
  watch = atLine(11);
  watch.block = {2, 0, 0};
  EXPECT_NE(messageOf(watch).find("no block 2,0,0"), std::string::npos);
}

} // namespace
} // namespace tessera::sim
