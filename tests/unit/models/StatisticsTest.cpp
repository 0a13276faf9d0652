// tests/unit/models/StatisticsTest.cpp - figures of gates by hand.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Statistics.h"

#include "models/Transformer.h"

#include <ATen/ATen.h>
#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace tessera::models;

namespace {

std::map<std::string, double> mapOf(const Statistics &statistics) {
  const auto all = statistics.values(statistics.sums());
  return {all.begin(), all.end()};
}

at::Tensor logitsOf(std::vector<double> shares) {
  return at::tensor(shares, at::kDouble).log().view({-1, 1, 3});
}

// Two layers: shares 1/2, 1/4, 1/4 and 0.95, 0.05, 0; then three thirds twice.
TEST(Statistics, AreThoseOfTheShares) {
  ModelConfig config;
  config.gateMode = GateMode::Softmax;
  Statistics statistics;
  EXPECT_TRUE(statistics.values(statistics.sums()).empty());
  statistics.add(logitsOf({0.5, 0.25, 0.25, 0.95, 0.05, 1e-40}),
                 at::tensor({0, 3, 4, 0, -1, -1}, at::kInt).view({1, 2, 3}),
                 config);
  statistics.add(logitsOf({1, 1, 1, 2, 2, 2}),
                 at::tensor({0, 1, -1, 0, 1, -1}, at::kInt).view({1, 2, 3}),
                 config);
  auto at = mapOf(statistics);
  const double first = 1.5 * std::log(2),
               second = -0.95 * std::log(0.95) - 0.05 * std::log(0.05);
  const std::map<std::string, double> wanted = {
      {"gate_entropy_mean", (first + second + 2 * std::log(3)) / 4},
      {"gate_entropy_min", second},
      {"gate_max_gate", 0.95},
      {"gate_collapse_frac", 0.25},
      {"gate_share_cmp", (0.5 + 0.95 + 2.0 / 3) / 4},
      {"gate_share_cmp_min", 1.0 / 3},
      {"gate_share_cmp_max", 0.95},
      {"gate_share_sel", (0.25 + 0.05 + 2.0 / 3) / 4},
      {"gate_share_sel_min", 0.05},
      {"gate_share_sel_max", 1.0 / 3},
      {"gate_share_win", (0.25 + 2.0 / 3) / 4},
      {"gate_share_win_min", 0},
      {"gate_share_win_max", 1.0 / 3},
      {"sel_blocks_mean", 2},
      {"sel_blocks_min", 1},
      {"sel_blocks_max", 3},
      {"sel_rows", 4},
      {"sel_pct_at_max", 25}};
  ASSERT_EQ(at.size(), wanted.size());
  for (const auto &[name, value] : wanted)
    EXPECT_NEAR(at[name], value, 1e-12) << name;
}

// Sigmoid gates are compared by their part of the sum, at the temperature.
TEST(Statistics, OfSigmoidsByTheirPart) {
  ModelConfig config;
  config.gateMode = GateMode::Sigmoid;
  config.gateTemperature = 2;
  Statistics statistics;
  statistics.add(at::tensor({0.0, 2 * std::log(3.0), -200.0}).view({1, 1, 3}),
                 {}, config);
  auto at = mapOf(statistics); // gates 1/2, 3/4, 0
  EXPECT_NEAR(at["gate_share_cmp"], 0.4, 1e-6);
  EXPECT_NEAR(at["gate_share_sel"], 0.6, 1e-6);
  EXPECT_NEAR(at["gate_share_win"], 0, 1e-6);
  EXPECT_FALSE(at.contains("sel_rows"));
}

// Each layer once, also where the backward pass computes it again.
TEST(Statistics, RecomputeCountsNothingTwice) {
  ModelConfig config;
  config.dim = 32;
  config.layers = 2;
  config.heads = 4;
  config.kvHeads = 2;
  config.keyDim = config.valueDim = 8;
  config.mlpDim = 64;
  config.nsa = {8, 4, 16, 3, 16};
  const at::Tensor tokens =
      (at::arange(96) * 7919).remainder(251).view({2, 48});
  std::map<std::string, double> kept;
  for (const Recompute level : {Recompute::None, Recompute::Mlp,
                                Recompute::Attention, Recompute::Full}) {
    config.recompute = level;
    Transformer model(config, KernelSource::Torch, 1);
    Statistics statistics;
    ForwardOptions options;
    options.statistics = &statistics;
    model.forward(tokens, options).logits.sum().backward();
    const auto found = mapOf(statistics);
    if (level == Recompute::None)
      kept = found;
    EXPECT_EQ(found, kept);
    // 2 layers, 2 key heads, 96 queries; every sequence has three blocks, and
    // the last third of the queries keeps all of them.
    EXPECT_EQ(found.at("sel_rows"), 2 * 2 * 96);
    EXPECT_EQ(found.at("sel_blocks_min"), 1);
    EXPECT_EQ(found.at("sel_blocks_max"), 3);
    EXPECT_EQ(found.at("sel_blocks_mean"), 2);
  }
}

} // namespace
