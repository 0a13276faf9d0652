// tests/unit/trainer/parallel/GradientExchangeTest.cpp - buckets, their order,
// and what must not be sent.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/parallel/GradientExchange.h"

#include "tests/unit/trainer/TwoRanks.h"
#include "trainer/settings/Config.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::trainer;

namespace {

using Parameters = std::vector<models::Parameter>;
const std::vector<std::string> fine = {"", ""};

/// Matrices of 64 elements each, then a vector: a bucket each of 256 bytes.
Parameters fourParameters() {
  Parameters all;
  for (const char *name : {"a", "b", "c"})
    all.push_back({name, at::ones({8, 8}).set_requires_grad(true)});
  all.push_back({"vector", at::ones({64}).set_requires_grad(true)});
  return all;
}

/// Chains the parameters: the gradient of the last of them is there first.
at::Tensor lossOf(const Parameters &all, double factor, bool reverse) {
  at::Tensor x = at::full({8, 8}, factor);
  for (size_t i = 0; i < 3; ++i)
    x = x * all[reverse ? 2 - i : i].value;
  return (x * all[3].value.view({8, 8})).sum();
}

/// Both processes have gradients of 1 and 3, though they arrive in opposite
/// orders: the mean is 2 everywhere, in the first step and in later ones. In
/// bf16 each gradient is added to its fp32 accumulator before it is sent.
TEST(GradientExchange, AveragesInTheOrderOfTheFirstProcess) {
  for (const Precision precision : {Precision::Fp32, Precision::Bf16}) {
    std::vector<int64_t> beside(2);
    const auto errors = onTwoRanks([&](DataParallel &parallel) {
      Config config;
      config.precision = precision;
      Parameters all = fourParameters();
      AdamW optimizer(all, config);
      GradientExchange exchange(all, optimizer, parallel, 256);
      EXPECT_EQ(exchange.bucketCount(), 4);
      for (int step = 0; step < 3; ++step) {
        exchange.beginLast();
        lossOf(all, parallel.first() ? 1 : 3, !parallel.first()).backward();
        exchange.finish();
        EXPECT_EQ(optimizer.gradients().min().item<double>(), 2);
        EXPECT_EQ(optimizer.gradients().max().item<double>(), 2);
        optimizer.zeroGradients();
      }
      beside[size_t(parallel.rank())] = exchange.bucketsBeside();
    });
    EXPECT_EQ(errors, fine);
    // Each is complete before the pass is over.
    EXPECT_EQ(beside, (std::vector<int64_t>{4, 4}));
  }
}

TEST(GradientExchange, AccumulationSendsNothingBeforeTheLastPass) {
  const auto errors = onTwoRanks([&](DataParallel &parallel) {
    const Config config;
    Parameters all = fourParameters();
    AdamW optimizer(all, config);
    GradientExchange exchange(all, optimizer, parallel, 1 << 20);
    EXPECT_EQ(exchange.bucketCount(), 2); // matrices, vectors
    for (int step = 0; step < 3; ++step) {
      // A different number of passes in each process: none waits for another.
      for (int64_t i = 0; i <= parallel.rank(); ++i)
        lossOf(all, 1, false).backward();
      exchange.beginLast();
      lossOf(all, 4, false).backward();
      exchange.finish();
      EXPECT_EQ(optimizer.gradients().min().item<double>(), 5.5);
      EXPECT_EQ(optimizer.gradients().max().item<double>(), 5.5);
      optimizer.zeroGradients();
    }
  });
  EXPECT_EQ(errors, fine);
}

/// A parameter that a step does not use is averaged with the others.
TEST(GradientExchange, AnUnusedParameterStopsNobody) {
  const auto errors = onTwoRanks([&](DataParallel &parallel) {
    const Config config;
    Parameters all = fourParameters();
    AdamW optimizer(all, config);
    GradientExchange exchange(all, optimizer, parallel, 256);
    for (int step = 0; step < 3; ++step) {
      // Process 1 has gradients of zero for all but the first.
      exchange.beginLast();
      (lossOf(all, 1, false) * (parallel.first() ? 1 : 0) +
       all[0].value.sum() * (parallel.first() ? 0 : 1))
          .backward();
      exchange.finish();
      const at::Tensor means = optimizer.gradients();
      EXPECT_TRUE(at::equal(means.slice(0, 0, 64), at::full({64}, 1.0)));
      EXPECT_TRUE(at::equal(means.slice(0, 64, 256), at::full({192}, 0.5)));
      optimizer.zeroGradients();
    }
  });
  EXPECT_EQ(errors, fine);
}

TEST(GradientExchange, AGradientThatComesTooLateIsAnError) {
  const auto errors = onTwoRanks([&](DataParallel &parallel) {
    const Config config;
    Parameters all = fourParameters();
    AdamW optimizer(all, config);
    GradientExchange exchange(all, optimizer, parallel, 256);
    for (int step = 0; step < 2; ++step) {
      exchange.beginLast();
      for (int pass = 0; pass <= step; ++pass)
        lossOf(all, 1, false).backward();
      exchange.finish();
      optimizer.zeroGradients();
    }
  });
  for (const std::string &error : errors)
    EXPECT_NE(error.find("the gradient of a was added to after it was sent"),
              std::string::npos)
        << error;
}

/// The mean of 1 + 2^-9 + 2^-14 and 1: fp32 holds it, fp16 without 2^-15, bf16
/// without 2^-10 as well.
TEST(GradientExchange, TheWireRounds) {
  for (const auto &[wire, mean] :
       {std::pair{Precision::Fp32, 1 + 0x1p-10 + 0x1p-15},
        std::pair{Precision::Fp16, 1 + 0x1p-10},
        std::pair{Precision::Bf16, 1.0}}) {
    const auto errors = onTwoRanks(
        [expected = mean](DataParallel &parallel) {
          const at::Tensor x =
              at::full({100}, parallel.first() ? 1 + 0x1p-9 + 0x1p-14 : 1.0);
          parallel.beginAverage(x);
          parallel.finishAverages();
          EXPECT_EQ(x.min().item<double>(), expected);
          EXPECT_EQ(x.max().item<double>(), expected);
        },
        wire);
    EXPECT_EQ(errors, fine);
  }
}

/// Sums beyond what fp16 holds are no reason for an infinite mean.
TEST(GradientExchange, LargeGradientsFitTheWire) {
  const auto errors = onTwoRanks(
      [&](DataParallel &parallel) {
        const at::Tensor x = at::full({10}, 60000.0);
        parallel.beginAverage(x);
        parallel.finishAverages();
        EXPECT_EQ(x.min().item<double>(), 60000);
      },
      Precision::Fp16);
  EXPECT_EQ(errors, fine);
}

} // namespace
