// tests/unit/models/ModelConfigTest.cpp - every shape rule has its message.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/ModelConfig.h"

#include "support/Error.h"

#include <functional>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::models;

namespace {

ModelConfig good() {
  ModelConfig c;
  c.nsa = {16, 8, 32, 6, 64};
  return c;
}

/// The message of the refusal after `change`.
std::string refusal(const std::function<void(ModelConfig &)> &change) {
  ModelConfig c = good();
  change(c);
  try {
    validate(c);
  } catch (const Error &e) {
    EXPECT_FALSE(e.hint.empty());
    return e.message;
  }
  return "accepted";
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(ModelConfig, AcceptsTheQuickStartAndBranchesTurnedOff) {
  EXPECT_EQ(refusal([](ModelConfig &) {}), "accepted");
  EXPECT_EQ(refusal([](ModelConfig &c) { c.nsa.window = 0; }), "accepted");
  EXPECT_EQ(refusal([](ModelConfig &c) { c.nsa.selectedBlocks = 0; }),
            "accepted");
  EXPECT_EQ(refusal([](ModelConfig &c) { c.nsa.selectedBlocks = 3; }),
            "accepted");
}

TEST(ModelConfig, ANumberOfLayersIsSpreadUpToTheLast) {
  const auto layers = [](const LayerSet &set, int64_t count) {
    std::vector<int64_t> found;
    for (int64_t layer = 0; layer < count; ++layer)
      if (set.has(layer, count))
        found.push_back(layer);
    return found;
  };
  using Layers = std::vector<int64_t>;
  EXPECT_EQ(layers({}, 3), Layers{});
  EXPECT_EQ(layers({1, {}}, 3), Layers{2});
  EXPECT_EQ(layers({2, {}}, 3), (Layers{1, 2}));
  EXPECT_EQ(layers({3, {}}, 3), (Layers{0, 1, 2}));
  EXPECT_EQ(layers({6, {}}, 12), (Layers{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(layers({3, {}}, 12), (Layers{3, 7, 11}));
  EXPECT_EQ(layers({0, {2, 0}}, 3), (Layers{0, 2}));
}

TEST(ModelConfig, RefusesLayersThatDoNotExist) {
  const auto with = [](const LayerSet &set) {
    return refusal([&](ModelConfig &c) { c.valueEmbeddings = set; });
  };
  EXPECT_EQ(with({3, {}}), "accepted");
  EXPECT_EQ(with({0, {0, 2}}), "accepted");
  EXPECT_TRUE(has(with({4, {}}), "model.n_layers is 3"));
  EXPECT_TRUE(has(with({0, {0, 3}}), "the layers are 0 to 2"));
  EXPECT_TRUE(has(with({0, {1, 1}}), "lists layer 1 twice"));
}

TEST(ModelConfig, RefusesWhatRuleOneForbids) {
  EXPECT_TRUE(has(refusal([](ModelConfig &c) { c.nsa.stride = 0; }), "nsa.d"));
  EXPECT_TRUE(
      has(refusal([](ModelConfig &c) { c.nsa.blockLength = -1; }), "nsa.l "));
  EXPECT_TRUE(has(refusal([](ModelConfig &c) { c.nsa.stride = 32; }),
                  "greater than nsa.l"));
  EXPECT_TRUE(has(refusal([](ModelConfig &c) { c.nsa.stride = 5; }),
                  "does not divide nsa.l "));
  EXPECT_TRUE(has(refusal([](ModelConfig &c) { c.nsa.selectionLength = 36; }),
                  "does not divide nsa.l_sel"));
  EXPECT_TRUE(has(refusal([](ModelConfig &c) { c.nsa.selectedBlocks = 2; }),
                  "nsa.n_sel (2)"));
  EXPECT_TRUE(has(refusal([](ModelConfig &c) { c.nsa.window = -1; }), "nsa.w"));
  EXPECT_TRUE(has(refusal([](ModelConfig &c) { c.kvHeads = 4; }),
                  "model.n_heads (6) is not a multiple of "
                  "model.n_kv_groups (4)"));
  EXPECT_TRUE(has(refusal([](ModelConfig &c) { c.keyDim = 31; }), "odd"));
  EXPECT_TRUE(has(refusal([](ModelConfig &c) { c.layers = 0; }), "layers"));
}

TEST(ModelConfig, YarnWantsWhatItsFormulaDividesBy) {
  const auto yarn = [](ModelConfig &c) {
    c.rope.scaling = RopeScaling::Yarn;
    c.rope.scale = 4;
    c.rope.originalLength = 128;
  };
  EXPECT_EQ(refusal(yarn), "accepted");
  EXPECT_TRUE(has(refusal([&](ModelConfig &c) {
                    yarn(c);
                    c.rope.base = 1;
                  }),
                  "model.rope_base is 1"));
  EXPECT_TRUE(has(refusal([&](ModelConfig &c) {
                    yarn(c);
                    c.rope.slow = 32;
                  }),
                  "model.rope_beta_fast (32) is not above"));
  EXPECT_TRUE(has(refusal([&](ModelConfig &c) {
                    yarn(c);
                    c.rope.originalLength = 0;
                  }),
                  "without model.rope_original_len"));
}

TEST(ModelConfig, GeometryOfAnotherAttentionDoesNotMatter) {
  EXPECT_EQ(refusal([](ModelConfig &c) {
              c.attention = AttentionKind::Sdpa;
              c.nsa.stride = 5;
            }),
            "accepted");
}

TEST(NsaGeometry, CountsCompressedKeys) {
  const NsaGeometry g{32, 16, 64, 16, 512};
  EXPECT_EQ(g.compressedCount(31), 0);
  EXPECT_EQ(g.compressedCount(32), 1);
  EXPECT_EQ(g.compressedCount(47), 1);
  EXPECT_EQ(g.compressedCount(48), 2);
  EXPECT_EQ(g.compressedCount(65536), 4095);
}

} // namespace
