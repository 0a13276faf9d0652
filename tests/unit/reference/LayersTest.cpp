// tests/unit/reference/LayersTest.cpp - RMSNorm and rotary positions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "reference/Layers.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace tessera::reference;

namespace {

Array wave(std::vector<int64_t> sizes, double phase) {
  Array array(std::move(sizes));
  for (std::size_t i = 0; i < array.values.size(); ++i)
    array.values[i] = std::sin(phase + 1.7 * static_cast<double>(i)) + 0.3;
  return array;
}

double dotProduct(const Array &a, const Array &b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i)
    sum += a.values[i] * b.values[i];
  return sum;
}

void expectGradient(Array &input, const Array &gradient,
                    const std::function<double()> &loss) {
  for (std::size_t i = 0; i < input.values.size(); ++i) {
    const double saved = input.values[i];
    input.values[i] = saved + 1e-5;
    const double above = loss();
    input.values[i] = saved - 1e-5;
    const double below = loss();
    input.values[i] = saved;
    EXPECT_NEAR(gradient.values[i], (above - below) / 2e-5, 1e-8) << i;
  }
}

TEST(Layers, RmsNormValues) {
  Array x({1, 2}), weight({2}, 1), y({1, 2});
  x.values = {3, 4};
  weight.values = {1, 2};
  rmsNorm(x, weight, 0, y);
  EXPECT_NEAR(y.values[0], 3 / std::sqrt(12.5), 1e-15);
  EXPECT_NEAR(y.values[1], 8 / std::sqrt(12.5), 1e-15);
}

TEST(Layers, RmsNormGradient) {
  Array x = wave({3, 5}, 0), weight = wave({5}, 1), dy = wave({3, 5}, 2),
        y({3, 5});
  Array dx({3, 5}), dweight({5});
  const auto loss = [&] {
    rmsNorm(x, weight, 1e-2, y);
    return dotProduct(y, dy);
  };
  rmsNormBackward(x, weight, 1e-2, dy, dx, dweight);
  expectGradient(x, dx, loss);
  expectGradient(weight, dweight, loss);
}

TEST(Layers, RopeQuarterTurn) {
  Array x({1, 1, 4}), y({1, 1, 4});
  x.values = {1, 2, 3, 4};
  // Base 4: the pairs turn by position and by half of it; pi is not an integer,
  // so scale the position.
  rope(x, {1}, 4, 2 / M_PI, 4, 1, y);
  EXPECT_NEAR(y.values[0], -2, 1e-14);
  EXPECT_NEAR(y.values[1], 1, 1e-14);
  EXPECT_NEAR(y.values[2], (3 - 4) * std::sqrt(0.5), 1e-14);
  EXPECT_NEAR(y.values[3], (3 + 4) * std::sqrt(0.5), 1e-14);
}

TEST(Layers, RopeScoreDependsOnOffsetOnly) {
  Array q = wave({1, 1, 16}, 0), k = wave({1, 1, 16}, 3), rq({1, 1, 16}),
        rk({1, 1, 16});
  const auto score = [&](int64_t position) {
    rope(q, {position + 5}, 10000, 1, 16, 1, rq);
    rope(k, {position}, 10000, 1, 16, 1, rk);
    return dotProduct(rq, rk);
  };
  EXPECT_NEAR(score(0), score(50), 1e-11);
  EXPECT_NEAR(score(0), score(500), 1e-11);
}

TEST(Layers, RopeBackwardIsInverse) {
  Array x = wave({4, 2, 6}, 0), dy = wave({4, 2, 6}, 1), y({4, 2, 6}),
        dx({4, 2, 6});
  const std::vector<int64_t> positions = packedPositions({0, 3, 3, 4});
  EXPECT_EQ(positions, (std::vector<int64_t>{0, 1, 2, 0}));
  rope(dy, positions, 100, 1, 4, -1, dx);
  expectGradient(x, dx, [&] {
    rope(x, positions, 100, 1, 4, 1, y);
    return dotProduct(y, dy);
  });
  EXPECT_EQ(y.view()(2, 1, 5), x.view()(2, 1, 5)); // outside the rotary part
}

} // namespace
