// tests/train/LayerKindsTest.cpp - training models whose layers have different
// attention.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"

#include <cmath>
#include <filesystem>

using namespace tessera;
namespace fs = std::filesystem;

namespace {

class LayerKinds : public TrainRun {
protected:
  CommandResult train(const std::string &out, std::vector<std::string> more) {
    more.insert(more.begin(), "kernels=tessera");
    return run(out, more);
  }
  /// The same command in another current folder.
  CommandResult trainFrom(const fs::path &where, const std::string &out,
                          std::vector<std::string> more) {
    more.insert(more.begin(), "kernels=tessera");
    std::vector<std::string> all = {
        "/bin/sh", "-c", "cd " + where.string() + " && exec \"$@\"", "sh"};
    for (const std::string &word : command(out, more))
      all.push_back(word);
    return runCommand(all, std::chrono::seconds(300));
  }
  /// Takes the later checkpoints of a finished run away.
  void interrupt(const std::string &out) {
    fs::remove(folder.path / out / "metrics.json");
    for (const char *step : {"step_00000010", "step_00000012"})
      fs::remove_all(folder.path / out / "ckpt" / step);
  }
  void expectSame(const std::string &one, const std::string &other) {
    for (const char *name : {"model.safetensors", "optimizer.safetensors"})
      EXPECT_EQ(checkpoint(one, 12, name), checkpoint(other, 12, name));
  }
  const std::vector<std::string> often = {"train.save_every=5", "train.keep=9"};
  std::vector<std::string> with(std::vector<std::string> more) {
    more.insert(more.end(), often.begin(), often.end());
    return more;
  }
};

TEST_F(LayerKinds, EveryLayerLearnsItsOwnNumbers) {
  expectFine(train("run", {"attention=sink_window,alibi",
                           "attention_params=window=24", "train.steps=40"}));
  const auto all = steps("run");
  for (const auto &[loss, norm] : all)
    ASSERT_TRUE(std::isfinite(loss) && std::isfinite(norm));
  EXPECT_LT(all.back().first, 0.9 * all.front().first);
  const std::string weights = checkpoint("run", 40, "model.safetensors");
  for (const char *layer : {"blocks.0", "blocks.1"})
    EXPECT_NE(weights.find(std::string(layer) + ".attention.head_learned"),
              std::string::npos);
  for (const char *file : {"alibi.py", "sink_window.py"})
    EXPECT_TRUE(
        fs::exists(folder.path / "run/kernels/step_00000000/patterns" / file));
}

// Windows of all tokens are dense attention, and have the losses of torch's.
TEST_F(LayerKinds, WideWindowsBesideDenseAttentionAreDenseAttention) {
  expectFine(train("mixed", {"attention=[window, dense]",
                             "attention_params=[{window: 128}, {}]"}));
  expectFine(run("dense", {"attention=sdpa"}));
  const auto ours = steps("mixed"), dense = steps("dense");
  ASSERT_EQ(ours.size(), dense.size());
  for (size_t i = 0; i < ours.size(); ++i)
    EXPECT_NEAR(ours[i].first / dense[i].first, 1, 1e-3) << "step " << i + 1;
}

TEST_F(LayerKinds, NsaAndAPatternTrainInOneModel) {
  expectFine(train("run", {"attention=nsa,window", "attention_params=window=24",
                           "train.steps=40"}));
  const auto all = steps("run");
  EXPECT_LT(all.back().first, 0.9 * all.front().first);
  EXPECT_TRUE(metrics("run").contains("val_bpb_without_sel"));
}

TEST_F(LayerKinds, ResumesBitForBitInAnotherFolderAndSpelling) {
  const fs::path here = folder.path / "here", there = folder.path / "there";
  fs::create_directories(here / "mine");
  fs::create_directories(there);
  fs::copy(TESSERA_SOURCE "/kernels/patterns/softcap.py", here / "mine/cap.py");
  const std::vector<std::string> written =
      with({"attention=mine/cap.py,sink_window",
            "attention_params=window=24,first=2,cap=30"});
  expectFine(trainFrom(here, "straight", written));
  expectFine(trainFrom(here, "resumed", written));
  interrupt("resumed");
  expectFine(trainFrom(
      there, "resumed",
      with({"attention=[../here/mine/cap.py, kernels/patterns/sink_window.py]",
            "attention_params=[{cap: 30.0}, {first: 2, window: 24}]"})));
  expectSame("straight", "resumed");
  // Without attention in the command, and without the file of the pattern.
  fs::remove_all(here / "mine");
  interrupt("resumed");
  expectFine(trainFrom(there, "resumed", often));
  expectSame("straight", "resumed");
}

TEST_F(LayerKinds, AResumeWithOtherLayersIsRefused) {
  fs::create_directories(folder.path / "mine");
  const std::string file = folder.file("mine/near.py");
  const std::string text =
      readFile(TESSERA_SOURCE "/kernels/patterns/window.py");
  writeFile(file, text);
  const std::string list = "attention=" + file + ",dense";
  expectFine(train("run", with({list, "attention_params=window=24"})));
  interrupt("run");
  const auto refused = [&](const std::vector<std::string> &more,
                           const std::string &message) {
    const CommandResult r = train("run", with(more));
    expectRefused(r, message);
    EXPECT_NE(r.errors.find("resume=never"), std::string::npos) << r.errors;
  };
  refused({list, "attention_params=window=8"},
          "layer 0: near(window=24), this run has near(window=8)");
  refused({"attention=dense," + file, "attention_params=window=24"},
          "layer 0: near(window=24), this run has dense");
  refused({"attention=" + file + ",sdpa", "attention_params=window=24"},
          "layer 1: dense, this run has sdpa");
  writeFile(file, text + "\n# Another text.\n");
  refused({list, "attention_params=window=24"}, "layer 0: the pattern " + file);
}

} // namespace
