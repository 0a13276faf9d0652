// tests/train/SelectedPatternTest.cpp - training patterns that select blocks:
// the indexer's loss, activations that are computed again, resume, processes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"

#include <cmath>
#include <filesystem>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

using Settings = std::vector<std::string>;

class SelectedPattern : public TrainRun {
protected:
  // Blocks of 8 and 3 of them: sequences are longer.
  const Settings learned = {"kernels=tessera", "attention=learned_blocks,moba",
                            "attention_params=block=8,top=3,heads=2,dim=8; "
                            "block=8,top=3",
                            "train.save_every=5", "train.keep=9"};
  Settings with(Settings more) const {
    more.insert(more.begin(), learned.begin(), learned.end());
    return more;
  }
  void expectSame(const std::string &one, const std::string &other) {
    for (const char *name : {"model.safetensors", "optimizer.safetensors"})
      EXPECT_EQ(checkpoint(one, 12, name), checkpoint(other, 12, name));
  }
};

TEST_F(SelectedPattern, TheIndexerLearnsWithTheModel) {
  expectFine(run("run", with({"train.steps=40", "train.save_every=0"})));
  const auto all = steps("run");
  EXPECT_LT(all.back().first, 0.9 * all.front().first);
  std::vector<double> losses;
  for (const auto &record : records("run"))
    if (record.contains("index_loss"))
      losses.push_back(record["index_loss"].get<double>());
  ASSERT_EQ(losses.size(), all.size());
  EXPECT_GT(losses.front(), 0);
  EXPECT_LT(losses.back(), losses.front());
}

// Only the indexer's own weights get the gradient of its loss.
TEST_F(SelectedPattern, TheWeightOfTheLossMovesTheIndexerAlone) {
  const Settings one = {"train.steps=1", "train.grad_clip=0",
                        "train.weight_decay=0"};
  for (const char *weight : {"0", "1"}) {
    Settings all = with(one);
    all.push_back(std::string("attention.index_loss=") + weight);
    expectFine(run(weight, all));
  }
  EXPECT_EQ(steps("0").front().first, steps("1").front().first);
  EXPECT_LT(steps("0").front().second, steps("1").front().second);
}

TEST_F(SelectedPattern, ActivationsComputedAgainGiveTheSameModel) {
  expectFine(run("kept", learned));
  for (const char *what : {"attention", "full"}) {
    expectFine(run(
        what, with({std::string("runtime.gradient_checkpointing=") + what})));
    expectSame("kept", what);
  }
}

TEST_F(SelectedPattern, ResumesBitForBitAndRefusesAnotherSelection) {
  expectFine(run("straight", learned));
  expectFine(run("resumed", learned));
  fs::remove(folder.path / "resumed/metrics.json");
  for (const char *step : {"step_00000010", "step_00000012"})
    fs::remove_all(folder.path / "resumed/ckpt" / step);
  Settings other = learned;
  other[2] = "attention_params=block=8,top=4,heads=2,dim=8; block=8,top=3";
  expectRefused(run("resumed", other), "top");
  expectFine(run("resumed", learned));
  expectSame("straight", "resumed");
}

// The text of the file is part of the run: nothing is compiled from it.
TEST_F(SelectedPattern, AChangedFileIsRefusedAndAMissingOneIsKept) {
  const std::string file = folder.file("mine.py");
  const std::string text = readFile(TESSERA_SOURCE "/kernels/patterns/moba.py");
  writeFile(file, text);
  const Settings settings = {"kernels=tessera", "attention=" + file,
                             "attention_params=block=8,top=3",
                             "train.save_every=5", "train.keep=9"};
  expectFine(run("run", settings));
  fs::remove(folder.path / "run/metrics.json");
  for (const char *step : {"step_00000010", "step_00000012"})
    fs::remove_all(folder.path / "run/ckpt" / step);
  std::string changed = text;
  changed.replace(changed.find("scope=q"), 7, "scope=kv");
  writeFile(file, changed);
  expectRefused(run("run", settings), "mine.py");
  fs::remove(file);
  expectFine(run("run", {"kernels=tessera", "train.save_every=5"}));
  expectFine(runCommand({TESSERA_TRAIN, "generate", "--run", folder.file("run"),
                         "--prompt", "the ", "--tokens", "3"},
                        std::chrono::seconds(120)));
}

TEST_F(SelectedPattern, TwoProcessesTrainTheSameModel) {
  std::vector<std::string> two = command("two", learned);
  two.insert(two.begin() + 2, {"--nproc", "2"});
  expectFine(run("one", learned));
  expectFine(runCommand(two, std::chrono::seconds(300)));
  const auto one = steps("one"), ours = steps("two");
  ASSERT_EQ(one.size(), ours.size());
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_NEAR(ours[i].first / one[i].first, 1, 1e-6) << "step " << i + 1;
}

TEST_F(SelectedPattern, WrongParametersAreRefused) {
  const auto refused = [&](const std::string &parameters,
                           const std::string &message) {
    expectRefused(run("wrong", {"kernels=tessera", "attention=moba",
                                "attention_params=" + parameters}),
                  message);
  };
  refused("top=0", "`top` is 0");
  refused("blok=8", "blok");
  refused("block=8.5", "block");
  refused("top=2,local=3", "`local` is 3");
  expectRefused(run("wrong", {"kernels=torch", "attention=moba"}), "compiled");
}

} // namespace
