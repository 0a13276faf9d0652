// tests/unit/trainer/loop/PlacementTest.cpp - the line about a GPU that a run
// does not use.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/Placement.h"
#include "support/Options.h"
#include "tests/unit/trainer/TestFolder.h"
#include "trainer/settings/Config.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tessera::trainer {
namespace {

TEST(Placement, ARunWithoutAChoiceReportsThatTheGpuIsNotUsed) {
  const char *variable = optionInfo(Option::Device).name;
  ::unsetenv(variable);
  const TestFolder folder;
  Config config;
  EXPECT_EQ(unusedGpuLine(config, c10::kCPU, folder.path), "");
  folder.write("nvidia0", "");
  EXPECT_NE(unusedGpuLine(config, c10::kCPU, folder.path)
                .find("runtime.device=cuda trains on it"),
            std::string::npos);
  EXPECT_EQ(unusedGpuLine(config, c10::Device(c10::kCUDA, 0), folder.path), "");
  ::setenv(variable, "cpu", 1);
  EXPECT_EQ(unusedGpuLine(config, c10::kCPU, folder.path), "");
  ::unsetenv(variable);
  config.device = ComputeDevice::Cpu;
  EXPECT_EQ(unusedGpuLine(config, c10::kCPU, folder.path), "");
}

} // namespace
} // namespace tessera::trainer
