// tests/unit/trainer/optim/OptimizerTest.cpp - AdamW against its formula,
// clipping.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/optim/AdamW.h"
#include "trainer/settings/Config.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <atomic>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace tessera;
using namespace tessera::trainer;

namespace {

std::vector<models::Parameter> pair() {
  at::Tensor matrix = at::full({2, 2}, 0.5), vector = at::full({3}, -0.25);
  return {{"matrix", matrix.set_requires_grad(true)},
          {"vector", vector.set_requires_grad(true)}};
}

TEST(AdamW, FollowsTheFormulaAndDecaysMatricesOnly) {
  Config c;
  c.weightDecay = 0.1;
  c.beta1 = 0.9;
  c.beta2 = 0.95;
  c.epsilon = 1e-8;
  auto parameters = pair();
  AdamW optimizer(parameters, c);
  double value[2] = {0.5, -0.25}, first[2] = {}, second[2] = {};
  for (int step = 1; step <= 5; ++step) {
    const double rate = 0.01 * step, gradient = 0.3 - 0.1 * step;
    for (auto &p : parameters)
      p.value.mutable_grad() = at::full_like(p.value.detach(), gradient);
    optimizer.step(rate);
    for (int i : {0, 1}) {
      value[i] *= 1 - rate * (i == 0 ? c.weightDecay : 0);
      first[i] = c.beta1 * first[i] + (1 - c.beta1) * gradient;
      second[i] = c.beta2 * second[i] + (1 - c.beta2) * gradient * gradient;
      value[i] -=
          rate * (first[i] / (1 - std::pow(c.beta1, step))) /
          (std::sqrt(second[i] / (1 - std::pow(c.beta2, step))) + c.epsilon);
    }
  }
  EXPECT_NEAR(parameters[0].value[1][1].item<double>(), value[0], 1e-6);
  EXPECT_NEAR(parameters[1].value[2].item<double>(), value[1], 1e-6);
}

// arXiv:2510.12402: w <- w - rate (u + decay [u w >= 0] w), of matrices; u is
// the update with corrected moments. The head has a rate times its factor.
TEST(AdamW, CautiousDecayAndTheHeadsRateFollowTheFormula) {
  Config c;
  c.weightDecay = 0.5;
  c.cautiousDecay = true;
  c.headRateFactor = 3;
  at::manual_seed(8);
  std::vector<models::Parameter> parameters;
  for (const char *name : {"embedding", "blocks.0.mlp.in", "head", "norm"}) {
    const bool vector = std::string(name) == "norm";
    parameters.push_back({name, at::randn(vector ? std::vector<int64_t>{70}
                                                 : std::vector<int64_t>{9, 8})
                                    .set_requires_grad(true)});
  }
  std::vector<at::Tensor> weights, firsts, seconds;
  for (const auto &p : parameters) {
    weights.push_back(p.value.detach().to(at::kDouble));
    firsts.push_back(at::zeros_like(weights.back()));
    seconds.push_back(at::zeros_like(weights.back()));
  }
  AdamW optimizer(parameters, c);
  for (int step = 1; step <= 4; ++step) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      const at::Tensor g = at::randn(weights[i].sizes());
      parameters[i].value.mutable_grad() = g;
      firsts[i] = 0.9 * firsts[i] + 0.1 * g;
      seconds[i] = 0.95 * seconds[i] + 0.05 * g.square();
      const at::Tensor u =
          firsts[i] / (1 - std::pow(0.9, step)) /
          ((seconds[i] / (1 - std::pow(0.95, step))).sqrt() + 1e-8);
      const bool head = parameters[i].name == "head";
      const at::Tensor decayed =
          weights[i] * (u * weights[i]).ge(0) *
          (parameters[i].name == "norm" ? 0 : c.weightDecay);
      weights[i] = weights[i] - 0.02 * step * (head ? 3 : 1) * (u + decayed);
    }
    optimizer.step(0.02 * step);
  }
  for (size_t i = 0; i < parameters.size(); ++i)
    EXPECT_LT(
        (parameters[i].value.detach() - weights[i]).abs().max().item<double>(),
        3e-6)
        << parameters[i].name;
}

// Gates and compression have matrices, too; a step without gradients moves
// those that decay and no other.
TEST(AdamW, DecaysNeitherGatesNorCompressionNorNorms) {
  for (const models::Compression phi :
       {models::Compression::Convolution, models::Compression::Mlp}) {
    Config c;
    c.weightDecay = 0.5;
    c.model.layers = 1;
    c.model.dim = 16;
    c.model.heads = 2;
    c.model.kvHeads = 1;
    c.model.keyDim = c.model.valueDim = 8;
    c.model.mlpDim = 16;
    c.model.compression = phi;
    models::Transformer model(c.model, models::KernelSource::Torch, 1);
    AdamW optimizer(model.parameters(), c);
    std::vector<at::Tensor> before;
    for (const auto &p : model.parameters())
      before.push_back(p.value.detach().clone());
    optimizer.step(0.1);
    std::set<std::string> moved;
    for (size_t i = 0; i < before.size(); ++i)
      if (!model.parameters()[i].value.detach().equal(before[i]))
        moved.insert(model.parameters()[i].name);
    EXPECT_EQ(moved, (std::set<std::string>{
                         "embedding", "blocks.0.attention.qkv",
                         "blocks.0.attention.output", "blocks.0.mlp.in",
                         "blocks.0.mlp.out", "head"}));
  }
}

