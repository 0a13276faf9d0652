// tests/train/PrefixTest.cpp - training with values of each sequence: a prefix
// language model.
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

using Settings = std::vector<std::string>;

class TrainPrefix : public TrainRun {
protected:
  Settings with(const std::string &prefix, Settings more = {}) const {
    more.insert(more.begin(), {"kernels=tessera", "attention=prefix_lm",
                               "attention.per_sequence=prefix=" + prefix,
                               "train.save_every=5", "train.keep=9"});
    return more;
  }
  void expectSame(const std::string &one, const std::string &other) {
    for (const char *name : {"model.safetensors", "optimizer.safetensors"})
      EXPECT_EQ(checkpoint(one, 12, name), checkpoint(other, 12, name));
  }
  /// Takes the later checkpoints of a finished run away.
  void interrupt(const std::string &out) {
    fs::remove(folder.path / out / "metrics.json");
    for (const char *step : {"step_00000010", "step_00000012"})
      fs::remove_all(folder.path / out / "ckpt" / step);
  }
};

TEST_F(TrainPrefix, APrefixOfOneTokenIsDenseAttention) {
  expectFine(run("prefix", with("1")));
  expectFine(run("dense", {"attention=sdpa"}));
  const auto ours = steps("prefix"), dense = steps("dense");
  ASSERT_EQ(ours.size(), dense.size());
  for (size_t i = 0; i < ours.size(); ++i)
    EXPECT_NEAR(ours[i].first / dense[i].first, 1, 1e-3) << "step " << i + 1;
  EXPECT_NEAR(metrics("prefix")["val_bpb"].get<double>() /
                  metrics("dense")["val_bpb"].get<double>(),
              1, 1e-3);
}

// A model could copy the targets inside of a prefix: the loss would fall far
// below that of text that it does not see.
TEST_F(TrainPrefix, TargetsInsideThePrefixDoNotCount) {
  expectFine(run("half", with("64", {"train.steps=60"})));
  expectFine(run("none", with("0", {"train.steps=60"})));
  const double half = metrics("half")["val_bpb"],
               none = metrics("none")["val_bpb"];
  EXPECT_LT(steps("half").back().first, 0.8 * steps("half").front().first);
  EXPECT_GT(half, 0.7 * none);
  // No position before the last token of the prefix has a loss.
  EXPECT_FALSE(metrics("half")["bpb_by_position"].contains("0-31"));
  EXPECT_TRUE(metrics("none")["bpb_by_position"].contains("0-31"));
}

TEST_F(TrainPrefix, ResumesBitForBitAndRefusesAnotherSource) {
  expectFine(run("straight", with("uniform")));
  expectFine(run("resumed", with("uniform")));
  interrupt("resumed");
  expectRefused(run("resumed", with("through(10)")),
                "attention.per_sequence=prefix=uniform, this run has "
                "prefix=through(10)");
  expectFine(run("resumed",
                 {"kernels=tessera", "train.save_every=5", "train.keep=9"}));
  expectSame("straight", "resumed");
}

TEST_F(TrainPrefix, ActivationsComputedAgainGiveTheSameModel) {
  expectFine(run("kept", with("uniform")));
  expectFine(
      run("again", with("uniform", {"runtime.gradient_checkpointing=full"})));
  expectSame("kept", "again");
}

// Documents of many lengths, whose prefix ends with their first newline.
TEST_F(TrainPrefix, TwoProcessesTrainTheSameModelOnPackedDocuments) {
  std::string text;
  const std::string words = smallText();
  for (size_t i = 0, at = 0; i < 700; at += 20 + i % 70, ++i)
    text +=
        nlohmann::json{{"text", words.substr(at, 20 + i % 70)}}.dump() + "\n";
  folder.write("lines.jsonl", text);
  const Settings packed =
      with("through(10)", {"data.path=" + folder.file("lines.jsonl"),
                           "data.packing=best_fit"});
  expectFine(run("one", packed));
  std::vector<std::string> two = command("two", packed);
  two.insert(two.begin() + 2, {"--nproc", "2"});
  expectFine(runCommand(two, std::chrono::seconds(300)));
  const auto one = steps("one"), ours = steps("two");
  ASSERT_EQ(one.size(), ours.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_NEAR(ours[i].first / one[i].first, 1, 1e-6) << "step " << i + 1;
    EXPECT_NEAR(ours[i].second / one[i].second, 1, 1e-6) << "step " << i + 1;
  }
}

// The likeliest bytes of forward passes whose prefix is the prompt.
TEST_F(TrainPrefix, ThePromptIsThePrefixOfGeneratedText) {
  expectFine(
      run("run", with("uniform", {"train.steps=30", "train.sample_every=15",
                                  "train.sample_tokens=4"})));
  const trainer::TrainedModel trained =
      trainer::readTrainedModel(folder.file("run"), {});
  const at::NoGradGuard noGrad;
  const std::string prompt = "the tile of the stone is laid upon the floor ";
  std::string text = prompt;
  models::ForwardOptions options;
  options.perSequence = at::full({1, 1}, int64_t(prompt.size()), at::kInt);
  for (int i = 0; i < 24; ++i) {
    at::Tensor tokens = at::empty({1, int64_t(text.size())}, at::kLong);
    for (size_t at = 0; at < text.size(); ++at)
      tokens[0][int64_t(at)] = int64_t(static_cast<unsigned char>(text[at]));
    text += char(trained.model->forward(tokens, options)
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

TEST_F(TrainPrefix, WrongSettingsAreRefused) {
  expectRefused(run("wrong", {"kernels=tessera", "attention=prefix_lm"}),
                "attention.per_sequence does not set it");
  expectRefused(run("wrong", with("middle")), "sets `prefix` to `middle`");
  expectRefused(run("wrong", {"kernels=tessera", "attention=window",
                              "attention.per_sequence=prefix=4"}),
                "which no pattern of attention takes");
}

} // namespace
