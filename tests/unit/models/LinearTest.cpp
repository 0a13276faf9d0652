// tests/unit/models/LinearTest.cpp - products of the model on the CPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/Linear.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

using namespace tessera;

namespace {

/// Shapes of one band, of several, and with a last band that is not full; both
/// orders of the numbers in memory.
struct Shape {
  int64_t m, k, n;
};
constexpr Shape shapes[] = {{1, 8, 3},      {16, 16, 16},   {130, 512, 96},
                            {1000, 300, 7}, {513, 128, 64}, {4097, 33, 65},
                            {0, 4, 5},      {6, 0, 4}};

std::vector<at::Tensor> productsOf(at::ScalarType type) {
  at::manual_seed(1);
  std::vector<at::Tensor> all;
  for (const Shape &s : shapes) {
    const at::Tensor a = at::randn({s.m, s.k}).to(type),
                     b = at::randn({s.k, s.n}).to(type),
                     turned = at::randn({s.k, s.m}).to(type).t();
    all.push_back(models::product(a, b));
    all.push_back(models::product(turned, b));
    all.push_back(models::product(a, at::randn({s.n, s.k}).to(type).t()));
    for (const at::Tensor &one : models::products({a, turned}, {b, b}))
      all.push_back(one);
  }
  return all;
}

} // namespace

TEST(Linear, ProductsAreThoseOfDoublePrecision) {
  at::manual_seed(1);
  for (const Shape &s : shapes) {
    const at::Tensor a = at::randn({s.m, s.k}), b = at::randn({s.k, s.n}),
                     want = at::mm(a.to(at::kDouble), b.to(at::kDouble)),
                     got = models::product(a, b);
    ASSERT_EQ(got.sizes(), want.sizes());
    EXPECT_TRUE(at::allclose(got.to(at::kDouble), want, 1e-5, 1e-4))
        << s.m << " x " << s.k << " x " << s.n;
  }
}

TEST(Linear, SeveralProductsAreThoseOfDoublePrecision) {
  at::manual_seed(3);
  std::vector<at::Tensor> a, b;
  for (const Shape &s : shapes) {
    a.push_back(at::randn({s.m, s.k}));
    b.push_back(at::randn({s.n, s.k}).t());
  }
  const std::vector<at::Tensor> got = models::products(a, b);
  ASSERT_EQ(got.size(), a.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const at::Tensor want = at::mm(a[i].to(at::kDouble), b[i].to(at::kDouble));
    ASSERT_EQ(got[i].sizes(), want.sizes());
    EXPECT_TRUE(at::allclose(got[i].to(at::kDouble), want, 1e-5, 1e-4)) << i;
    EXPECT_TRUE(at::equal(got[i], models::products({a[i]}, {b[i]})[0])) << i;
  }
  EXPECT_TRUE(models::products({}, {}).empty());
  EXPECT_THROW(models::products({a[0]}, {}), c10::Error);
}

TEST(Linear, BitsDoNotDependOnTheNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    std::vector<std::vector<at::Tensor>> all;
    for (const int threads : {1, 2, 5}) {
      at::set_num_threads(threads);
      all.push_back(productsOf(type));
    }
    for (const int threads : {1, 3}) {
      models::useOwnThreads(threads);
      EXPECT_EQ(at::get_num_threads(), 1);
      all.push_back(productsOf(type));
    }
    for (const auto &products : all)
      for (size_t i = 0; i < products.size(); ++i)
        EXPECT_TRUE(at::equal(products[i], all[0][i])) << i;
  }
  at::set_num_threads(before);
}

TEST(Linear, GradientsAreThoseOfTorch) {
  at::manual_seed(2);
  for (const bool ofWeight : {false, true}) {
    const at::Tensor x = at::randn({300, 48}, at::kDouble),
                     weight = at::randn({80, 48}, at::kDouble),
                     grad = at::randn({300, 80}, at::kDouble);
    x.requires_grad_(!ofWeight);
    weight.requires_grad_();
    const std::vector<at::Tensor> inputs =
        ofWeight ? std::vector{weight} : std::vector{x, weight};
    const auto of = [&](const at::Tensor &y) {
      return torch::autograd::grad({y}, inputs, {grad});
    };
    const auto want = of(at::linear(x, weight)),
               got = of(models::linear(x, weight));
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(at::allclose(got[i], want[i], 1e-12, 1e-12));
  }
}

TEST(Linear, RefusesANumberOfThreadsBelowOne) {
  EXPECT_THROW(models::useOwnThreads(0), c10::Error);
}
