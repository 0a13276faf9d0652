// tests/unit/trainer/checkpoint/CheckpointWriterTest.cpp - what the thread
// writes, and the errors that it reports.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/CheckpointWriter.h"

#include "tests/unit/trainer/TestFolder.h"
#include "trainer/checkpoint/CheckpointFolder.h"
#include "trainer/settings/Config.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::trainer;
namespace fs = std::filesystem;

namespace {

struct Saved {
  Saved() {
    config.out = folder.path.string();
    config.keepCheckpoints = 9;
  }
  TestFolder folder;
  Config config;
  std::vector<models::Parameter> parameters = {
      {"matrix", at::full({64, 64}, 0.5).set_requires_grad(true)}};
  AdamW optimizer{parameters, config};
  KernelTexts kernels;
  RunTuning tuning = {{"t.yaml", "TESSERA_TUNED", "hash of the table"},
                      {{"k.py:k fp32", "B=8", "tuned"}}};
  CheckpointWriter writer{config, "hash", kernels, tuning, optimizer};

  Progress at(int64_t step) {
    Progress progress;
    progress.step = step;
    return progress;
  }
  void save(int64_t step) { writer.start(at(step), optimizer.own()); }
  /// The first element of the weight in a checkpoint.
  float weightOf(int64_t step) {
    Config other = config;
    std::vector<models::Parameter> there = {
        {"matrix", at::zeros({64, 64}).set_requires_grad(true)}};
    AdamW loaded(there, other);
    const auto found =
        findCheckpoint(folder.path.string(), [](const std::string &) {});
    EXPECT_EQ(found->state["step"], step);
    loadCheckpoint(*found, config, loaded, loaded.own());
    loaded.refresh();
    return there[0].value[0][0].item<float>();
  }
};

TEST(CheckpointWriter, RecordsTheTuningOfTheRun) {
  Saved s;
  s.save(1);
  s.writer.wait();
  const auto found =
      findCheckpoint(s.folder.path.string(), [](const std::string &) {});
  EXPECT_EQ(found->state.value("tuning", nlohmann::json()), toJson(s.tuning));
}

TEST(CheckpointWriter, HoldsTheStateOfItsStep) {
  Saved s;
  for (int64_t step = 1; step <= 3; ++step) {
    const float before = s.parameters[0].value[0][0].item<float>();
    s.save(step);
    // What comes next must not get into it.
    s.parameters[0].value.detach().fill_(double(step));
    s.writer.wait();
    EXPECT_EQ(s.weightOf(step), before);
  }
  EXPECT_TRUE(s.writer.failures().empty());
  EXPECT_EQ(listCheckpoints(s.config.out).size(), 3u);
}

TEST(CheckpointWriter, ItsEndCompletesWhatIsBeingWritten) {
  TestFolder folder;
  {
    Saved s;
    s.config.out = folder.path.string();
    s.save(7);
  }
  EXPECT_EQ(faultOf(checkpointPath(folder.path.string(), 7)), "");
}

// The state of all processes together did not fit the first one's memory.
TEST(CheckpointWriter, NoMemoryIsAFailureOfThatStep) {
  Saved s;
  s.writer.start(s.at(4), OptimizerState());
  s.writer.wait();
  const auto failures = s.writer.failures();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].step, 4);
  EXPECT_NE(failures[0].error.message.find("no memory"), std::string::npos);
  EXPECT_TRUE(listCheckpoints(s.config.out).empty());
}

// A file has the name of the checkpoint folder: every save fails as on a disk
// that cannot be written, for root too.
TEST(CheckpointWriter, AFailureIsToldOnceAndTheNextIsTried) {
  Saved s;
  s.folder.write("ckpt", "not a folder");
  s.save(1);
  s.save(2);
  s.writer.wait();
  const auto failures = s.writer.failures();
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].step, 1);
  EXPECT_EQ(failures[1].step, 2);
  EXPECT_NE(failures[0].error.message.find("ckpt"), std::string::npos);
  EXPECT_FALSE(failures[0].error.hint.empty());
  EXPECT_TRUE(s.writer.failures().empty());
  fs::remove(s.folder.path / "ckpt");
  s.save(3);
  s.writer.wait();
  EXPECT_TRUE(s.writer.failures().empty());
  EXPECT_EQ(faultOf(checkpointPath(s.config.out, 3)), "");
}

} // namespace
