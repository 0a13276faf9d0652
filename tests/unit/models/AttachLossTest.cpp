// tests/unit/models/AttachLossTest.cpp - a loss that takes part in the backward
// pass of an output.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/AttachLoss.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

using namespace tessera;

namespace {

TEST(AttachLoss, GivesTheLossItsFactorAndLeavesTheOutput) {
  const at::Tensor x = at::arange(4, at::kFloat).requires_grad_();
  const at::Tensor weight = at::full({3}, 2.0).requires_grad_();
  const at::Tensor y =
      models::attachLoss(x * 3, weight.square().mean(), at::full({}, 0.5));
  EXPECT_TRUE(y.equal(x * 3));
  (y.sum() * 7).backward();
  EXPECT_TRUE(x.grad().equal(at::full({4}, 21.0)));
  // d mean(w^2) / dw = 2 w / 3, times the factor and not times 7.
  EXPECT_TRUE(weight.grad().allclose(at::full({3}, 0.5 * 2 * 2 / 3)));
}

TEST(AttachLoss, TakesALossOfAnotherType) {
  const at::Tensor weight = at::full({2}, 1.0, at::kDouble).requires_grad_();
  const at::Tensor y = models::attachLoss(at::zeros({1}).requires_grad_(),
                                          weight.sum(), at::full({}, 0.25));
  y.backward();
  EXPECT_TRUE(weight.grad().equal(at::full({2}, 0.25, at::kDouble)));
}

} // namespace