TEST(AdamW, ClipReportsTheNormBefore) {
  Config c;
  c.clip = 1;
  auto parameters = pair();
  AdamW optimizer(parameters, c);
  for (auto &p : parameters)
    p.value.mutable_grad() = at::full_like(p.value.detach(), 2.0);
  EXPECT_NEAR(optimizer.clip(), 2 * std::sqrt(7.0), 1e-6);
  EXPECT_NEAR(optimizer.clip(), 1, 1e-6);
  EXPECT_NEAR(parameters[1].value.grad()[0].item<double>(), 1 / std::sqrt(7.0),
              1e-6);
}

// What the loss was multiplied by is taken out again, before the norm is
// compared with the largest one.
TEST(AdamW, ClipTakesTheLossScaleOut) {
  Config c;
  for (const double most : {100.0, 1.0}) {
    c.clip = most;
    auto parameters = pair();
    AdamW optimizer(parameters, c);
    for (auto &p : parameters)
      p.value.mutable_grad() = at::full_like(p.value.detach(), 2.0 * 1024);
    const double norm = 2 * std::sqrt(7.0);
    EXPECT_NEAR(optimizer.clip(1024), norm, 1e-6);
    EXPECT_NEAR(parameters[1].value.grad()[0].item<double>(),
                2 * std::min(1.0, most / norm), 1e-6);
  }
}

/// Numbers read from the device while `work` runs.
template <typename F>
int64_t readsOf(const F &work) {
  static std::atomic<int64_t> reads = 0;
  reads = 0;
  const auto handle = at::addGlobalCallback(
      at::RecordFunctionCallback([](const at::RecordFunction &f)
                                     -> std::unique_ptr<at::ObserverContext> {
        if (std::string(f.name()) == "aten::_local_scalar_dense")
          ++reads;
        return nullptr;
      }).scopes({at::RecordScope::FUNCTION}));
  work();
  at::removeCallback(handle);
  return reads;
}

// One wait for the device a step, however many parameters there are.
TEST(AdamW, ClipReadsOneNumber) {
  const Config c;
  auto parameters = pair();
  for (int i = 0; i < 9; ++i)
    parameters.push_back({"more", at::ones({5}).set_requires_grad(true)});
  AdamW optimizer(parameters, c);
  for (auto &p : parameters)
    p.value.mutable_grad() = at::full_like(p.value.detach(), 2.0);
  EXPECT_EQ(readsOf([&] { optimizer.clip(); }), 1);
  // torch's update for the cpu reads the count of steps, once for those that
  // decay and once for the rest.
  EXPECT_EQ(readsOf([&] { optimizer.step(0.1); }), 2);
}

// Updates below half a bf16 ulp add up in the masters, and the model gets their
// rounded values.
TEST(AdamW, SmallUpdatesAddUpInBf16) {
  Config c;
  c.precision = Precision::Bf16;
  c.clip = 0;
  auto parameters = pair();
  AdamW optimizer(parameters, c);
  ASSERT_EQ(parameters[0].value.scalar_type(), at::kBFloat16);
  for (int step = 0; step < 100; ++step) {
    for (auto &p : parameters)
      p.value.mutable_grad() = at::full_like(p.value.detach(), 1.0);
    optimizer.clip();
    optimizer.step(1e-4); // bf16 values below 0.5 are 2^-9 apart: 0.00195
    optimizer.zeroGradients();
  }
  const auto weights = optimizer.weights();
  EXPECT_EQ(weights[0].value.scalar_type(), at::kFloat);
  EXPECT_NEAR(weights[0].value[0][1].item<double>(), 0.49, 1e-5);
  EXPECT_TRUE(
      parameters[0].value.detach().equal(weights[0].value.to(at::kBFloat16)));
  EXPECT_TRUE(
      parameters[1].value.detach().equal(weights[1].value.to(at::kBFloat16)));
}

// 300 gradients of 1: a sum in bf16 stays at 256.
TEST(AdamW, GradientsAddUpInFp32) {
  Config c;
  c.precision = Precision::Bf16;
  c.clip = 0;
  auto parameters = pair();
  AdamW optimizer(parameters, c);
  for (int batch = 0; batch < 300; ++batch) {
    (parameters[0].value.sum() + parameters[1].value.sum()).backward();
    optimizer.gather();
  }
  EXPECT_NEAR(optimizer.clip(), 300 * std::sqrt(7.0), 1e-3);
  optimizer.zeroGradients();
  EXPECT_EQ(optimizer.clip(), 0);
}

// The buffers are the model's own: no copy of weights or gradients in fp32.
TEST(AdamW, AutogradAddsIntoTheBuffer) {
  const Config c;
  auto parameters = pair();
  AdamW optimizer(parameters, c);
  for (int batch = 0; batch < 3; ++batch)
    (parameters[0].value.sum() + parameters[1].value.sum()).backward();
  EXPECT_NEAR(optimizer.gradients().sum().item<double>(), 3 * 7, 1e-6);
  for (size_t i : {0, 1}) {
    EXPECT_EQ(parameters[i].value.const_data_ptr(),
              optimizer.weights()[i].value.const_data_ptr());
    EXPECT_EQ(size_t(parameters[i].value.const_data_ptr()) % 64, 0u);
  }
}

} // namespace
