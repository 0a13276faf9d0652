// tests/unit/reference/GradientTest.cpp - explicit gradients against central
// finite differences.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "reference/Compression.h"
#include "reference/Gating.h"
#include "reference/Layers.h"
#include "reference/Selection.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace tessera::reference;

namespace {

Array noise(std::vector<int64_t> sizes, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  Array array(std::move(sizes));
  for (double &x : array.values)
    x = normal(engine);
  return array;
}

double dot(const Array &a, const Array &b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i)
    sum += a.values[i] * b.values[i];
  return sum;
}

// Compares an explicit gradient with central differences of loss().
void expectGradient(const char *name, Array &input, const Array &gradient,
                    const std::function<double()> &loss) {
  const double step = 1e-5;
  double largest = 0;
  for (std::size_t i = 0; i < input.values.size(); ++i) {
    const double saved = input.values[i];
    input.values[i] = saved + step;
    const double above = loss();
    input.values[i] = saved - step;
    const double below = loss();
    input.values[i] = saved;
    EXPECT_NEAR(gradient.values[i], (above - below) / (2 * step), 1e-7)
        << name << '[' << i << ']';
    largest = std::max(largest, std::abs(gradient.values[i]));
  }
  EXPECT_GT(largest, 1e-3) << name << " has no gradient to check";
}

Geometry tiny() {
  Geometry g;
  g.blockLength = 4;
  g.blockStride = 2;
  g.selectionLength = 4;
  g.selected = 3;
  g.window = 3;
  return g;
}

const Offsets cu{0, 10, 10, 13, 30};

void checkAttention(const KeysOf &keys, int64_t keyRows) {
  const double scale = 0.6;
  Array q = noise({30, 4, 4}, 1), k = noise({keyRows, 2, 4}, 2),
        v = noise({keyRows, 2, 3}, 3);
  const Array dout = noise({30, 4, 3}, 4);
  Array dlse = noise({4, 30}, 5);
  Array o({30, 4, 3}), lse({4, 30});
  const auto loss = [&] {
    attention(q, k, v, keys, scale, o, lse);
    double sum = dot(o, dout);
    for (std::size_t i = 0; i < lse.values.size(); ++i)
      if (std::isfinite(lse.values[i]))
        sum += lse.values[i] * dlse.values[i];
    return sum;
  };
  loss();
  Array dq({30, 4, 4}), dk({keyRows, 2, 4}), dv({keyRows, 2, 3});
  Array outGradient = dout;
  attentionBackward(q, k, v, keys, scale, o, lse, outGradient, dlse, dq, dk,
                    dv);
  expectGradient("q", q, dq, loss);
  expectGradient("k", k, dk, loss);
  expectGradient("v", v, dv, loss);
}

TEST(Gradient, Dense) { checkAttention(denseKeys(cu), 30); }

TEST(Gradient, Window) { checkAttention(windowKeys(cu, 3), 30); }

TEST(Gradient, Compressed) {
  checkAttention(compressedKeys(tiny(), cu),
                 compressedOffsets(tiny(), cu).back());
}

TEST(Gradient, Selected) {
  const Geometry g = tiny();
  Array scores = noise({2, 30, 5}, 6);
  IndexArray indices({2, 30, g.selected});
  select(g, cu, scores, indices);
  checkAttention(selectedKeys(g, cu, indices), 30);
}

TEST(Gradient, NoVisibleKeys) {
  Geometry g = tiny();
  Array q = noise({3, 2, 4}, 1), k({0, 1, 4}), v({0, 1, 3});
  Array o({3, 2, 3}, 7), lse({2, 3}), dq({3, 2, 4}), dout = noise({3, 2, 3}, 2),
                                                     none;
  attention(q, k, v, compressedKeys(g, {0, 3}), 1, o, lse);
  attentionBackward(q, k, v, compressedKeys(g, {0, 3}), 1, o, lse, dout,
                    Tensor(), dq, k, v);
  for (double x : o.values)
    EXPECT_EQ(x, 0);
  for (double x : dq.values)
    EXPECT_EQ(x, 0);
}

