// tests/train/KernelSourcesTest.cpp - compiled kernels train as torch does.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/TrainRun.h"

#include <cmath>

using namespace tessera;

namespace {

class KernelSources : public TrainRun,
                      public testing::WithParamInterface<const char *> {};

/// 300 steps on the same data from the same weights: compiled kernels against
/// plain torch operations.
TEST_P(KernelSources, LossesAgree) {
  const std::vector<std::string> settings = {
      std::string("attention=") + GetParam(), "train.steps=300",
      "train.warmup=20", "train.lr=0.002"};
  for (const char *source : {"torch", "tessera"}) {
    std::vector<std::string> all = settings;
    all.push_back(std::string("kernels=") + source);
    expectFine(run(source, all));
  }
  const auto torch = steps("torch"), ours = steps("tessera");
  ASSERT_EQ(torch.size(), 300u);
  ASSERT_EQ(ours.size(), 300u);
  for (size_t i = 0; i < 300; ++i)
    EXPECT_LT(std::abs(ours[i].first / torch[i].first - 1), 1e-3)
        << "step " << i + 1;
  EXPECT_LT(torch.back().first, 0.7 * torch.front().first);
  const nlohmann::json counts = metrics("tessera");
  EXPECT_GT(counts["kernels_loaded"].get<int>(), 0);
  EXPECT_LE(counts["kernels_compiled"].get<int>(),
            counts["kernels_loaded"].get<int>());
  EXPECT_NEAR(counts["val_bpb"].get<double>() /
                  metrics("torch")["val_bpb"].get<double>(),
              1, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Attention, KernelSources,
                         testing::Values("nsa", "dense"));

} // namespace
