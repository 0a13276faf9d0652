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
