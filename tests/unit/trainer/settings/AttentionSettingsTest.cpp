// tests/unit/trainer/settings/AttentionSettingsTest.cpp - kinds of attention
// that repeat over the layers, and parameters of patterns.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/settings/AttentionSettings.h"

#include "support/Error.h"
#include "trainer/settings/Config.h"
#include "trainer/settings/Plan.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tessera;
using namespace tessera::trainer;

namespace {

using Settings = std::vector<std::string>;

Config configOf(const std::string &yaml, const Settings &more = {}) {
  Settings all = {"model.n_layers=4"};
  all.insert(all.end(), more.begin(), more.end());
  return parseConfig(yaml, "run.yaml", all);
}

/// "window(window=8)" of each layer.
Settings layersOf(const Config &c) {
  Settings all;
  for (int64_t i = 0; i < c.model.layers; ++i) {
    const models::LayerKind layer = c.model.attentionOf(i);
    all.push_back(layer.kind == models::AttentionKind::Kernel
                      ? layer.custom.forward + "(" + layer.custom.constexprs +
                            ")" + layer.custom.headLearned
                  : layer.kind == models::AttentionKind::Dense ? "dense"
                  : layer.kind == models::AttentionKind::Nsa   ? "nsa"
                                                               : "sdpa");
  }
  return all;
}

void expectRefused(const std::string &yaml, const std::string &message,
                   const std::string &hint, const Settings &more = {}) {
  try {
    configOf(yaml, more);
    ADD_FAILURE() << "accepted: " << yaml;
  } catch (const Error &e) {
    EXPECT_NE(e.message.find(message), std::string::npos) << e.message;
    EXPECT_NE(e.hint.find(hint), std::string::npos) << e.hint;
  }
}

TEST(AttentionSettings, AListRepeatsOverTheLayers) {
  const Config c = configOf("attention: [sink_window, dense]\n"
                            "attention_params: {window: 24}\n");
  const std::string sink = "sink_window(window=24, first=4)SINK";
  EXPECT_EQ(layersOf(c), (Settings{sink, "dense", sink, "dense"}));
}

TEST(AttentionSettings, EveryEntryMayHaveItsOwnParameters) {
  const Settings wanted = {"window(window=8)", "window(window=256)",
                           "window(window=8)", "window(window=256)"};
  EXPECT_EQ(layersOf(configOf("attention: [window, kernels/patterns/window.py]"
                              "\nattention_params:\n  - window: 8\n"
                              "  - {window: 256}\n")),
            wanted);
  for (const char *written : {"attention_params=[{window: 8}, {window: 256}]",
                              "attention_params=window=8; window=256"})
    for (const char *list :
         {"attention=[window, window]", "attention=window,window"})
      EXPECT_EQ(layersOf(configOf("", {list, written})), wanted) << written;
  EXPECT_EQ(layersOf(configOf("attention: [window]\n"
                              "attention_params: [{window: 8}]"))[3],
            "window(window=8)");
  EXPECT_EQ(configOf("attention: {kernel: my.py, fwd: f, bwd: b}\n"
                     "attention_params: [{W: 16}]")
                .model.custom.constexprs,
            "W=16");
}

TEST(AttentionSettings, SharedParametersReachThePatternsThatHaveThem) {
  EXPECT_EQ(layersOf(configOf("", {"attention=window,softcap,alibi,nsa",
                                   "attention_params=window=8, cap=30"})),
            (Settings{"window(window=8)", "softcap(cap=30.0)", "alibi()SLOPE",
                      "nsa"}));
}

TEST(AttentionSettings, ALaterAttentionReplacesAnEarlierOne) {
  EXPECT_EQ(layersOf(configOf("attention: nsa", {"attention=alibi"}))[0],
            "alibi()SLOPE");
  EXPECT_EQ(layersOf(configOf("attention: alibi", {"attention=sdpa"}))[3],
            "sdpa");
  EXPECT_EQ(configOf("attention: [dense]").model.attention,
            models::AttentionKind::Dense);
}

TEST(AttentionSettings, SpellingsOfEqualParametersAreTheSame) {
  const Config one = configOf("attention: [softcap, sink_window]\n"
                              "attention_params: {cap: 30, window: 32}");
  const Config other =
      configOf("", {"attention=kernels/patterns/softcap.py,sink_window",
                    "attention_params=first=4, window: 32, cap=30.0"});
  EXPECT_EQ(toJson(one), toJson(other));
  EXPECT_EQ(attentionDifference(one, other), "");
}

TEST(AttentionSettings, DifferencesNameTheLayer) {
  const Config one =
      configOf("", {"attention=window,dense", "attention_params=window=8"});
  const auto difference = [&](const Settings &settings) {
    return attentionDifference(one, configOf("", settings));
  };
  EXPECT_EQ(difference({"attention=window,dense", "attention_params=window=9"}),
            "layer 0: window(window=8), this run has window(window=9)");
  EXPECT_EQ(difference({"attention=window,sdpa", "attention_params=window=8"}),
            "layer 1: dense, this run has sdpa");
}

TEST(AttentionSettings, AStoredRunComesBackWithoutTheFilesOfItsPatterns) {
  nlohmann::json json = toJson(configOf("attention: [alibi, dense, sink_window]"
                                        "\nattention_params: {window: 24}"));
  const Config same = configFromJson(json, "state.json");
  EXPECT_EQ(toJson(same), json);
  json["attention.pattern"] = "/gone/alibi.py, dense, /gone/sink_window.py";
  EXPECT_EQ(layersOf(configFromJson(json, "state.json")), layersOf(same));
}

TEST(AttentionSettings, AnEarlierFormStoredTheKernelsOfThePattern) {
  nlohmann::json json = toJson(configOf(""));
  json["attention"] = "kernel";
  json["attention.pattern"] = json["attention.kernel"] =
      "kernels/patterns/sink_window.py";
  json["attention.fwd"] = "sink_window";
  json["attention.bwd"] = "sink_window_bwd";
  json["attention.constexprs"] = "window=24";
  json["attention.head_learned"] = "SINK";
  const Config stored = configFromJson(json, "state.json");
  EXPECT_EQ(attentionDifference(
                stored, configOf("", {"attention=sink_window",
                                      "attention_params=first=4,window=24"})),
            "");
}

TEST(AttentionSettings, WrongListsAreRefused) {
  expectRefused("attention: sink_windw", "`sink_windw`, which is not nsa",
                "did you mean `sink_window`? ");
  expectRefused("attention: [window, dens]", "`dens`", "did you mean `dense`?");
  expectRefused("attention: [window, '']", "empty entry", "[window, window");
  expectRefused("attention: [window, kernel]", "`kernel`", "");
  expectRefused("attention: [my/window.py]", "my/window.py", "");
  expectRefused("attention: [window, window, dense]",
                "attention lists 3 kinds, but model.n_layers is 2", "leave",
                {"model.n_layers=2"});
}

TEST(AttentionSettings, ValuesOfASequenceHaveASource) {
  const Config c = configOf("attention: [prefix_lm, dense]\n"
                            "attention.per_sequence: {prefix: through(10)}");
  EXPECT_EQ(c.perSequence, "prefix=through(10)");
  EXPECT_EQ(c.model.sequenceValues, std::vector<std::string>{"PREFIX"});
  const Config stored = configFromJson(toJson(c), "state.json");
  EXPECT_EQ(stored.model.sequenceValues, c.model.sequenceValues);
  EXPECT_EQ(attentionDifference(stored,
                                configOf("", {"attention=prefix_lm,dense",
                                              "attention.per_sequence={prefix: "
                                              "through(10)}"})),
            "");
  EXPECT_EQ(attentionDifference(
                stored, configOf("attention: {pattern: [prefix_lm, dense], "
                                 "per_sequence: {prefix: 10}}")),
            "attention.per_sequence=prefix=through(10), this run has "
            "prefix=10");
  expectRefused("attention: nsa\nattention_params: {window: 3}",
                "attention is nsa, and attention_params is set",
                "leave that away, or name a kernel or pattern as attention");
  expectRefused("attention: dense\nattention.fwd: f\nattention.bwd: b",
                "attention is dense, and attention.fwd and attention.bwd are "
                "set",
                "leave that away");
  expectRefused("attention: dense\n"
                "attention.kernel: my.py\nattention.learned: GATE",
                "attention is dense, and attention.kernel and "
                "attention.learned are set",
                "leave that away");
  expectRefused("attention: prefix_lm",
                "kernels/patterns/prefix_lm.py takes a value of each sequence, "
                "`prefix`, and attention.per_sequence does not set it",
                "prefix=uniform");
  expectRefused("attention: prefix_lm\n"
                "attention.per_sequence: {prefix: 3, width: 4}",
                "sets `width`, which no pattern", "the patterns take prefix");
  for (const char *attention : {"window", "nsa", "[dense]"})
    expectRefused(std::string("attention: ") + attention +
                      "\nattention.per_sequence: {prefix: 3}",
                  "sets `prefix`, which no pattern", "leave it away");
}

TEST(AttentionSettings, WrongParametersAreRefused) {
  expectRefused("attention: [window, alibi]\nattention_params: {windw: 8}",
                "sets `windw`, but the parameters are: "
                "kernels/patterns/window.py (window), "
                "kernels/patterns/alibi.py (no parameters)",
                "did you mean `window`?");
  expectRefused("attention: [window, dense]\n"
                "attention_params: [{window: 8}, {window: 8}]",
                "the parameters are: none", "leave `window` away");
  expectRefused("attention: [window, dense]\n"
                "attention_params: [{window: 8}, {}, {}]",
                "3 maps, but attention has 2 entries", "one map for all");
  for (const char *shorter : {"[{window: 8}]", "[{}]"})
    expectRefused("attention: [window, window]\nattention_params: " +
                      std::string(shorter),
                  "a list of 1 map, but attention has 2 entries",
                  "one map for all");
  expectRefused("", "a list of 1 map, but attention has 2 entries",
                "one map for all",
                {"attention=window,window", "attention_params=[{window: 8}]"});
  expectRefused("attention: window\nattention_params: {window: 8.5}",
                "to `8.5`, but its default is 512", "NAME=number");
  expectRefused("", "sets `window` twice", "leave one",
                {"attention=window", "attention_params=window=1,window=2"});
}

TEST(AttentionSettings, ThePlanCountsEveryLayer) {
  const Settings sizes = {"model.dim=8",      "model.n_heads=2",
                          "model.d_k=4",      "model.n_kv_groups=1",
                          "model.d_v=4",      "model.n_layers=4",
                          "train.seq_len=64", "train.steps=10"};
  const auto planned = [&](const std::string &attention) {
    Settings all = sizes;
    all.push_back("attention=" + attention);
    return planOf(parseConfig("", "x", all));
  };
  const int64_t dense = planned("dense").parameters;
  const int64_t nsa = planned("nsa").parameters;
  // Two learned numbers, one for each head, in two layers.
  EXPECT_EQ(planned("alibi,dense").parameters, dense + 4);
  EXPECT_EQ(planned("nsa,dense").parameters, (nsa + dense) / 2);
  EXPECT_EQ(planned("nsa,dense").activationBytes,
            planned("nsa,sdpa").activationBytes);
  const auto kernels = planned("alibi,window,dense,window").kernels;
  for (const char *file : {"kernels/patterns/alibi.py",
                           "kernels/patterns/window.py", "dense/attn_fwd.py"})
    EXPECT_EQ(std::count(kernels.begin(), kernels.end(), file), 1) << file;
}

} // namespace
