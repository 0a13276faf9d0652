// tests/unit/trainer/settings/ConfigTest.cpp - reading settings, refusing wrong
// ones.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/Config.h"

#include "support/Error.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::trainer;

namespace {

/// Message and hint of the refusal.
std::string refusal(const std::string &text,
                    const std::vector<std::string> &overrides = {}) {
  try {
    parseConfig(text, "run.yaml", overrides);
  } catch (const Error &e) {
    EXPECT_FALSE(e.hint.empty()) << e.message;
    return e.message + "\n" + e.hint;
  }
  return "accepted";
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(Config, AnAliasOfItselfIsRefused) {
  const std::string text = refusal("train: &a\n  again: *a\n");
  EXPECT_TRUE(has(text, "is nested deeper than any setting")) << text;
  EXPECT_TRUE(has(refusal("train: &a\n  steps: 10\n  again: *a\n"),
                  "run.yaml:2: unknown setting 'train.again.steps'"));
}

TEST(Config, ReadsNestedSettingsAndOverrides) {
  const Config c = parseConfig("attention: dense\n"
                               "kernels: torch\n"
                               "nsa:\n"
                               "  l_sel: 128\n"
                               "train:\n"
                               "  lr: 1e-4\n"
                               "  steps: 7\n"
                               "data: {path: some/where}\n",
                               "run.yaml", {"train.steps=9", "panel=false"});
  EXPECT_EQ(c.model.attention, models::AttentionKind::Dense);
  EXPECT_EQ(c.kernels, models::KernelSource::Torch);
  EXPECT_EQ(c.model.nsa.selectionLength, 128);
  EXPECT_EQ(c.learningRate, 1e-4);
  EXPECT_EQ(c.steps, 9);
  EXPECT_EQ(c.dataPath, "some/where");
  EXPECT_FALSE(c.panel);
}

TEST(Config, AnUnknownKeyShowsTheNearestAndItsLocation) {
  const std::string text = refusal("train:\n  steps: 3\n  bacth_size: 4\n");
  EXPECT_TRUE(has(text, "run.yaml:3")) << text;
  EXPECT_TRUE(has(text, "'train.bacth_size'")) << text;
  EXPECT_TRUE(has(text, "train.batch_size")) << text;
  EXPECT_TRUE(has(refusal("", {"trian.lr=1"}), "train.lr"));
}

TEST(Config, RefusesBadValues) {
  EXPECT_TRUE(has(refusal("train: {steps: many}"), "train.steps"));
  EXPECT_TRUE(has(refusal("train: {steps: 1.5}"), "whole number"));
  EXPECT_TRUE(has(refusal("train: {steps: 0}"), "train.steps"));
  EXPECT_TRUE(has(refusal("train: {lr: nan}"), "train.lr"));
  EXPECT_TRUE(has(refusal("train: {lr: .1x}"), "train.lr"));
  EXPECT_TRUE(has(refusal("panel: perhaps"), "true or false"));
  EXPECT_TRUE(has(refusal("attention: flash"), "nsa or dense or sdpa"));
  EXPECT_TRUE(has(refusal("train: [1, 2]"), "list"));
  EXPECT_TRUE(has(refusal("train: {steps: 1"), "run.yaml:"));
  EXPECT_TRUE(has(refusal("just text"), "map of settings"));
  EXPECT_TRUE(has(refusal("", {"train.steps"}), "key=value"));
  EXPECT_TRUE(has(refusal("resume: maybe"), "auto or never"));
}

TEST(Config, TakesAKernelForAttention) {
  const std::string text =
      "attention: {kernel: k.py, fwd: f, bwd: b, constexprs: 'W=4, S=2', "
      "learned: 'GATE, BIAS'}\n";
  const Config c = parseConfig(text, "x", {});
  EXPECT_EQ(c.model.attention, models::AttentionKind::Kernel);
  EXPECT_EQ(c.model.custom.file, "k.py");
  EXPECT_EQ(c.model.custom.forward, "f");
  EXPECT_EQ(c.model.custom.backward, "b");
  EXPECT_EQ(c.model.custom.constexprs, "W=4, S=2");
  EXPECT_EQ(c.model.custom.learnedNames(),
            (std::vector<std::string>{"GATE", "BIAS"}));
  EXPECT_EQ(toJson(c)["attention"], "kernel");
  EXPECT_TRUE(
      has(refusal(text, {"attention=nsa"}),
          "attention is nsa, and attention.kernel and attention.fwd and"));
  EXPECT_TRUE(has(refusal(text, {"kernels=torch"}), "set kernels: tessera"));
  EXPECT_TRUE(
      has(refusal(text, {"attention.fwd="}), "attention.fwd is missing"));
  EXPECT_TRUE(
      has(refusal("attention: {fwd: f}"), "attention.kernel is missing"));
  EXPECT_TRUE(has(refusal("attention: kernel"), "attention.kernel is missing"));
  EXPECT_TRUE(has(refusal("attention: {kernal: f}"), "attention.kernel"));
}

TEST(Config, ChecksTheShapesOfTheModel) {
  EXPECT_TRUE(has(refusal("nsa: {l: 32, d: 12}"), "nsa.d (12)"));
  EXPECT_TRUE(has(refusal("model: {heads: 5}"), "model.n_heads (5)"));
  EXPECT_TRUE(has(refusal("nsa: {n_sel: 2}"), "nsa.n_sel"));
}

TEST(Config, ComesBackFromItsJson) {
  const Config c = parseConfig(
      "", "x",
      {"train.lr=0.0123", "nsa.gate=softmax", "train.seed=77", "out=a b"});
  std::vector<std::string> settings;
  const nlohmann::json json = toJson(c);
  for (const auto &[key, value] : json.items())
    settings.push_back(
        key + "=" +
        (value.is_string() ? value.get<std::string>() : value.dump()));
  EXPECT_EQ(toJson(parseConfig("", "y", settings)), json);
  EXPECT_EQ(json["nsa.gate"], "softmax");
}

TEST(Config, FilesThatCannotBeReadAreErrors) {
  for (const auto &[file, part] : {std::pair("/nonexistent", "No such file"),
                                   {"/dev/zero", "it has no end"},
                                   {"/", "Is a directory"}})
    try {
      readConfig(file, {});
      FAIL() << file;
    } catch (const Error &error) {
      EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
      EXPECT_NE(error.hint.find("configs/quickstart.yaml"), std::string::npos);
    }
}

} // namespace
