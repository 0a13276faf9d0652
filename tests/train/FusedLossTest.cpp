// tests/train/FusedLossTest.cpp - training without logits, and residual sums
// inside of norms.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"
#include "trainer/data/Prepare.h"
#include "trainer/loop/KernelList.h"

#include <cmath>
#include <filesystem>

using namespace tessera;

namespace {

class FusedLoss : public TrainRun {
protected:
  /// Whether the run had the kernels of the loss.
  bool fused(const std::string &out) {
    return std::filesystem::exists(folder.path / out /
                                   "kernels/step_00000000/nn/linear_loss.py");
  }
  /// Whether the run had the kernels of kept logits.
  bool kept(const std::string &out) {
    return std::filesystem::exists(folder.path / out /
                                   "kernels/step_00000000/nn/logits_loss.py");
  }
  /// 20 steps with logits and 20 without, of the same data and weights.
  void expectAlike(std::vector<std::string> settings, double limit) {
    settings.insert(settings.end(),
                    {"kernels=tessera", "train.steps=20", "train.lr=0.002"});
    for (const char *loss : {"true", "false"}) {
      std::vector<std::string> all = settings;
      all.push_back(std::string("runtime.fused_loss=") + loss);
      expectFine(run(loss, all));
      EXPECT_EQ(metrics(loss)["kernels_compiled_after_step_1"], 0);
    }
    EXPECT_TRUE(fused("true"));
    EXPECT_FALSE(fused("false"));
    const auto with = steps("false"), without = steps("true");
    ASSERT_EQ(with.size(), 20u);
    ASSERT_EQ(without.size(), 20u);
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_LT(std::abs(without[i].first / with[i].first - 1), limit)
          << "step " << i + 1;
      EXPECT_LT(std::abs(without[i].second / with[i].second - 1), 10 * limit)
          << "gradient norm of step " << i + 1;
    }
    EXPECT_LT(without.back().first, 0.9 * without.front().first);
    EXPECT_NEAR(metrics("true")["val_bpb"].get<double>() /
                    metrics("false")["val_bpb"].get<double>(),
                1, limit);
  }
};

TEST_F(FusedLoss, TrainsAsLogitsDo) {
  for (const char *attention : {"nsa", "dense"})
    expectAlike({std::string("attention=") + attention, "resume=never"}, 1e-5);
}

TEST_F(FusedLoss, TrainsAsLogitsDoInBf16) {
  expectAlike({"attention=dense", "runtime.precision=bf16"}, 1e-2);
}

// Kept logits: the losses of fp32 differ by the rounding of sums, those of bf16
// by that of logits.
TEST_F(FusedLoss, KeptLogitsTrainAsChunksDo) {
  for (const auto &[precision, limit] :
       {std::pair("fp32", 1e-5), std::pair("bf16", 1e-2)}) {
    for (const std::string way : {"keep", "chunks"}) {
      const std::string out = way + precision;
      expectFine(
          run(out, {"kernels=tessera", "attention=dense", "train.steps=20",
                    "train.lr=0.002", "runtime.fused_loss=true",
                    std::string("runtime.precision=") + precision,
                    "runtime.loss_logits=" + way}));
      EXPECT_EQ(metrics(out)["kernels_compiled_after_step_1"], 0);
      EXPECT_TRUE(fused(out));
      EXPECT_EQ(kept(out), way == "keep");
    }
    const auto keep = steps(std::string("keep") + precision),
               chunks = steps(std::string("chunks") + precision);
    ASSERT_EQ(keep.size(), 20u);
    ASSERT_EQ(chunks.size(), 20u);
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_LT(std::abs(keep[i].first / chunks[i].first - 1), limit)
          << precision << ", step " << i + 1;
      EXPECT_LT(std::abs(keep[i].second / chunks[i].second - 1), 10 * limit)
          << precision << ", gradient norm of step " << i + 1;
    }
    EXPECT_LT(keep.back().first, 0.9 * keep.front().first);
  }
}

