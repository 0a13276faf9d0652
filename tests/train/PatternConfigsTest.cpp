// tests/train/PatternConfigsTest.cpp - the configurations of configs/patterns.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/PatternFile.h"
#include "tests/train/TrainRun.h"

#include <cmath>
#include <filesystem>
#include <set>

using namespace tessera;

namespace {

class PatternConfigs : public TrainRun {};

TEST_F(PatternConfigs, EveryConfigurationStarts) {
  std::set<std::string> there;
  for (const auto &entry : std::filesystem::directory_iterator(
           TESSERA_SOURCE "/configs/patterns")) {
    const std::string name = entry.path().stem().string();
    there.insert(name);
    expectFine(runCommand(
        {TESSERA_TRAIN, "train", "--config", entry.path().string(),
         "data.path=" + folder.file("text"), "out=" + folder.file(name),
         "train.steps=2", "train.seq_len=96", "train.batch_size=1",
         "train.log_every=1", "train.final_windows=1", "train.save_every=0"},
        std::chrono::seconds(300)));
    const auto all = steps(name);
    ASSERT_EQ(all.size(), 2u) << name;
    for (const auto &[loss, norm] : all)
      EXPECT_TRUE(std::isfinite(loss) && norm > 0) << name;
  }
  EXPECT_TRUE(there.contains("gpt_oss"));
  for (const std::string &name : runtime::libraryPatterns())
    EXPECT_TRUE(there.contains(name)) << name;
}

} // namespace
