// tests/train/PatternTest.cpp - training with an attention pattern.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"

#include <cmath>
#include <filesystem>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

class TrainPattern : public TrainRun {
protected:
  const std::string sinkWindow = "attention=kernels/patterns/sink_window.py";
  const std::string small = "attention_params=window=24, first=2";

  CommandResult train(const std::string &out, std::vector<std::string> more) {
    more.insert(more.begin(), "kernels=tessera");
    return run(out, more);
  }
  CommandResult generate(const std::string &out) {
    return runCommand({"/bin/sh", "-c", "cd / && exec \"$@\"", "sh",
                       TESSERA_TRAIN, "generate", "--run", folder.file(out),
                       "--tokens", "6", "--prompt", "the "},
                      std::chrono::seconds(300));
  }
};

TEST_F(TrainPattern, LossesFallAndTheSinkLearns) {
  expectFine(train("run", {sinkWindow, small, "train.steps=60"}));
  const auto all = steps("run");
  ASSERT_EQ(all.size(), 60u);
  for (const auto &[loss, norm] : all)
    ASSERT_TRUE(std::isfinite(loss) && std::isfinite(norm));
  EXPECT_LT(all.back().first, 0.8 * all.front().first);
  const std::string weights = checkpoint("run", 60, "model.safetensors");
  EXPECT_NE(weights.find("blocks.1.attention.head_learned"), std::string::npos);
}

// Without a learned parameter, a window as long as the sequence is dense
// attention, and has the losses of torch's.
TEST_F(TrainPattern, AWideWindowIsDenseAttention) {
  expectFine(train("window", {"attention=kernels/patterns/window.py",
                              "attention_params=window=128"}));
  expectFine(run("dense", {"attention=sdpa"}));
  const auto ours = steps("window"), dense = steps("dense");
  ASSERT_EQ(ours.size(), dense.size());
  for (size_t i = 0; i < ours.size(); ++i)
    EXPECT_NEAR(ours[i].first / dense[i].first, 1, 1e-3) << "step " << i + 1;
}

TEST_F(TrainPattern, ResumesBitForBitAndRefusesAnotherPattern) {
  const std::vector<std::string> saved = {sinkWindow, small,
                                          "train.save_every=5", "train.keep=9"};
  expectFine(train("straight", saved));
  expectFine(train("resumed", saved));
  fs::remove(folder.path / "resumed" / "metrics.json");
  for (const char *step : {"step_00000010", "step_00000012"})
    fs::remove_all(folder.path / "resumed" / "ckpt" / step);
  expectRefused(train("resumed", {sinkWindow, "attention_params=window=8",
                                  "train.save_every=5", "train.keep=9"}),
                "layer 0: sink_window(window=24, first=2), this run has "
                "sink_window(window=8, first=4)");
  expectRefused(train("resumed", {"attention=kernels/patterns/alibi.py",
                                  "train.save_every=5", "train.keep=9"}),
                "layer 0: sink_window(window=24, first=2), this run has alibi");
  expectFine(train("resumed", saved));
  for (const char *name : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_EQ(checkpoint("straight", 12, name),
              checkpoint("resumed", 12, name));
}

// The run keeps the file of the pattern that its weights were trained with.
TEST_F(TrainPattern, GeneratesWithItsOwnCopyOfTheFile) {
  fs::create_directories(folder.path / "mine");
  const std::string file = folder.file("mine/near.py");
  writeFile(file, readFile(TESSERA_SOURCE "/kernels/patterns/alibi.py"));
  expectFine(train("run", {"attention=" + file, "train.steps=2"}));
  const CommandResult before = generate("run");
  expectFine(before);
  writeFile(file, readFile(TESSERA_SOURCE "/kernels/patterns/alibi.py") +
                      "\n\n@triton.jit\ndef sees(t, pos):\n"
                      "    return pos == t\n");
  const CommandResult edited = generate("run");
  expectFine(edited);
  EXPECT_EQ(before.output, edited.output);
  fs::remove_all(folder.path / "mine");
  const CommandResult after = generate("run");
  expectFine(after);
  EXPECT_EQ(before.output, after.output);
}

TEST_F(TrainPattern, ConfigsTakeParametersAsAMap) {
  const std::string config = folder.file("config.yaml");
  writeFile(config, "attention: kernels/patterns/strided.py\n"
                    "attention_params:\n  local: 8\n  stride: 4\n");
  const std::vector<std::string> more = {"--config", config, "train.steps=2"};
  std::vector<std::string> all = command("run", {"kernels=tessera"});
  all.insert(all.begin() + 2, more.begin(), more.end());
  expectFine(runCommand(all, std::chrono::seconds(300)));
  EXPECT_NE(readFile(folder.file("run/config.json")).find("local=8, stride=4"),
            std::string::npos);
}

TEST_F(TrainPattern, WrongSettingsAreRefused) {
  const auto refused = [&](const std::vector<std::string> &more,
                           const std::string &message) {
    expectRefused(train("run", more), message);
  };
  refused({"attention=kernels/patterns/windw.py"}, "no kernel file");
  refused({"attention=kernels/nsa/window_fwd.py"}, "is not a pattern");
  refused({sinkWindow, "attention_params=windw=3"}, "sets `windw`");
  refused({sinkWindow, "attention_params=window=wide"}, "write NAME=number");
  refused({sinkWindow, "attention.fwd=other"}, "leave one of the two away");
  refused({sinkWindow, "attention.learned=GATE"}, "leave one of the two away");
  refused({sinkWindow, "kernels=torch"}, "set kernels: tessera");
}

} // namespace
