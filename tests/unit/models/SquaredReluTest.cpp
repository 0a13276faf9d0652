// tests/unit/models/SquaredReluTest.cpp - the same bits as autograd's own.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/SquaredRelu.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

using namespace tessera::models;

namespace {

at::Tensor gradient(const at::Tensor &y, const at::Tensor &x,
                    const at::Tensor &dy) {
  return torch::autograd::grad({y}, {x}, {dy})[0];
}

at::Tensor numbers(at::ScalarType type) {
  const at::Tensor x = at::randn({7, 33}).to(type);
  x[0][0] = 0.0;
  x[0][1] = -0.0;
  return x.requires_grad_();
}

} // namespace

TEST(SquaredRelu, HasTheBitsOfTorch) {
  at::manual_seed(1);
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const at::Tensor x = numbers(type), dy = at::randn({7, 33}).to(type);
    const at::Tensor ours = squaredRelu(x), theirs = at::relu(x).square();
    EXPECT_TRUE(at::equal(ours, theirs)) << type;
    EXPECT_TRUE(at::equal(gradient(ours, x, dy), gradient(theirs, x, dy)))
        << type;
  }
}

TEST(SquaredRelu, WithoutGradientsToo) {
  at::manual_seed(2);
  const at::NoGradGuard off;
  const at::Tensor x = numbers(at::kFloat), before = x.clone();
  EXPECT_TRUE(at::equal(squaredRelu(x), at::relu(x).square()));
  EXPECT_TRUE(at::equal(x, before)) << "the argument was changed";
  EXPECT_FALSE(squaredRelu(x).requires_grad());
}
