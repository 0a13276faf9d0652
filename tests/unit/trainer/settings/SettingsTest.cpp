// tests/unit/trainer/settings/SettingsTest.cpp - files of nsa-vibe,
// keys without a feature, variables, batch sizes, the page made from the table.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/NsaVibe.h"
#include "trainer/settings/Phases.h"
#include "trainer/settings/Setting.h"

#include "support/Error.h"
#include "support/File.h"
#include "trainer/settings/Document.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

using namespace tessera;
using namespace tessera::trainer;

namespace {

/// Message and hint of the refusal.
std::string refusal(const std::string &text,
                    const std::vector<std::string> &overrides = {},
                    const Environment &environment = {}) {
  try {
    parseConfig(text, "run.yaml", overrides, environment);
  } catch (const Error &e) {
    EXPECT_FALSE(e.hint.empty()) << e.message;
    return e.message + "\n" + e.hint;
  }
  return "accepted";
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// A file of nsa-vibe that asks for nothing we lack, with its key
/// names and in its order (train_showcase).
const char *const showcase = R"(model:
  dim: 128
  n_heads: 8
  n_kv_groups: 2
  d_k: 16
  d_v: 16
nsa:
  l: 16
  d: 8
  l_sel: 32
  n_sel: 8
  w: 64
  phi: "avg"
runtime:
  device: auto
  precision: fp32
  gradient_checkpointing: False
  fa2_enabled: false
  fa2_min_len_win: -1
  fa2_min_len_cmp: -1
data:
  tokenizer: byte
train:
  steps: 200
  seq_len: 128
  batch_size: 8
  lr: 3e-4
  lr_schedule: cosine
  weight_decay: 0.0
  grad_clip: 1.0
  accumulate_grad_batches: 2
  seed: 1337
  log_every: 20
  eval_every: 0
  save_every: 0
  out_dir: artifacts/train_showcase
)";

TEST(Settings, AFileOfThePythonSystemMeansTheSame) {
  const Config c = parseConfig(showcase, "train_showcase.yaml", {});
  EXPECT_EQ(c.model.dim, 128);
  EXPECT_EQ(c.model.layers, 1); // its default
  EXPECT_EQ(c.model.heads, 8);
  EXPECT_EQ(c.model.kvHeads, 2);
  EXPECT_EQ(c.model.keyDim, 16);
  EXPECT_EQ(c.model.valueDim, 16);
  EXPECT_EQ(c.model.mlpDim, 512); // four times the width, as there
  EXPECT_EQ(c.model.nsa.selectionLength, 32);
  EXPECT_EQ(c.model.nsa.selectedBlocks, 8);
  EXPECT_EQ(c.model.nsa.window, 64);
  EXPECT_EQ(c.steps, 200);
  EXPECT_EQ(c.sequenceLength, 128);
  EXPECT_EQ(c.batchSize, 8);
  EXPECT_EQ(c.deviceBatchSize, 8);
  EXPECT_EQ(c.accumulate, 2);
  EXPECT_EQ(c.tokensPerStep(), 8 * 2 * 128);
  EXPECT_EQ(c.learningRate, 3e-4);
  EXPECT_EQ(c.finalLearningRate, 0);
  EXPECT_EQ(c.warmup, 0);
  EXPECT_EQ(c.weightDecay, 0);
  EXPECT_EQ(c.clip, 1);
  EXPECT_EQ(c.seed, 1337);
  EXPECT_EQ(c.out, "artifacts/train_showcase");
  EXPECT_EQ(parseConfig("train: {max_grad_norm: 0.5}", "x", {}).clip, 0.5);
}

TEST(Settings, AFeatureThatIsMissingIsNeverPassedOver) {
  const std::string mlp = refusal("nsa:\n  phi: mlp\n");
  EXPECT_TRUE(has(mlp, "run.yaml:2: nsa.phi=mlp")) << mlp;
  EXPECT_TRUE(has(mlp, "mlp_pe is the network of the paper")) << mlp;
  EXPECT_TRUE(has(mlp, "avg or conv or mlp_pe")) << mlp;
  EXPECT_TRUE(has(refusal("nsa: {phi: mlp}"), "avg is what its runs did"));
  EXPECT_TRUE(has(refusal("runtime: {gradient_checkpointing: some}"),
                  "wants none or mlp or attention or full"));
  EXPECT_TRUE(has(refusal("runtime: {fa2_enabled: true}"), "FlashAttention"));
  EXPECT_TRUE(
      has(refusal("runtime: {sel_triton_min_L: 4096}"), "used it nowhere"));
  EXPECT_TRUE(has(refusal("runtime: {precision: int3}"), "wants fp32"));
  EXPECT_TRUE(has(refusal("nsa: {use_cmp: no, n_sel: 0, use_win: no}"),
                  "no branch of the attention"));
  EXPECT_TRUE(has(refusal("", {}, {{"NSA_FORCE_BRANCH", "up"}}),
                  "nsa.force_gate wants none or cmp or sel or win"));
  EXPECT_TRUE(has(refusal("nsa: {force_gate: win, w: 0}"),
                  "the win branch is not used"));
  // Settings that come later take precedence.
  EXPECT_EQ(refusal("nsa: {phi: mlp}", {"nsa.phi=avg"}), "accepted");
}

// nsa-vibe's words, as YAML spells them, and the levels.
TEST(Settings, RecomputeHasLevels) {
  using models::Recompute;
  const auto level = [](const std::string &text) {
    return parseConfig("runtime: {gradient_checkpointing: " + text + "}", "x",
                       {})
        .model.recompute;
  };
  for (const char *word : {"true", "True", "yes", "full"})
    EXPECT_EQ(level(word), Recompute::Full) << word;
  for (const char *word : {"false", "False", "no", "none"})
    EXPECT_EQ(level(word), Recompute::None) << word;
  EXPECT_EQ(level("mlp"), Recompute::Mlp);
  EXPECT_EQ(level("attention"), Recompute::Attention);
}

TEST(Settings, TheSameTwiceInAFileIsRefused) {
  const std::string twice = refusal("train:\n  lr: 1\n  steps: 3\n  lr: 2\n");
  EXPECT_TRUE(has(twice, "run.yaml:4: train.lr is given again")) << twice;
  EXPECT_TRUE(has(twice, "run.yaml:2")) << twice;
  const std::string alias = refusal("train:\n  warmup: 1\n  warmup_steps: 1\n");
  EXPECT_TRUE(has(alias, "train.warmup_steps is given again")) << alias;
  EXPECT_TRUE(has(alias, "as train.warmup")) << alias;
  EXPECT_EQ(
      parseConfig("", "x", {"train.warmup=1", "train.warmup_steps=2"}).warmup,
      2);
}

TEST(Settings, SizesHaveUpperBounds) {
  EXPECT_TRUE(has(refusal("model:\n  dim: 99999999\n"),
                  "run.yaml:2: model.dim must be between 1 and 65536"));
  for (const char *text :
       {"model.n_layers=100000", "model.mlp_dim=9999999999", "nsa.w=9999999",
        "train.seq_len=9999999", "train.batch_size=9999999", "threads=5000"})
    EXPECT_TRUE(has(refusal("", {text}), "must be between")) << text;
  EXPECT_TRUE(has(
      refusal("", {"train.batch_size=60000", "train.seq_len=100000"}), "2^31"));
}

TEST(Settings, OneBatchSizeGivesTheOther) {
  EXPECT_EQ(parseConfig("", "x", {"train.batch_size=6"}).deviceBatchSize, 6);
  EXPECT_EQ(parseConfig("", "x", {"train.device_batch_size=6"}).batchSize, 6);
  EXPECT_TRUE(
      has(refusal("", {"train.device_batch_size=6", "train.batch_size=4"}),
          "train.batch_size (4) is not train.device_batch_size (6) times 1 "));
}

TEST(Settings, VariablesRankBetweenFileAndCommandLine) {
  const Environment environment = {
      {"NSA_BATCH_SIZE", "3"}, {"NSA_ACCUM", "5"},           {"NSA_LR", "0.5"},
      {"NSA_NO_GC", "1"},      {"NSA_PREFILL_BATCHED", "1"}, {"HOME", "/root"}};
  const Config c = parseConfig("train: {batch_size: 8, seq_len: 64, lr: 1}\n"
                               "runtime: {gradient_checkpointing: true}\n",
                               "run.yaml", {"train.lr=0.25"}, environment);
  EXPECT_EQ(c.model.recompute, models::Recompute::None);
  EXPECT_EQ(c.batchSize, 3); // once, not again over the command line
  EXPECT_EQ(c.accumulate, 5);
  EXPECT_EQ(c.learningRate, 0.25);
  EXPECT_EQ(c.origins.at("train.batch_size"), "environment NSA_BATCH_SIZE");
  EXPECT_EQ(c.origins.at("train.lr"), "command line");
  EXPECT_EQ(c.origins.at("train.seq_len"), "run.yaml:1");
  EXPECT_FALSE(c.origins.contains("train.steps"));
  EXPECT_TRUE(has(refusal("", {}, {{"NSA_LR", "fast"}}),
                  "environment NSA_LR: train.lr wants a number"));
}

TEST(Settings, AVariableWithoutEffectIsRefused) {
  const std::string text = refusal("", {}, {{"NSA_STOPGRAD_GATES", "1"}});
  EXPECT_TRUE(has(text, "NSA_STOPGRAD_GATES=1 has no effect here")) << text;
  EXPECT_TRUE(has(text, "unset NSA_STOPGRAD_GATES")) << text;
  EXPECT_TRUE(has(refusal("", {}, {{"NSA_SEQ_LEM", "3"}}), "NSA_SEQ_LEN?"));
  EXPECT_TRUE(has(refusal("", {}, {{"NSA_PREFILL_BATCHED", "0"}}),
                  "has no effect here"));
}

TEST(Settings, TableNamesAreUniqueAndDefaultsInRange) {
  std::set<std::string> names;
  const Config defaults;
  for (const Setting &s : settingsTable()) {
    EXPECT_TRUE(names.insert(s.key).second) << s.key;
    for (const std::string &alias : s.aliases)
      EXPECT_TRUE(names.insert(alias).second) << alias;
    if (!s.variable.empty()) {
      EXPECT_TRUE(names.insert(s.variable).second) << s.variable;
    }
    EXPECT_FALSE(s.doc.empty()) << s.key;
    if (s.absent())
      continue;
    Config other;
    EXPECT_NO_THROW(setValue(s, other, valueText(s, defaults))) << s.key;
    EXPECT_EQ(valueText(s, other), valueText(s, defaults)) << s.key;
  }
}

// What a run had before keys were renamed, and before train.batch_size was that
// of all processes.
TEST(Settings, TakesWhatNobodyGaveFromAnEarlierRun) {
  const Config earlier = configFromJson({{"model.layers", 3},
                                         {"model.heads", 4},
                                         {"train.warmup", 50},
                                         {"train.device_batch_size", 2},
                                         {"train.log_every", 7},
                                         {"train.lr", 0.25},
                                         {"train.clip", 0.5}},
                                        "state.json");
  EXPECT_EQ(earlier.batchSize, 2);
  Config now = parseConfig("", "x", {"train.grad_clip=1", "model.n_heads=4"});
  const std::vector<std::string> taken = takeFrom(earlier, now);
  EXPECT_EQ(now.model.layers, 3);
  EXPECT_EQ(now.warmup, 50);
  EXPECT_EQ(now.batchSize, 2);
  EXPECT_EQ(now.deviceBatchSize, 2);
  EXPECT_EQ(now.clip, 1);      // given
  EXPECT_EQ(now.logEvery, 10); // may change
  EXPECT_EQ(now.learningRate, 0.25);
  // Layers, warm-up, batch, rate; what each process gets of it follows.
  EXPECT_EQ(taken.size(), 4u) << taken.front();
  EXPECT_EQ(now.origins.at("train.warmup_steps"), "checkpoint");
  EXPECT_THROW(configFromJson({{"train.what", 3}}, "state.json"), Error);
  EXPECT_THROW(configFromJson(nullptr, "state.json"), Error);
}

/// A config of nsa-vibe, as its documentation lists it.
struct Listed {
  const char *name;
  int64_t dim, window;
  Precision precision;
  int64_t length, batch, accumulate;
  double rate;
  int64_t warmup;
  double decay;
  int64_t steps, log, evaluate, save;
};

TEST(Settings, ConfigsOfThePythonSystemAreThereWithTheirMeaning) {
  const Listed all[] = {
      {"train_showcase", 128, 64, Precision::Fp32, 128, 8, 1, 0.0003, 0, 0, 200,
       20, 0, 0},
      {"m7c_125m_24g", 768, 512, Precision::Bf16, 4096, 2, 8, 0.0002, 2000,
       0.01, 200000, 50, 2000, 10000},
      {"m7c_125m_40g", 768, 512, Precision::Bf16, 4096, 4, 4, 0.0002, 2000,
       0.01, 200000, 50, 2000, 10000},
      {"m7c_125m_80g", 768, 512, Precision::Bf16, 4096, 8, 2, 0.0002, 2000,
       0.01, 200000, 50, 2000, 10000},
      {"m7c_125m_fast_log", 768, 512, Precision::Fp32, 1024, 1, 16, 0.0002,
       2000, 0.01, 50000, 5, 500, 5000},
      {"m7c_125m_1xa100_production", 768, 512, Precision::Bf16, 2048, 1, 1,
       0.0002, 2000, 0.01, 50000, 20, 1000, 5000},
      {"m7c_125m_1xa100_prod_v1", 768, 512, Precision::Bf16, 2048, 2, 2, 0.0002,
       2000, 0.01, 50000, 20, 1000, 5000},
      {"m7c_125m_2xa100_production", 768, 512, Precision::Bf16, 2048, 2, 2,
       0.0002, 2000, 0.01, 50000, 20, 1000, 5000},
      {"m7c_125m_2xa100_production_tuned", 768, 512, Precision::Bf16, 2048, 4,
       1, 0.0002, 2000, 0.01, 50000, 20, 1000, 5000},
      {"m7c_125m_2k_test", 768, 512, Precision::Bf16, 2048, 4, 1, 0.0002, 10,
       0.01, 100, 5, 50, 0},
      {"m7c_125m_2k_test_cpu", 768, 512, Precision::Fp32, 512, 2, 1, 0.0002, 2,
       0.01, 20, 5, 50, 0},
      {"m7c_small_smoke", 256, 256, Precision::Bf16, 1024, 1, 1, 0.0002, 20,
       0.01, 200, 20, 0, 0},
  };
  std::set<std::string> folders;
  for (const Listed &l : all) {
    SCOPED_TRACE(l.name);
    const Config c = readConfig(
        std::string(TESSERA_SOURCE "/configs/m7c/") + l.name + ".yaml", {}, 1);
    EXPECT_EQ(c.model.dim, l.dim);
    EXPECT_EQ(c.model.nsa.window, l.window);
    EXPECT_EQ(c.precision, l.precision);
    EXPECT_EQ(c.sequenceLength, l.length);
    EXPECT_EQ(c.batchSize, l.batch);
    EXPECT_EQ(c.accumulate, l.accumulate);
    EXPECT_DOUBLE_EQ(c.learningRate, l.rate);
    EXPECT_EQ(c.warmup, l.warmup);
    EXPECT_DOUBLE_EQ(c.weightDecay, l.decay);
    EXPECT_EQ(c.steps, l.steps);
    EXPECT_EQ(c.logEvery, l.log);
    EXPECT_EQ(c.evaluateEvery, l.evaluate);
    EXPECT_EQ(c.saveEvery, l.save);
    const std::set<std::string> kept = {"train_showcase", "m7c_125m_fast_log",
                                        "m7c_small_smoke"};
    EXPECT_EQ(c.model.recompute, kept.contains(l.name)
                                     ? models::Recompute::None
                                     : models::Recompute::Full);
    EXPECT_EQ(c.seed, 1337);
    EXPECT_EQ(c.model.gateMode, models::GateMode::Softmax);
    EXPECT_EQ(c.model.gateInput, models::GateInput::QueryMean);
    EXPECT_EQ(c.model.mlp, models::MlpKind::Silu);
    EXPECT_TRUE(folders.insert(c.out).second) << "in one folder: " << c.out;
  }
  // Two processes share the batches of those for two GPUs.
  EXPECT_EQ(readConfig(TESSERA_SOURCE
                       "/configs/m7c/m7c_125m_2xa100_production.yaml",
                       {}, 2)
                .deviceBatchSize,
            1);
}

// A file for nsa-vibe trains nsa-vibe's model; what is still different is named
// in one line.
TEST(Settings, AFileForNsaVibeHasItsModel) {
  const std::string file = "model: {dim: 64, n_layers: 1, n_heads: 4}\n"
                           "nsa: {phi: avg}\n"
                           "runtime: {use_flash: false}\n"
                           "train: {steps: 3, save_every: 0}\n";
  const Config theirs = parseConfig(file, "theirs.yaml", {});
  EXPECT_EQ(theirs.model.mlp, models::MlpKind::Silu);
  EXPECT_EQ(theirs.model.gateMode, models::GateMode::Softmax);
  EXPECT_EQ(theirs.model.gateInput, models::GateInput::QueryMean);
  EXPECT_EQ(theirs.origins.at("nsa.gate"), "theirs.yaml as nsa-vibe reads it");
  // What the user writes is stronger.
  const Config own = parseConfig(file + "model.mlp: swiglu\n", "theirs.yaml",
                                 {"nsa.gate=sigmoid"});
  EXPECT_EQ(own.model.mlp, models::MlpKind::SwiGlu);
  EXPECT_EQ(own.model.gateMode, models::GateMode::Sigmoid);
  EXPECT_EQ(own.model.gateInput, models::GateInput::QueryMean);
  // Other files keep the defaults.
  const Config ours = parseConfig("train: {steps: 3}\n", "ours.yaml", {});
  EXPECT_EQ(ours.model.mlp, models::MlpKind::SquaredRelu);
  EXPECT_EQ(nsaVibeLine(ours), "");
}

TEST(Settings, AFileForNsaVibeNamesEachDifference) {
  const auto line = [](const std::string &text,
                       const std::vector<std::string> &overrides) {
    return nsaVibeLine(parseConfig(text, "theirs.yaml", overrides));
  };
  const std::string file = "train: {out_dir: runs/x, weight_decay: 0.01}\n";
  const std::string plain = line(file, {});
  EXPECT_EQ(std::count(plain.begin(), plain.end(), '\n'), 0);
  for (const char *part :
       {"theirs.yaml is a file for nsa-vibe and trains its model",
        "train.beta2 is 0.95 (nsa-vibe: 0.999)",
        "train.save_every is 200 (nsa-vibe: 0)",
        "train.weight_decay is for matrices", "rotary positions",
        "train.steps counts updates", "first weights",
        "docs/training/nsa-vibe.md"})
    EXPECT_TRUE(has(plain, part)) << part << ": " << plain;
  EXPECT_FALSE(has(plain, "model.mlp")) << plain;
  const std::string other =
      line(file, {"model.mlp=relu2", "nsa.gate=sigmoid", "nsa.gate_input=x",
                  "model.tied_head=true", "nsa.phi=conv", "model.mlp_dim=64",
                  "attention=dense"});
  for (const char *part :
       {"model.mlp is relu2 (nsa-vibe: silu)",
        "nsa.gate is sigmoid (nsa-vibe: softmax)",
        "nsa.gate_input is x (nsa-vibe: q_mean)",
        "model.tied_head is true (nsa-vibe: false)",
        "nsa.phi is conv (nsa-vibe: avg)", "model.mlp_dim is 64",
        "attention is dense (nsa-vibe: nsa)"})
    EXPECT_TRUE(has(other, part)) << part << ": " << other;
}

// A checkpoint of an earlier version has the other model.
TEST(Settings, AFileForNsaVibeDoesNotTakeAnotherModelFromACheckpoint) {
  const Config earlier = configFromJson(
      {{"model.mlp", "relu2"}, {"nsa.gate", "sigmoid"}}, "state.json");
  Config now = parseConfig("train: {out_dir: runs/x}\n", "theirs.yaml", {});
  takeFrom(earlier, now);
  EXPECT_EQ(now.model.mlp, models::MlpKind::Silu);
  EXPECT_EQ(settingsThatKeepModel(earlier, now),
            "model.mlp=relu2 nsa.gate=sigmoid nsa.gate_input=x");
  Config kept =
      parseConfig("train: {out_dir: runs/x}\n", "theirs.yaml",
                  {"model.mlp=relu2", "nsa.gate=sigmoid", "nsa.gate_input=x"});
  takeFrom(earlier, kept);
  EXPECT_EQ(settingsThatKeepModel(earlier, kept), "");
}

TEST(Settings, AllFlagsOfNsaVibeAreExplainedAtOnce) {
  const auto hints = [](const std::vector<std::string> &arguments) {
    try {
      refuseFlagsOfNsaVibe(arguments);
    } catch (const Error &e) {
      return e.message + " / " + e.hint;
    }
    return std::string("accepted");
  };
  const std::string all = hints({"--config",
                                 "x.yaml",
                                 "--seq-len",
                                 "64",
                                 "--batch-size=8",
                                 "--accum-batches",
                                 "2",
                                 "--no-gc",
                                 "--steps",
                                 "7",
                                 "--resume",
                                 "old.pt",
                                 "--dataset",
                                 "synthetic",
                                 "--ddp",
                                 "1",
                                 "--precision",
                                 "bf16",
                                 "--lr",
                                 "1e-3"});
  for (const char *part :
       {"--seq-len", "train.seq_len=64", "--batch-size", "train.batch_size=8",
        "train.accumulate_grad_batches=2", "--no-gc",
        "runtime.gradient_checkpointing=false", "train.steps=7", "--resume",
        "train.init_from=old.pt", "data.source=synthetic", "--nproc",
        "runtime.precision=bf16", "train.lr=1e-3"})
    EXPECT_TRUE(has(all, part)) << part << ": " << all;
  EXPECT_TRUE(has(hints({"--steps"}), "train.steps=N"));
  EXPECT_EQ(hints({"--config", "--dry-run", "train.steps=3"}), "accepted");
}

TEST(Settings, AllVariablesOfNsaVibeAreExplainedAtOnce) {
  const std::string all = refusal("", {},
                                  {{"NSA_DDP_STATIC_GRAPH", "2"},
                                   {"NSA_DDP_FIND_UNUSED", "1"},
                                   {"NSA_SEL_RANGES_V2", "0"},
                                   {"NSA_NO_GC", "maybe"},
                                   {"NSA_STOPGRAD_GATES", "1"}});
  for (const char *part :
       {"NSA_DDP_STATIC_GRAPH=2", "NSA_DDP_FIND_UNUSED=1",
        "NSA_SEL_RANGES_V2=0", "NSA_NO_GC=maybe", "NSA_STOPGRAD_GATES=1",
        "every parameter has a gradient", "ranges of keys are not built",
        "runtime.gradient_checkpointing"})
    EXPECT_TRUE(has(all, part)) << part << ": " << all;
  const Config c = parseConfig("", "x", {},
                               {{"NSA_NVTX", "1"},
                                {"NSA_NO_GC", "true"},
                                {"NSA_DDP_STATIC_GRAPH", "1"},
                                {"NSA_DDP_FIND_UNUSED", "0"},
                                {"NSA_SEL_RANGES_V2", "1"}});
  EXPECT_TRUE(c.nvtx);
  EXPECT_EQ(c.model.recompute, models::Recompute::None);
  EXPECT_EQ(c.origins.at("runtime.nvtx"), "environment NSA_NVTX");
}

// Which part of a batch a process gets is that of the processes there are now.
TEST(Settings, AnotherNumberOfProcessesSharesTheBatchAnew) {
  const Config two = parseConfig("", "x", {"train.batch_size=8"}, {}, 2);
  EXPECT_EQ(two.deviceBatchSize, 4);
  const Config stored = configFromJson(toJson(two), "state.json");
  EXPECT_EQ(stored.batchSize, 8);
  EXPECT_EQ(stored.deviceBatchSize, 8);
  EXPECT_EQ(forProcesses(stored, 4).deviceBatchSize, 2);
  EXPECT_THROW(forProcesses(stored, 3), Error);
  Config four = parseConfig("", "x", {}, {}, 4);
  takeFrom(stored, four);
  EXPECT_EQ(four.batchSize, 8);
  EXPECT_EQ(four.deviceBatchSize, 2);
  // One that was given must fit.
  Config given = parseConfig("", "x", {"train.device_batch_size=3"}, {}, 2);
  EXPECT_THROW(takeFrom(stored, given), Error);
}

TEST(Settings, StepsToTraceAreTwoOfAList) {
  for (const char *text : {"train: {trace_steps: [10, 12]}",
                           "train:\n  trace_steps:\n  - 10\n  - 12\n",
                           "train.trace_steps: 10,12"}) {
    const Config c = parseConfig(text, "x", {});
    EXPECT_EQ(c.traceSteps.first, 10) << text;
    EXPECT_EQ(c.traceSteps.last, 12) << text;
    const Config again = configFromJson(toJson(c), "config.json");
    EXPECT_EQ(again.traceSteps.first, 10);
    EXPECT_EQ(again.traceSteps.last, 12);
  }
  EXPECT_EQ(parseConfig("", "x", {}).traceSteps.first, 0);
  EXPECT_EQ(parseConfig("", "x", {"train.trace_steps=[]"}).traceSteps.first, 0);
  for (const char *text :
       {"train.trace_steps: [1, 2, 3]", "train.trace_steps: [2, 1]",
        "train.trace_steps: [0, 4]", "train.trace_steps: [[1, 2], 3]",
        "train.steps: [1, 2]", "train.trace_steps: [1", "train.trace_steps: 4",
        "train.trace_steps: [1, {a: 2}]"})
    EXPECT_THROW(parseConfig(text, "x", {}), Error) << text;
}

TEST(Settings, ATiedHeadHasNoRateOfItself) {
  EXPECT_TRUE(has(refusal("model: {tied_head: true}\n"
                          "train: {head_lr_factor: 0.5}\n"),
                  "model.tied_head makes the head the embedding"));
  EXPECT_EQ(parseConfig("train: {head_lr_factor: 0.5}", "x", {}).headRateFactor,
            0.5);
  EXPECT_TRUE(has(refusal("model: {logit_softcap: -1}"), "logit_softcap"));
}

TEST(Settings, LayersAreANumberOrAList) {
  using Layers = std::vector<int64_t>;
  const auto read = [](const std::string &text) {
    return parseConfig("model: {n_layers: 3, value_embeddings: " + text + "}",
                       "x", {});
  };
  EXPECT_EQ(read("2").model.valueEmbeddings.count, 2);
  EXPECT_TRUE(read("0").model.valueEmbeddings.empty());
  EXPECT_TRUE(read("[]").model.valueEmbeddings.empty());
  // A list of one layer is not a number of layers.
  EXPECT_EQ(read("[2]").model.valueEmbeddings.listed, Layers{2});
  for (const Config &c :
       {read("[0, 2]"),
        parseConfig("", "x",
                    {"model.n_layers=3", "model.value_embeddings=[0,2]"})}) {
    EXPECT_EQ(c.model.valueEmbeddings.listed, (Layers{0, 2}));
    const Config again = configFromJson(toJson(c), "config.json");
    EXPECT_EQ(again.model.valueEmbeddings.listed, (Layers{0, 2}));
  }
  for (const char *text : {"some", "[0", "[0, x]", "[,]", "[[1], 2]", "-1", ""})
    EXPECT_THROW(read(text), Error) << text;
  EXPECT_TRUE(has(refusal("model: {value_embeddings: all}"),
                  "a number of layers, or a list"));
  EXPECT_TRUE(has(refusal("model: {value_embeddings: 2}"), "n_layers is 1"));
  EXPECT_TRUE(has(refusal("model: {bigram_embeddings: -1}"), "bigram"));
}

TEST(Settings, SchedulesAreValuesFromSteps) {
  const auto text = [](const StepValues &values) {
    std::string all;
    for (const StepValue &v : values)
      all += std::to_string(v.step) + ":" + std::to_string(v.value) + " ";
    return all;
  };
  for (const Config &c :
       {parseConfig("train:\n  batch_schedule: [1:8, 30:4]\n"
                    "  length_schedule: 1:128, 30:256\n",
                    "x", {}),
        parseConfig("", "x",
                    {"train.batch_schedule=[1:8,30:4]",
                     "train.length_schedule=[1:128, 30:256]"})}) {
    EXPECT_EQ(text(c.batchSchedule), "1:8 30:4 ");
    EXPECT_EQ(text(c.lengthSchedule), "1:128 30:256 ");
    const Config again = configFromJson(toJson(c), "config.json");
    EXPECT_EQ(text(again.batchSchedule), "1:8 30:4 ");
    EXPECT_EQ(text(again.lengthSchedule), "1:128 30:256 ");
  }
  EXPECT_TRUE(
      parseConfig("", "x", {"train.batch_schedule=[]"}).batchSchedule.empty());
  EXPECT_EQ(toJson(Config())["train.batch_schedule"], "");
}

TEST(Settings, SchedulesThatCannotBeAreRefused) {
  const auto with = [](const std::string &setting) {
    return refusal("", {"train.seq_len=512", setting});
  };
  EXPECT_TRUE(has(with("train.batch_schedule=8"), "a list of STEP:VALUE"));
  EXPECT_TRUE(has(with("train.batch_schedule=[8]"), "a list of STEP:VALUE"));
  EXPECT_TRUE(has(with("train.batch_schedule=[1:x]"), "a list of STEP:VALUE"));
  EXPECT_TRUE(has(with("train.batch_schedule=[0:8]"), "must be between 1"));
  EXPECT_TRUE(has(with("train.batch_schedule=[1:0]"), "must be between 1"));
  EXPECT_TRUE(has(with("train.batch_schedule=[5:8, 5:4]"),
                  "step 5 comes after step 5"));
  EXPECT_TRUE(has(with("train.length_schedule=[9:128, 5:256]"),
                  "step 5 comes after step 9"));
  for (const char *value : {"100", "1024"})
    EXPECT_TRUE(
        has(with(std::string("train.length_schedule=[1:") + value + "]"),
            "do not divide train.seq_len (512)"));
  EXPECT_TRUE(has(
      refusal("", {"data.packing=best_fit", "train.length_schedule=[1:128]"}),
      "data.packing=best_fit makes rows"));
  EXPECT_TRUE(has(
      refusal("", {"train.seq_len=65536", "train.batch_schedule=[900:60000]"}),
      "2^31"));
  EXPECT_THROW(parseConfig("", "x",
                           {"train.batch_size=4", "train.batch_schedule=[3:6]"},
                           {}, 4),
               Error);
}

TEST(Settings, PhasesJoinBothSchedules) {
  const auto phases = [](const std::vector<std::string> &settings) {
    std::string all;
    const Config c = parseConfig("", "x", settings);
    for (const Phase &p : phasesOf(c))
      all += std::to_string(p.first) + "-" + std::to_string(p.last) + ":" +
             std::to_string(p.batch) + "x" + std::to_string(p.length) + " ";
    return all;
  };
  const std::string steps = "train.steps=20";
  EXPECT_EQ(phases({steps}), "1-20:4x512 ");
  EXPECT_EQ(phases({steps, "train.batch_schedule=[6:8, 11:2]",
                    "train.length_schedule=[1:64, 11:256]"}),
            "1-5:4x64 6-10:8x64 11-20:2x256 ");
  // Steps after the end, and lengths in the middle.
  EXPECT_EQ(phases({steps, "train.batch_schedule=[21:8]",
                    "train.length_schedule=[5:64]"}),
            "1-4:4x512 5-20:4x64 ");
  const Config c = parseConfig(
      "", "x",
      {steps, "train.batch_schedule=[6:8]", "train.accumulate_grad_batches=3"});
  EXPECT_EQ(tokensOfSteps(c, 1, 20), (5 * 4 + 15 * 8) * 3 * 512);
  EXPECT_EQ(tokensOfSteps(c, 4, 7), (2 * 4 + 2 * 8) * 3 * 512);
  EXPECT_EQ(phaseAt(c, 5).batch, 4);
  EXPECT_EQ(phaseAt(c, 6).batch, 8);
  EXPECT_EQ(phaseAt(c, 99).batch, 8);
}

TEST(Settings, OnlyMuonNormalizesRows) {
  EXPECT_TRUE(has(refusal("train: {muon_normalize: true}"),
                  "train.optimizer is adamw"));
  EXPECT_TRUE(has(refusal("train: {muon_beta2: 1}"), "muon_beta2"));
  EXPECT_TRUE(
      parseConfig("train: {muon_normalize: true, optimizer: muon}", "x", {})
          .muonNormalize);
}

TEST(Settings, OurConfigsAreRead) {
  for (const char *name :
       {"quickstart", "sim_smoke", "dilated_window", "paper"})
    EXPECT_NO_THROW(readConfig(
        std::string(TESSERA_SOURCE "/configs/") + name + ".yaml", {}))
        << name;
}

TEST(Settings, ThePageIsThatOfTheTable) {
  EXPECT_EQ(readFile(TESSERA_SOURCE "/docs/settings.md"), settingsPage())
      << "write it again: build/release/bin/tessera-train config --page > "
         "docs/settings.md";
}

TEST(Settings, ListingsNameEverySetting) {
  const Config c = parseConfig("", "x", {"train.steps=77"});
  const std::string listing = describe(c), help = settingsHelp();
  for (const Setting &s : settingsTable())
    if (!s.absent()) {
      EXPECT_TRUE(has(listing, s.key)) << s.key;
      EXPECT_TRUE(has(help, s.key)) << s.key;
    }
  EXPECT_TRUE(has(listing, "[command line]"));
}

} // namespace