TEST(Gradient, CompressMean) {
  const Geometry g = tiny();
  const int64_t rows = compressedOffsets(g, cu).back();
  Array x = noise({30, 2, 3}, 1), dout = noise({rows, 2, 3}, 2),
        out({rows, 2, 3});
  Array dx({30, 2, 3});
  compressMeanBackward(dout, g, cu, dx);
  expectGradient("x", x, dx, [&] {
    compressMean(x, g, cu, out);
    return dot(out, dout);
  });
}

TEST(Gradient, CompressConv) {
  const Geometry g = tiny();
  const int64_t rows = compressedOffsets(g, cu).back();
  Array x = noise({30, 2, 3}, 1), dout = noise({rows, 2, 3}, 2),
        out({rows, 2, 3});
  Array weight = noise({4, 3}, 3), dx({30, 2, 3}), dweight({4, 3});
  compressConvBackward(x, weight, dout, g, cu, dx, dweight);
  const auto loss = [&] {
    compressConv(x, weight, g, cu, out);
    return dot(out, dout);
  };
  expectGradient("x", x, dx, loss);
  expectGradient("weight", weight, dweight, loss);

  // A weight of 1/l is the mean.
  Array even({4, 3}, 0.25), mean({rows, 2, 3});
  compressConv(x, even, g, cu, out);
  compressMean(x, g, cu, mean);
  for (std::size_t i = 0; i < mean.values.size(); ++i)
    EXPECT_NEAR(out.values[i], mean.values[i], 1e-15);
}

void checkGate(GateMode mode, double tau) {
  Array logits = noise({5, 2, 3}, 1), dgates = noise({5, 2, 3}, 2),
        gates({5, 2, 3});
  const auto loss = [&] {
    gate(logits, mode, tau, gates);
    return dot(gates, dgates);
  };
  loss();
  Array dlogits({5, 2, 3});
  gateBackward(gates, dgates, mode, tau, dlogits);
  expectGradient("logits", logits, dlogits, loss);
}

TEST(Gradient, SoftmaxGate) { checkGate(GateMode::Softmax, 0.7); }
TEST(Gradient, SigmoidGate) { checkGate(GateMode::Sigmoid, 0.7); }

TEST(Gradient, GateValues) {
  Array logits({1, 1, 3}, 0), gates({1, 1, 3});
  gate(logits, GateMode::Sigmoid, 1, gates);
  EXPECT_EQ(gates.values, (std::vector<double>{0.5, 0.5, 0.5}));
  logits.values = {0, std::log(2.0), std::log(5.0)};
  gate(logits, GateMode::Sigmoid, 0.5, gates); // of twice each logit
  EXPECT_NEAR(gates.values[1], 4.0 / 5, 1e-15);
  EXPECT_NEAR(gates.values[2], 25.0 / 26, 1e-15);
  gate(logits, GateMode::Softmax, 1, gates);
  EXPECT_NEAR(gates.values[2], 0.625, 1e-15);
  gate(logits, GateMode::Softmax, 0.5, gates);
  EXPECT_NEAR(gates.values[2], 25.0 / 30, 1e-15);
}

TEST(Gradient, Combine) {
  Array c = noise({5, 4, 3}, 1), s = noise({5, 4, 3}, 2),
        w = noise({5, 4, 3}, 3);
  Array gates = noise({5, 2, 3}, 4), dout = noise({5, 4, 3}, 5), out({5, 4, 3});
  Array dc({5, 4, 3}), ds({5, 4, 3}), dw({5, 4, 3}), dgates({5, 2, 3});
  combineBackward(c, s, w, gates, dout, dc, ds, dw, dgates);
  const auto loss = [&] {
    combine(c, s, w, gates, out);
    return dot(out, dout);
  };
  expectGradient("compressed", c, dc, loss);
  expectGradient("selected", s, ds, loss);
  expectGradient("window", w, dw, loss);
  expectGradient("gates", gates, dgates, loss);
}

} // namespace
