// tests/train/LayerKindsTest.cpp - training models whose layers have different
// attention.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"
#include "trainer/checkpoint/TrainedModel.h"

#include <ATen/ATen.h>
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
TEST_F(LayerKinds, WideWindowsMixedWithDenseAttentionAreDenseAttention) {
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

TEST_F(LayerKinds, KernelsOfAFileResumeInAnotherFolder) {
  const fs::path here = folder.path / "here", there = folder.path / "there";
  fs::create_directories(here / "mine");
  fs::create_directories(there);
  fs::copy(TESSERA_SOURCE "/kernels/tutorials/dilated_window.py",
           here / "mine/dilated.py");
  const auto kernels = [&](const std::string &file) {
    return with({"attention.kernel=" + file, "attention.fwd=dilated_window",
                 "attention.bwd=dilated_window_bwd",
                 "attention.constexprs=W=16,STEP=4"});
  };
  expectFine(trainFrom(here, "straight", kernels("mine/dilated.py")));
  expectFine(trainFrom(here, "resumed", kernels("mine/dilated.py")));
  interrupt("resumed");
  expectFine(trainFrom(there, "resumed", kernels("../here/mine/dilated.py")));
  expectSame("straight", "resumed");
  fs::rename(here / "mine", here / "ours");
  interrupt("resumed");
  expectFine(trainFrom(there, "resumed", kernels("../here/ours/dilated.py")));
  expectSame("straight", "resumed");
}

// The meaning of a pattern is its text and its parameters, in any folder.
TEST_F(LayerKinds, AMovedPatternResumesUnlessItsTextChanged) {
  fs::create_directories(folder.path / "mine");
  fs::create_directories(folder.path / "ours");
  const std::string text =
      readFile(TESSERA_SOURCE "/kernels/patterns/window.py");
  const auto pattern = [&](const std::string &where) {
    return with({"attention=" + folder.file(where) + ",dense",
                 "attention_params=window=24"});
  };
  writeFile(folder.file("mine/near.py"), text);
  expectFine(train("straight", pattern("mine/near.py")));
  expectFine(train("resumed", pattern("mine/near.py")));
  fs::remove_all(folder.path / "mine");
  interrupt("resumed");
  writeFile(folder.file("ours/near.py"), text + "\n# Another text.\n");
  expectRefused(train("resumed", pattern("ours/near.py")),
                "layer 0: the pattern " + folder.file("ours/near.py"));
  writeFile(folder.file("ours/near.py"), text);
  expectFine(train("resumed", pattern("ours/near.py")));
  expectSame("straight", "resumed");
}

TEST_F(LayerKinds, AFinishedRunWarnsThatItsPatternChanged) {
  const std::string file = folder.file("near.py");
  fs::copy(TESSERA_SOURCE "/kernels/patterns/window.py", file);
  const std::vector<std::string> pattern = {"attention=" + file,
                                            "attention_params=window=24"};
  expectFine(train("run", pattern));
  const std::string changed = "layer 0: the pattern " + file + " is not";
  const CommandResult same = train("run", pattern);
  expectFine(same);
  EXPECT_EQ(same.errors.find(changed), std::string::npos) << same.errors;
  writeFile(file, readFile(file) + "\n# Another text.\n");
  const CommandResult other = train("run", pattern);
  expectFine(other);
  EXPECT_NE(other.errors.find("WARNING: " + changed), std::string::npos)
      << other.errors;
  EXPECT_NE(other.errors.find("is finished"), std::string::npos)
      << other.errors;
}

TEST_F(LayerKinds, AFinishedRunIsExtendedWithItsCopyOfAMissingPattern) {
  fs::create_directories(folder.path / "mine");
  const std::string file = folder.file("mine/near.py");
  fs::copy(TESSERA_SOURCE "/kernels/patterns/window.py", file);
  const std::vector<std::string> pattern = {"attention=" + file,
                                            "attention_params=window=24",
                                            "train.lr_schedule=constant"};
  std::vector<std::string> longer = pattern;
  longer.push_back("train.steps=16");
  expectFine(train("straight", longer));
  expectFine(train("extended", pattern));
  fs::remove_all(folder.path / "mine");
  const std::vector<std::string> schedule = {"train.lr_schedule=constant"};
  const CommandResult same = train("extended", schedule);
  expectFine(same);
  EXPECT_NE(same.errors.find("is finished"), std::string::npos) << same.errors;
  expectFine(
      train("extended", {"train.lr_schedule=constant", "train.steps=16"}));
  EXPECT_FALSE(fs::exists(folder.file("extended/previous-1")));
  EXPECT_EQ(checkpoint("straight", 16, "model.safetensors"),
            checkpoint("extended", 16, "model.safetensors"));
}

TEST_F(LayerKinds, TheShareOfSelectedKeysIsThatOfNsaLayers) {
  expectFine(train("nsa", {"attention=nsa", "train.steps=2"}));
  expectFine(train("mixed", {"attention=nsa,moba", "train.steps=2",
                             "attention_params=dense_below=4096"}));
  const auto share = [&](const std::string &out) {
    return metrics(out)["selected_fraction"].get<double>();
  };
  EXPECT_GT(share("nsa"), 0);
  EXPECT_NEAR(share("mixed"), share("nsa"), 0.01);
}

TEST_F(LayerKinds, TwoProcessesTrainTheSameModel) {
  const std::vector<std::string> mixed = {"attention=sink_window,alibi",
                                          "attention_params=window=24",
                                          "kernels=tessera"};
  const auto two = [&](const std::string &out) {
    std::vector<std::string> all = command(out, with(mixed));
    all.insert(all.begin() + 2, {"--nproc", "2"});
    return runCommand(all, std::chrono::seconds(300));
  };
  expectFine(run("one", with(mixed)));
  expectFine(two("two"));
  expectFine(two("resumed"));
  const auto one = steps("one"), ours = steps("two");
  ASSERT_EQ(one.size(), ours.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_NEAR(ours[i].first / one[i].first, 1, 1e-6) << "step " << i + 1;
    EXPECT_NEAR(ours[i].second / one[i].second, 1, 1e-6) << "step " << i + 1;
  }
  interrupt("resumed");
  expectFine(two("resumed"));
  expectSame("two", "resumed");
}

// A trained run writes the likeliest bytes of the complete forward pass.
TEST_F(LayerKinds, GeneratedTextIsThatOfTheForwardPass) {
  for (const std::vector<std::string> &attention :
       std::vector<std::vector<std::string>>{
           {"attention=sink_window", "attention_params=window=16"},
           {"attention=block_causal", "attention_params=block=8"},
           {"attention=alibi"},
           {"attention=window,window",
            "attention_params=window=8; window=64"}}) {
    std::vector<std::string> more = attention;
    more.push_back("train.steps=30");
    more.push_back("resume=never");
    expectFine(train("run", more));
    const trainer::TrainedModel trained =
        trainer::readTrainedModel(folder.file("run"), {});
    const at::NoGradGuard noGrad;
    const std::string prompt = "the tile of the stone is laid upon the floor ";
    std::string text = prompt;
    for (int i = 0; i < 24; ++i) {
      at::Tensor tokens = at::empty({1, int64_t(text.size())}, at::kLong);
      for (size_t at = 0; at < text.size(); ++at)
        tokens[0][int64_t(at)] = int64_t(static_cast<unsigned char>(text[at]));
      text += char(trained.model->forward(tokens)
                       .logits[0][-1]
                       .argmax()
                       .item<int64_t>());
    }
    const CommandResult generated =
        runCommand({TESSERA_TRAIN, "generate", "--run", folder.file("run"),
                    "--tokens", "24", "--temperature", "0", "--prompt", prompt},
                   std::chrono::seconds(300));
    expectFine(generated);
    EXPECT_NE(generated.output.find(text.substr(prompt.size())),
              std::string::npos)
        << generated.output << "\n"
        << text;
  }
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
