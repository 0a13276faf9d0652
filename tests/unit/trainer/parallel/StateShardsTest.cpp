// tests/unit/trainer/parallel/StateShardsTest.cpp - shards of the optimizer's
// state: together as large as one process's state, with the same updates.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/parallel/StateShards.h"

#include "tests/unit/trainer/TwoRanks.h"
#include "trainer/settings/Config.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <mutex>

using namespace tessera;
using namespace tessera::trainer;

namespace {

using Parameters = std::vector<models::Parameter>;
const std::vector<std::string> fine = {"", ""};

/// Of odd sizes, so that shards end inside of them: 9, 4096 and 77 elements;
/// vectors come after the matrices.
Parameters someParameters() {
  Parameters all;
  int64_t seed = 0;
  for (const at::IntArrayRef shape :
       {at::IntArrayRef({3, 3}), at::IntArrayRef({77}),
        at::IntArrayRef({64, 64})})
    all.push_back(
        {"p" + std::to_string(seed++),
         (at::arange(c10::multiply_integers(shape), at::kFloat).view(shape) /
              1000 +
          double(seed))
             .set_requires_grad(true)});
  return all;
}

/// Three steps with gradients that each element has for itself.
void makeSteps(Parameters &all, AdamW &optimizer, DataParallel &parallel) {
  for (int step = 1; step <= 3; ++step) {
    for (auto &p : all)
      p.value.mutable_grad() = (p.value.detach().to(at::kFloat) * double(step))
                                   .sin()
                                   .to(p.value.scalar_type());
    optimizer.gather();
    optimizer.clip();
    optimizer.step(0.01);
    shareWeights(optimizer, parallel);
    optimizer.zeroGradients();
  }
}

Config configOf(Precision precision) {
  Config config;
  config.weightDecay = 0.1;
  config.zeroStage = 1;
  config.precision = precision;
  return config;
}

int64_t bytesOf(const OptimizerState &s, bool rounded) {
  // In fp32 the weights are the model's own.
  return int64_t(s.first.nbytes() + s.second.nbytes() +
                 (rounded ? s.weight.nbytes() : 0));
}

class Shards : public testing::TestWithParam<Precision> {};

TEST_P(Shards, AreHalfOfTheStateAndMakeTheSameUpdates) {
  const Config config = configOf(GetParam());
  const bool rounded = GetParam() != Precision::Fp32;
  Parameters alone = someParameters();
  AdamW whole(alone, config);
  DataParallel nobody{World{}};
  makeSteps(alone, whole, nobody);
  const auto errors = onTwoRanks([&](DataParallel &parallel) {
    Parameters all = someParameters();
    AdamW optimizer(all, config, shardOf(config, parallel));
    EXPECT_LE(2 * bytesOf(optimizer.own(), rounded),
              bytesOf(whole.own(), rounded) + 3 * 4 * 128);
    makeSteps(all, optimizer, parallel);
    for (size_t i = 0; i < all.size(); ++i)
      EXPECT_TRUE(all[i].value.equal(alone[i].value)) << all[i].name;
    // What a checkpoint would hold.
    const OptimizerState gathered = gatherState(optimizer, parallel);
    EXPECT_EQ(gathered.weight.defined(), parallel.first());
    if (!parallel.first())
      return;
    for (const auto &[found, expected] :
         {std::pair{optimizer.weights(gathered), whole.weights()},
          std::pair{optimizer.state(gathered), whole.state()}})
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(found[i].name, expected[i].name);
        EXPECT_TRUE(found[i].value.equal(expected[i].value)) << found[i].name;
      }
  });
  EXPECT_EQ(errors, fine);
}

/// The first process's state, whatever the other one had.
TEST_P(Shards, AreHandedOutByTheFirstProcess) {
  const Config config = configOf(GetParam());
  const auto errors = onTwoRanks([&](DataParallel &parallel) {
    Parameters all = someParameters(), alone = someParameters();
    AdamW optimizer(all, config, shardOf(config, parallel));
    AdamW source(alone, config);
    DataParallel nobody{World{}};
    makeSteps(alone, source, nobody);
    OptimizerState own = optimizer.own();
    for (at::Tensor *t : {&own.weight, &own.first, &own.second, &own.count})
      t->fill_(double(parallel.rank() + 7));
    OptimizerState given = gatherState(optimizer, parallel);
    if (parallel.first()) {
      const auto take = [](std::vector<models::Parameter> to,
                           const std::vector<models::Parameter> &from) {
        for (size_t i = 0; i < to.size(); ++i)
          to[i].value.copy_(from[i].value);
      };
      take(optimizer.weights(given), source.weights());
      take(optimizer.state(given), source.state());
    }
    shareState(given, optimizer, parallel);
    makeSteps(alone, source, nobody);
    makeSteps(all, optimizer, parallel);
    for (size_t i = 0; i < all.size(); ++i)
      EXPECT_TRUE(all[i].value.equal(alone[i].value)) << all[i].name;
  });
  EXPECT_EQ(errors, fine);
}

INSTANTIATE_TEST_SUITE_P(Precisions, Shards,
                         testing::Values(Precision::Fp32, Precision::Bf16));

TEST(StateShards, OneProcessKeepsAll) {
  const Config config = configOf(Precision::Fp32);
  DataParallel nobody{World{}};
  const Shard shard = shardOf(config, nobody);
  EXPECT_EQ(shard.index, 0);
  EXPECT_EQ(shard.count, 1);
  Parameters all = someParameters();
  AdamW optimizer(all, config, shard);
  const OptimizerState whole = gatherState(optimizer, nobody);
  EXPECT_EQ(whole.first.const_data_ptr(),
            optimizer.own().first.const_data_ptr());
}

} // namespace