// Of a run's list, from which a pack is made: auto keeps logits on GPUs.
TEST_F(FusedLoss, ListsTheKernelsOfKeptLogits) {
  const auto lists = [&](const std::string &way, const std::string &device) {
    std::vector<std::string> line =
        command("list", {"kernels=tessera", "attention=dense",
                         "runtime.fused_loss=true", "runtime.precision=bf16",
                         "runtime.loss_logits=" + way});
    line.push_back("--list-kernels");
    const CommandResult done = runCommand(line, std::chrono::seconds(300),
                                          {"TESSERA_DEVICE=" + device});
    expectFine(done);
    const bool forward =
        done.output.find("logits_loss_fwd") != std::string::npos;
    EXPECT_EQ(done.output.find("logits_loss_bwd") != std::string::npos,
              forward);
    return forward;
  };
  EXPECT_TRUE(lists("keep", "cpu"));
  EXPECT_FALSE(lists("auto", "cpu"));
  EXPECT_TRUE(lists("auto", "sim:sm_80"));
  EXPECT_FALSE(lists("chunks", "sim:sm_80"));
}

// Rows of complete documents: the last token of a row and padding have no
// target.
TEST_F(FusedLoss, TokensWithoutATargetDoNotCount) {
  std::istringstream words(smallText());
  std::string lines;
  for (std::string line; std::getline(words, line);)
    lines += nlohmann::json{{"text", line}}.dump() + "\n";
  tessera::trainer::PrepareOptions options;
  options.input = folder.write("documents.jsonl", lines);
  options.out = folder.file("shards");
  prepareData(options);
  expectAlike(
      {"attention=nsa", "data.path=" + options.out, "data.packing=best_fit"},
      1e-5);
}

// The run has what --dry-run reports; `auto` depends on the vocabulary's size.
TEST_F(FusedLoss, TheVocabularyDecides) {
  for (const auto &[size, expected] :
       {std::pair("8191", false), std::pair("8192", true)}) {
    const std::vector<std::string> settings = {
        "kernels=tessera", "attention=dense", "train.steps=1",
        "train.final_windows=1", std::string("model.vocab_size=") + size};
    std::vector<std::string> dry = command("plan", settings);
    dry.push_back("--dry-run");
    const CommandResult plan = runCommand(dry, std::chrono::seconds(60));
    expectFine(plan);
    EXPECT_EQ(plan.output.find("nn/linear_loss.py") != std::string::npos,
              expected);
    expectFine(run(size, settings));
    EXPECT_EQ(fused(size), expected);
  }
}

// Kernels are listed with a model of a small vocabulary.
TEST_F(FusedLoss, TheListHasItWhereTheCompleteVocabularyDoes) {
  for (const int64_t vocabulary : {256, 8191, 8192, 50257}) {
    models::ModelConfig model;
    model.vocabulary = vocabulary;
    EXPECT_EQ(fusesLoss(trainer::kernelsOnly(model)), vocabulary >= 8192);
  }
}

TEST_F(FusedLoss, IsComparedWithPlainTorch) {
  expectFine(run("compared",
                 {"kernels=tessera", "runtime.fused_loss=true", "train.steps=3",
                  "debug.compare_every=2", "debug.compare_stop=true"}));
  std::istringstream in(readFile(folder.file("compared/metrics.jsonl")));
  int seen = 0;
  for (std::string line; std::getline(in, line);) {
    const nlohmann::json figures = nlohmann::json::parse(line).value(
        "kernel_differences", nlohmann::json::object());
    if (figures.contains("linear_loss")) {
      ++seen;
      EXPECT_LT(figures["linear_loss"].get<double>(), 1e-5);
      EXPECT_LT(figures["loss"].get<double>(), 1e-4);
    }
  }
  EXPECT_EQ(seen, 1);
}

// Blocks that are computed again add and normalize in two operations.
TEST_F(FusedLoss, ResidualSumsInNormsChangeNoBit) {
  for (const std::string precision : {"fp32", "bf16"}) {
    std::string weights;
    for (const std::string level : {"none", "mlp", "full"}) {
      const std::string name = precision + level;
      expectFine(
          run(name, {"kernels=tessera", "train.steps=5", "train.save_every=5",
                     "train.lr=0.002", "runtime.precision=" + precision,
                     "runtime.gradient_checkpointing=" + level}));
      const std::string found = checkpoint(name, 5, "model.safetensors");
      EXPECT_FALSE(found.empty());
      EXPECT_TRUE(weights.empty() || weights == found) << name;
      weights = found;
    }
  }
}

} // namespace
