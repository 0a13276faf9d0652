// tests/unit/codegen/gpu/DebugTest.cpp - print, assert and assume on sim.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/gpu/GpuKernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

using namespace tessera;

namespace {

std::vector<std::string> sortedLines(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(GpuDebug, OneLineForEachElement) {
  GpuKernel kernel(R"(
func.func @show(%x: !tile.ptr<f32>) {
  %i = tile.range 0, 4 : tensor<4xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<4x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %i : tensor<4x!tile.ptr<f32>>, tensor<4xi32>
  %v = tile.load %xp : tensor<4x!tile.ptr<f32>>
  tile.print "100% of row" %v : tensor<4xf32>
  return
}
)");
  std::vector<float> x = {1.5f, -2, 0.1f, 3e30f};
  sim::Report report = kernel.run({1}, {x});
  EXPECT_EQ(sortedLines(report.output),
            (std::vector<std::string>{
                "pid (0, 0, 0) idx (0) 100% of row fp32[4]: 1.5",
                "pid (0, 0, 0) idx (1) 100% of row fp32[4]: -2",
                "pid (0, 0, 0) idx (2) 100% of row fp32[4]: 0.100000001",
                "pid (0, 0, 0) idx (3) 100% of row fp32[4]: 2.99999989e+30"}));
}

TEST(GpuDebug, TwoAxesAndPrograms) {
  GpuKernel kernel(R"(
func.func @show() {
  %i = tile.range 0, 2 : tensor<2xi32>
  %r = tile.expand_dims %i, 1 : tensor<2xi32> -> tensor<2x1xi32>
  %rb = tile.broadcast %r : tensor<2x1xi32> -> tensor<2x2xi32>
  tile.print "" %rb : tensor<2x2xi32>
  return
}
)");
  sim::Report report = kernel.run({1, 2}, {});
  std::vector<std::string> expected;
  for (int pid = 0; pid < 2; ++pid)
    for (int row = 0; row < 2; ++row)
      for (int column = 0; column < 2; ++column) {
        std::ostringstream line;
        line << "pid (0, " << pid << ", 0) idx (" << row << ", " << column
             << ") int32[2, 2]: " << row;
        expected.push_back(line.str());
      }
  EXPECT_EQ(sortedLines(report.output), expected);
}

TEST(GpuDebug, EveryTypeOfScalar) {
  GpuKernel kernel(R"(
func.func @show(%a: i32, %b: i64, %f: f32) {
  %byte = arith.trunci %a : i32 to i8
  %short = arith.trunci %a : i32 to i16
  %half = arith.truncf %f : f32 to f16
  %brain = arith.truncf %f : f32 to bf16
  %double = arith.extf %f : f32 to f64
  %zero = arith.constant 0 : i32
  %negative = arith.cmpi slt, %a, %zero : i32
  %positive = arith.cmpi sgt, %a, %zero : i32
  tile.print "v" %a, %b, %f, %byte, %short, %half, %brain, %double, %negative, %positive : i32, i64, f32, i8, i16, f16, bf16, f64, i1, i1
  tile.print "u" %a, %byte, %b : i32, i8, i64 {isUnsigned = array<i1: true, true, true>}
  tile.print "h" %a, %byte, %half, %f, %b : i32, i8, f16, f32, i64 {hex}
  tile.print "only text"
  return
}
)");
  sim::Report report =
      kernel.run({1}, {int32_t(-2), int64_t(-5000000000), 0.5f});
  const std::string p = "pid (0, 0, 0) ";
  std::string expected;
  for (const char *line :
       {"v int32: -2", "v int64: -5000000000", "v fp32: 0.5", "v int8: -2",
        "v int16: -2", "v fp16: 0.5", "v bf16: 0.5", "v fp64: 0.5",
        "v int1: True", "v int1: False", "u uint32: 4294967294", "u uint8: 254",
        "u uint64: 18446744068709551616", "h int32: 0xfffffffe", "h int8: 0xfe",
        "h fp16: 0x3800", "h fp32: 0x3f000000", "h int64: 0xfffffffed5fa0e00",
        "only text"})
    expected += p + line + "\n";
  EXPECT_EQ(report.output, expected);
}

const char *assertKernel = R"(
func.func @check(%x: !tile.ptr<i32>, %n: i32) {
  %i = tile.range 0, 256 : tensor<256xi32>
  %xs = tile.splat %x : !tile.ptr<i32> -> tensor<256x!tile.ptr<i32>>
  %xp = tile.addptr %xs, %i : tensor<256x!tile.ptr<i32>>, tensor<256xi32>
  %v = tile.load %xp : tensor<256x!tile.ptr<i32>>
  %ns = tile.splat %n : i32 -> tensor<256xi32>
  %ok = arith.cmpi slt, %v, %ns : tensor<256xi32>
  tile.assert %ok, "x is less than n" : tensor<256xi1> loc("kernel.py":12:3)
  return
}
)";

TEST(GpuDebug, AnAssertionNamesItsLocation) {
  GpuKernel kernel(assertKernel);
  std::vector<int32_t> x(256, 3);
  EXPECT_TRUE(kernel.tryRun({1}, {x, 4}).findings.empty());
  // Each element counts, whichever thread has it.
  for (size_t bad : {0, 37, 255}) {
    x.assign(256, 3);
    x[bad] = 4;
    sim::Report report = kernel.tryRun({1}, {x, 4});
    ASSERT_EQ(report.findings.size(), 1u) << bad;
    EXPECT_EQ(report.findings[0].check, sim::Check::Assertion);
    EXPECT_NE(report.findings[0].message.find(
                  "x is less than n (kernel.py:12, check)"),
              std::string::npos)
        << report.findings[0].message;
  }
}

TEST(GpuDebug, AnAssumptionIsUsed) {
  GpuKernel kernel(R"(
func.func @fact(%n: i32, %y: !tile.ptr<i32>) {
  %zero = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  %positive = arith.cmpi sge, %n, %zero : i32
  tile.assume %positive : i1
  %part = arith.remsi %n, %eight : i32
  tile.store %y, %part : !tile.ptr<i32>, i32
  return
}
)");
  // Of a number that is not negative the rest is its lowest bits.
  EXPECT_EQ(kernel.ptx.find("shr.s32"), std::string::npos) << kernel.ptx;
  std::vector<int32_t> y(1);
  kernel.run({1}, {29, y});
  EXPECT_EQ(y[0], 5);
}

} // namespace
