// tests/train/ModelSettingsTest.cpp - every setting of the model means the same
// to compiled kernels, to plain torch and to decoding.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Cache.h"
#include "models/Loss.h"
#include "models/Transformer.h"
#include "tests/helpers/CloseTensors.h"
#include "trainer/settings/Config.h"
#include "trainer/settings/Setting.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <set>

using namespace tessera;
using namespace tessera::models;
using namespace tessera::trainer;

namespace {

using Texts = std::vector<std::string>;

/// A value of a setting that is not its default, and the settings without which
/// it would have no effect.
struct Case {
  const char *key, *value;
  Texts also = {};
};

const Texts yarn = {"model.rope_scaling=yarn", "model.rope_scale=4",
                    "model.rope_original_len=16"};
const Texts network = {"nsa.phi=mlp_pe"};

const Case cases[] = {
    {"model.dim", "40"},
    {"model.n_layers", "1"},
    {"model.n_heads", "2"},
    {"model.n_kv_groups", "1"},
    {"model.d_k", "8"},
    {"model.d_v", "24"},
    {"model.mlp_dim", "48"},
    {"model.mlp", "silu"},
    {"model.mlp", "swiglu"},
    {"model.vocab_size", "53"},
    {"model.tied_head", "true"},
    {"model.qk_norm", "true"},
    {"model.logit_softcap", "0.7"},
    {"model.logit_softcap", "0.7", {"runtime.fused_loss=true"}},
    {"model.value_embeddings", "1"},
    {"model.value_embeddings", "[0]"},
    {"model.value_embeddings", "2", {"attention=dense"}},
    {"model.value_embeddings", "2", {"runtime.gradient_checkpointing=full"}},
    {"model.bigram_embeddings", "97"},
    {"model.rope_base", "100"},
    {"model.rope_scale", "4"},
    {"model.rope_scaling",
     "yarn",
     {"model.rope_scale=4", "model.rope_original_len=16"}},
    {"model.rope_original_len", "32", yarn},
    {"model.rope_beta_fast",
     "2",
     {"model.rope_scaling=yarn", "model.rope_scale=4",
      "model.rope_original_len=64"}},
    {"model.rope_beta_slow", "0.3", yarn},
    {"model.norm_eps", "0.1"},
    {"nsa.l", "12"},
    {"nsa.d", "8"},
    {"nsa.l_sel", "12"},
    {"nsa.n_sel", "5"},
    {"nsa.n_sel", "0"},
    {"nsa.w", "5"},
    {"nsa.w", "0"},
    {"nsa.phi", "conv"},
    {"nsa.phi", "mlp_pe"},
    {"nsa.phi_hidden", "24", network},
    {"nsa.phi_act", "relu2", network},
    {"nsa.phi_per_head", "true", network},
    {"nsa.gate", "softmax"},
    {"nsa.gate_input", "q_mean"},
    {"nsa.gate_temperature", "0.3"},
    {"nsa.gate_temperature", "0.3", {"nsa.gate=softmax"}},
    {"nsa.force_gate", "cmp"},
    {"nsa.force_gate", "sel"},
    {"nsa.force_gate", "win", {"nsa.gate=softmax"}},
    {"nsa.force_gate", "uniform"},
    {"nsa.force_gate", "uniform", {"nsa.gate=softmax"}},
    {"nsa.force_gate", "sel", {"nsa.gate_temperature=0.3"}},
    {"nsa.use_cmp", "false"},
    {"nsa.use_sel", "false", {"nsa.gate_temperature=3"}},
    {"nsa.use_win", "false", {"nsa.gate=softmax", "nsa.gate_temperature=3"}},
    {"attention", "dense"},
    {"attention", "sdpa"},
};

/// Settings of the model that change no result but for rounding: of these the
/// three paths agree, and they agree with the default.
const Case withoutEffect[] = {
    {"runtime.fused_loss", "true"},
    {"runtime.loss_logits", "keep", {"runtime.fused_loss=true"}},
    {"runtime.gradient_checkpointing", "full"},
    {"runtime.gradient_checkpointing", "mlp"},
    {"runtime.gradient_checkpointing", "attention"},
};

constexpr int64_t sequences = 2, length = 45, read = 38, tokensKnown = 53;

Config configOf(const Texts &more) {
  Texts all = {"model.dim=32",     "model.n_layers=2",
               "model.n_heads=4",  "model.n_kv_groups=2",
               "model.d_k=16",     "model.d_v=16",
               "model.mlp_dim=64", "model.vocab_size=61",
               "nsa.l=8",          "nsa.d=4",
               "nsa.l_sel=8",      "nsa.n_sel=4",
               "nsa.w=12",         "train.seq_len=45"};
  all.insert(all.end(), more.begin(), more.end());
  return parseConfig("", "test", all, {}, 1);
}

/// A model whose weights are all far from zero and from each other: gates, too,
/// differ from token to token.
std::unique_ptr<Transformer> modelOf(const ModelConfig &config,
                                     KernelSource source) {
  auto model = std::make_unique<Transformer>(config, source, 1);
  const at::NoGradGuard noGrad;
  uint64_t seed = 1;
  for (Parameter &p : model->parameters())
    p.value.add_(at::randn(p.value.sizes(),
                           at::detail::createCPUGenerator(++seed), at::kFloat),
                 0.15);
  return model;
}

at::Tensor textOf(int64_t factor) {
  return (at::arange(sequences * length) * factor + 7)
      .remainder(tokensKnown)
      .view({sequences, length});
}

/// Loss and gradients.
std::vector<at::Tensor> trained(const Config &config, KernelSource source) {
  const auto model = modelOf(config.model, source);
  ForwardOptions options;
  options.targets = textOf(17);
  const at::Tensor loss =
      meanLoss(model->forward(textOf(31), options), options.targets);
  loss.backward();
  std::vector<at::Tensor> all = {loss.detach()};
  for (const Parameter &p : model->parameters())
    all.push_back(p.value.grad());
  return all;
}

at::Tensor logitsOf(const Config &config, KernelSource source) {
  const at::NoGradGuard noGrad;
  return modelOf(config.model, source)->forward(textOf(31)).logits;
}

/// Of a prefill, then token by token.
at::Tensor decoded(const Config &config, KernelSource source) {
  const at::NoGradGuard noGrad;
  const auto model = modelOf(config.model, source);
  Cache cache(config.model, sequences, length);
  const at::Tensor text = textOf(31);
  std::vector<at::Tensor> logits = {
      model->extend(text.slice(1, 0, read), cache)};
  for (int64_t t = read; t < length; ++t)
    logits.push_back(model->extend(text.slice(1, t, t + 1), cache));
  return at::cat(logits, 1);
}

void expectThePathsAgree(const Config &config) {
  const auto compiled = trained(config, KernelSource::Tessera),
             plain = trained(config, KernelSource::Torch);
  ASSERT_EQ(compiled.size(), plain.size());
  for (size_t i = 0; i < plain.size(); ++i) {
    ASSERT_EQ(compiled[i].defined(), plain[i].defined()) << i;
    // A gate that is forced has weights without a gradient.
    if (!plain[i].defined())
      continue;
    if (plain[i].norm().item<double>() < 1e-9) {
      EXPECT_LT(compiled[i].norm().item<double>(), 1e-9) << i;
      continue;
    }
    EXPECT_TRUE(isClose(compiled[i], plain[i], 2e-4))
        << (i == 0 ? std::string("the loss")
                   : "gradient of parameter " + std::to_string(i - 1));
  }
  const at::Tensor logits = logitsOf(config, KernelSource::Torch);
  EXPECT_TRUE(isClose(logitsOf(config, KernelSource::Tessera), logits, 2e-5));
  EXPECT_TRUE(isClose(decoded(config, KernelSource::Tessera), logits, 2e-5));
  EXPECT_TRUE(isClose(decoded(config, KernelSource::Torch), logits, 2e-5));
}

class ModelSettings : public testing::TestWithParam<size_t> {};

TEST_P(ModelSettings, MeanTheSameToEveryPath) {
  const Case &c = cases[GetParam()];
  SCOPED_TRACE(std::string(c.key) + "=" + c.value);
  Texts with = c.also;
  with.push_back(std::string(c.key) + "=" + c.value);
  const Config config = configOf(with);
  expectThePathsAgree(config);
  // And the setting is not ignored by all of them.
  const auto before = trained(configOf(c.also), KernelSource::Torch),
             after = trained(config, KernelSource::Torch);
  EXPECT_GT(compareTensors(after[0], before[0], 1e-6).rms, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(All, ModelSettings,
                         testing::Range(size_t(0), std::size(cases)),
                         [](const auto &info) {
                           std::string name = cases[info.param].key;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name + "_" + std::to_string(info.param);
                         });

TEST(ModelSettingsTable, OthersChangeNoResult) {
  const auto before = trained(configOf({}), KernelSource::Torch);
  for (const Case &c : withoutEffect) {
    SCOPED_TRACE(std::string(c.key) + "=" + c.value);
    Texts with = c.also;
    with.push_back(std::string(c.key) + "=" + c.value);
    const Config config = configOf(with);
    expectThePathsAgree(config);
    const auto after = trained(config, KernelSource::Torch);
    for (size_t i = 0; i < before.size(); ++i)
      EXPECT_TRUE(isClose(after[i], before[i], 1e-4)) << i;
  }
}

// A new setting of the model has a line above.
TEST(ModelSettingsTable, IsComparedCompletely) {
  std::set<std::string> compared, there;
  for (const Case &c : cases)
    compared.insert(c.key);
  for (const Case &c : withoutEffect)
    compared.insert(c.key);
  for (const Setting &s : settingsTable())
    if (s.key.starts_with("model.") || s.key.starts_with("nsa.") ||
        s.key == "attention")
      there.insert(s.key);
  there.insert({"runtime.fused_loss", "runtime.loss_logits",
                "runtime.gradient_checkpointing"});
  EXPECT_EQ(compared, there);
  for (const Case &c : cases)
    EXPECT_NE(valueText(*findSetting(c.key), configOf({})), c.value) << c.key;
}

} // namespace
