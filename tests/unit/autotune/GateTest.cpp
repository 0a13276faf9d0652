// tests/unit/autotune/GateTest.cpp - tests of autotune/Gate.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/Gate.h"

#include "runtime/cases/Case.h"
#include "support/File.h"
#include "tests/unit/support/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace tessera;
namespace fs = std::filesystem;

// What a candidate did wrong is recorded as a case, with the tensors that the
// recording has, also where its folder is named from the current one.
TEST(Gate, AReproducerHasTheTensorsOfItsRecording) {
  TemporaryFolder folder;
  const fs::path recorded = folder.path() / "recorded";
  fs::create_directory(recorded);
  cases::Case launch;
  launch.name = "copy";
  launch.kernel = "copy";
  launch.kernelFile = "copy.py";
  launch.constexprs = {{"BLOCK", int64_t(64)}};
  writeFile(recorded / "case.json", cases::writeCase(launch));
  writeFile(recorded / "copy.py", "the kernel");
  writeFile(recorded / "before.safetensors", "the tensors");

  cases::PreparedLaunch candidate;
  candidate.constexprs = {{"BLOCK", int64_t(16)}};
  candidate.options.numWarps = 8;
  const fs::path made = folder.path() / "failed" / "copy-1";
  tune::writeReproducer(made, fs::relative(recorded), candidate, {4, 1, 1});

  const cases::Case again = cases::loadCaseText(made).recorded;
  EXPECT_EQ(std::get<int64_t>(again.constexprs.at("BLOCK")), 16);
  EXPECT_EQ(again.numWarps, 8);
  EXPECT_FALSE(again.numStages);
  EXPECT_EQ(again.grid, (Grid{4, 1, 1}));
  EXPECT_EQ(readFile(made / "copy.py"), "the kernel");
  EXPECT_EQ(readFile(made / "before.safetensors"), "the tensors");
  EXPECT_FALSE(fs::exists(made / "after.safetensors"));
}
