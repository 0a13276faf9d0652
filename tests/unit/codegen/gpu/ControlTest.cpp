// tests/unit/codegen/gpu/ControlTest.cpp - loops, branches, scalars on sim.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/gpu/GpuKernel.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

TEST(GpuControl, AKernelWithoutMemoryRuns) {
  GpuKernel kernel(R"(
func.func @nothing(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> (i32) : i32 {
    %b = arith.addi %a, %i : i32
    scf.yield %b : i32
  }
  return
}
)");
  EXPECT_NE(kernel.ptx.find(".reqntid 128"), std::string::npos) << kernel.ptx;
  sim::Report report = kernel.run({2}, {7});
  EXPECT_EQ(report.counters.blocks, 2u);
}

} // namespace
