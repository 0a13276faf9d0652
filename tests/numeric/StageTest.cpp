// tests/numeric/StageTest.cpp - compression, gated sum, norm and rotary
// positions against the reference.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "reference/Compression.h"
#include "reference/Gating.h"
#include "reference/Layers.h"
#include "tests/numeric/Harness.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <cmath>

using namespace tessera;
using namespace tessera::numeric;
using reference::Array;

namespace {

class Stage : public testing::TestWithParam<Shape> {};

TEST_P(Stage, Compress) {
  const Shape &shape = GetParam();
  reference::Geometry g;
  g.blockLength = 16;
  g.blockStride = 8;
  const reference::Offsets cu = shape.offsets();
  const int64_t rows = reference::compressedOffsets(g, cu).back();
  const at::Tensor x =
      noise({shape.tokens(), shape.keyHeads, shape.dim}, shape.type, 1)
          .requires_grad_();
  const at::Tensor weight =
      noise({16, shape.dim}, shape.type, 2).requires_grad_();
  const at::Tensor grad =
      noise({rows, shape.keyHeads, shape.dim}, shape.type, 3);
  const at::Tensor cuCmp =
      callTensor("compressed_offsets", {shape.cuSeqlens(), 16, 8});
  Array rx = toReference(x), rw = toReference(weight),
        rgrad = toReference(grad);
  Array out(rgrad.shape), dx(rx.shape), dw(rw.shape);

  const at::Tensor mean =
      callTensor("nsa_compress", {x, c10::IValue(), shape.cuSeqlens(), cuCmp,
                                  shape.longest(), rows, 16, 8});
  reference::compressMean(rx, g, cu, out);
  expectClose(mean, out, shape.limit(), "mean");
  reference::compressMeanBackward(rgrad, g, cu, dx);
  expectClose(gradients({mean}, {grad}, {x})[0], dx, shape.limit(), "mean dx");

  const at::Tensor conv =
      callTensor("nsa_compress", {x, weight, shape.cuSeqlens(), cuCmp,
                                  shape.longest(), rows, 16, 8});
  reference::compressConv(rx, rw, g, cu, out);
  expectClose(conv, out, shape.limit(), "conv");
  std::fill(dx.values.begin(), dx.values.end(), 0);
  reference::compressConvBackward(rx, rw, rgrad, g, cu, dx, dw);
  const auto grads = gradients({conv}, {grad}, {x, weight});
  expectClose(grads[0], dx, shape.limit(), "conv dx");
  expectClose(grads[1], dw, shape.limit(), "conv dweight");
}

TEST_P(Stage, Combine) {
  const Shape &shape = GetParam();
  const std::vector<int64_t> sizes{shape.tokens(), shape.queryHeads(),
                                   shape.valueDim};
  std::vector<at::Tensor> x;
  for (uint64_t i = 0; i < 3; ++i)
    x.push_back(noise(sizes, shape.type, i).requires_grad_());
  x.push_back(noise({shape.tokens(), shape.keyHeads, 3}, shape.type, 3)
                  .requires_grad_());
  const at::Tensor grad = noise(sizes, shape.type, 4);
  std::vector<Array> r;
  for (const at::Tensor &tensor : x)
    r.push_back(toReference(tensor));
  Array rgrad = toReference(grad);
  for (const auto mode :
       {reference::GateMode::Softmax, reference::GateMode::Sigmoid}) {
    const bool softmax = mode == reference::GateMode::Softmax;
    const double tau = softmax ? 0.7 : 0.4;
    const auto outputs =
        callOp("nsa_combine",
               {x[0], x[1], x[2], x[3], softmax ? "softmax" : "sigmoid", tau});
    Array gates(r[3].shape), out(sizes), dgates(r[3].shape),
        dlogits(r[3].shape);
    Array d0(sizes), d1(sizes), d2(sizes);
    reference::gate(r[3], mode, tau, gates);
    reference::combine(r[0], r[1], r[2], gates, out);
    expectClose(outputs[0].toTensor(), out, shape.limit(), "out");
    expectClose(outputs[1].toTensor(), gates, shape.limit(), "gates");
    reference::combineBackward(r[0], r[1], r[2], gates, rgrad, d0, d1, d2,
                               dgates);
    reference::gateBackward(gates, dgates, mode, tau, dlogits);
    const auto grads = gradients({outputs[0].toTensor()}, {grad}, x);
    expectClose(grads[0], d0, shape.limit(), "dcmp");
    expectClose(grads[1], d1, shape.limit(), "dsel");
    expectClose(grads[2], d2, shape.limit(), "dwin");
    expectClose(grads[3], dlogits, shape.limit(), "dlogits");
  }
}

TEST_P(Stage, RmsNorm) {
  const Shape &shape = GetParam();
  const int64_t rows = shape.tokens() * shape.queryHeads();
  const at::Tensor x = noise({rows, shape.dim}, shape.type, 1).requires_grad_();
  const at::Tensor weight = noise({shape.dim}, shape.type, 2).requires_grad_();
  const at::Tensor grad = noise({rows, shape.dim}, shape.type, 3);
  const at::Tensor y = callTensor("rms_norm", {x, weight, 1e-3});
  Array rx = toReference(x), rw = toReference(weight),
        rgrad = toReference(grad);
  Array ry(rx.shape), dx(rx.shape), dw(rw.shape);
  reference::rmsNorm(rx, rw, 1e-3, ry);
  reference::rmsNormBackward(rx, rw, 1e-3, rgrad, dx, dw);
  expectClose(y, ry, shape.limit(), "y");
  const auto grads = gradients({y}, {grad}, {x, weight});
  expectClose(grads[0], dx, shape.limit(), "dx");
  expectClose(grads[1], dw, shape.limit(), "dweight");
}

TEST_P(Stage, ResidualNorm) {
  const Shape &shape = GetParam();
  const int64_t rows = shape.tokens() * shape.queryHeads();
  const std::vector<int64_t> size = {rows, shape.dim};
  const at::Tensor x = noise(size, shape.type, 1).requires_grad_();
  const at::Tensor added = noise(size, shape.type, 4).requires_grad_();
  const at::Tensor weight = noise({shape.dim}, shape.type, 2).requires_grad_();
  const at::Tensor grad = noise(size, shape.type, 3);
  const at::Tensor gradSum = noise(size, shape.type, 5);
  const auto out = callOp("residual_norm", {x, added, weight, 1e-3});
  const at::Tensor sum = out[0].toTensor(), y = out[1].toTensor();
  EXPECT_TRUE(sum.equal(x + added));
  // The norm is that of the sum as it is stored.
  Array rx = toReference(sum), rw = toReference(weight),
        rgrad = toReference(grad);
  const Array rsum = toReference(gradSum);
  Array ry(rx.shape), dx(rx.shape), dw(rw.shape);
  reference::rmsNorm(rx, rw, 1e-3, ry);
  reference::rmsNormBackward(rx, rw, 1e-3, rgrad, dx, dw);
  for (size_t i = 0; i < dx.values.size(); ++i)
    dx.values[i] += rsum.values[i];
  expectClose(y, ry, shape.limit(), "y");
  const auto grads = gradients({sum, y}, {gradSum, grad}, {x, added, weight});
  expectClose(grads[0], dx, shape.limit(), "dx");
  expectClose(grads[1], dx, shape.limit(), "dadded");
  expectClose(grads[2], dw, shape.limit(), "dweight");
}

/// Losses and gradients of cross-entropy, from logits of the type `rounded`.
struct LinearLossReference {
  Array losses, dh, dw;

  LinearLossReference(const Array &h, const Array &w, const Array &g,
                      const std::vector<int64_t> &wanted,
                      at::ScalarType rounded)
      : losses({h.shape[0]}), dh(h.shape), dw(w.shape) {
    const int64_t dim = h.shape[1], vocabulary = w.shape[0];
    for (int64_t t = 0; t < h.shape[0]; ++t) {
      if (wanted[size_t(t)] < 0)
        continue;
      std::vector<double> logits(size_t(vocabulary), 0.0);
      double sum = 0;
      for (int64_t v = 0; v < vocabulary; ++v) {
        double &logit = logits[size_t(v)];
        for (int64_t d = 0; d < dim; ++d)
          logit +=
              h.values[size_t(t * dim + d)] * w.values[size_t(v * dim + d)];
        if (rounded == at::kBFloat16)
          logit = double(c10::BFloat16(float(logit)));
        else if (rounded == at::kHalf)
          logit = double(c10::Half(float(logit)));
        sum += std::exp(logit);
      }
      const int64_t target = wanted[size_t(t)];
      losses.values[size_t(t)] = std::log(sum) - logits[size_t(target)];
      for (int64_t v = 0; v < vocabulary; ++v) {
        const double slope =
            g.values[size_t(t)] *
            (std::exp(logits[size_t(v)]) / sum - (v == target ? 1 : 0));
        for (int64_t d = 0; d < dim; ++d) {
          dh.values[size_t(t * dim + d)] +=
              slope * w.values[size_t(v * dim + d)];
          dw.values[size_t(v * dim + d)] +=
              slope * h.values[size_t(t * dim + d)];
        }
      }
    }
  }
};

TEST_P(Stage, LinearLoss) {
  const Shape &shape = GetParam();
  const int64_t tokens = shape.tokens(), dim = shape.dim, vocabulary = 203;
  const at::Tensor hidden = noise({tokens, dim}, shape.type, 1);
  const at::Tensor weight = noise({vocabulary, dim}, shape.type, 2);
  const at::Tensor grad = noise({tokens}, at::kFloat, 3);
  std::vector<int64_t> wanted;
  for (int64_t t = 0; t < tokens; ++t)
    wanted.push_back(t % 5 == 2 ? -100 : t * 37 % vocabulary);
  for (const bool keep : {false, true}) {
    SCOPED_TRACE(keep ? "logits are kept, rounded" : "logits are not kept");
    const LinearLossReference want(toReference(hidden), toReference(weight),
                                   toReference(grad), wanted,
                                   keep ? shape.type : at::kDouble);
    const at::Tensor a = hidden.clone().requires_grad_(),
                     b = weight.clone().requires_grad_();
    const at::Tensor found = callTensor(
        "linear_cross_entropy", {a, b, at::tensor(wanted), -100, "none", keep});
    // Sums in fp32 round some logits to the other neighbour.
    expectClose(found, want.losses, keep ? shape.limit() : 1e-5, "losses");
    const auto grads = gradients({found}, {grad}, {a, b});
    expectClose(grads[0], want.dh, shape.limit(), "dhidden");
    expectClose(grads[1], want.dw, shape.limit(), "dweight");
  }
}

TEST_P(Stage, Activation) {
  const Shape &shape = GetParam();
  const std::vector<int64_t> size = {shape.tokens(), shape.dim};
  const at::Tensor x = noise(size, shape.type, 1).requires_grad_();
  const at::Tensor gate = noise(size, shape.type, 2).requires_grad_();
  const at::Tensor grad = noise(size, shape.type, 3);
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (const std::string kind : {"relu2", "silu", "swiglu"}) {
    const bool gated = kind == "swiglu";
    const at::Tensor y = callTensor(
        "mlp_activation", {x, kind, gated ? c10::IValue(gate) : c10::IValue()});
    const Array rx = toReference(x), rg = toReference(gated ? gate : x),
                rdy = toReference(grad);
    Array ry(rx.shape), dx(rx.shape), dg(rx.shape);
    for (size_t i = 0; i < rx.values.size(); ++i) {
      const double v = rx.values[i], g = rg.values[i], dy = rdy.values[i];
      const double s = sigmoid(g), slope = s * (1 + g * (1 - s));
      if (kind == "relu2") {
        ry.values[i] = v > 0 ? v * v : 0;
        dx.values[i] = v > 0 ? 2 * v * dy : 0;
      } else {
        ry.values[i] = gated ? g * s * v : g * s;
        dx.values[i] = gated ? dy * g * s : dy * slope;
        dg.values[i] = dy * v * slope;
      }
    }
    expectClose(y, ry, shape.limit(), kind.c_str());
    const auto grads = gradients({y}, {grad},
                                 gated ? std::vector<at::Tensor>{x, gate}
                                       : std::vector<at::Tensor>{x});
    expectClose(grads[0], dx, shape.limit(), "dx");
    if (gated)
      expectClose(grads[1], dg, shape.limit(), "dgate");
  }
}

TEST_P(Stage, Rope) {
  const Shape &shape = GetParam();
  const at::Tensor x =
      noise({shape.tokens(), shape.keyHeads, shape.dim}, shape.type, 1)
          .requires_grad_();
  const at::Tensor grad = noise(x.sizes().vec(), shape.type, 2);
  const std::vector<int64_t> positions =
      reference::packedPositions(shape.offsets());
  for (int64_t rotated : {shape.dim, shape.dim - 6}) {
    const auto table =
        callOp("rope_table", {shape.longest(), rotated, 500.0, 2.0, 1});
    const at::Tensor y =
        callTensor("rope", {x, table[0].toTensor(), table[1].toTensor(),
                            shape.cuSeqlens(), shape.longest()});
    Array rx = toReference(x), rgrad = toReference(grad), ry(rx.shape),
          dx(rx.shape);
    reference::rope(rx, positions, 500, 2, rotated, 1, ry);
    reference::rope(rgrad, positions, 500, 2, rotated, -1, dx);
    expectClose(y, ry, shape.limit(), "y");
    expectClose(gradients({y}, {grad}, {x})[0], dx, shape.limit(), "dx");
  }
}

INSTANTIATE_TEST_SUITE_P(Everyday, Stage, testing::ValuesIn(everydayShapes()),
                         shapeName);
INSTANTIATE_TEST_SUITE_P(Full, Stage, testing::ValuesIn(fullShapes()),
                         shapeName);

// The score of a rotated pair depends on the distance only.
TEST(StageEdges, RopeScoreDependsOnOffsetOnly) {
  const auto table = callOp("rope_table", {600, 16});
  const at::Tensor q = noise({1, 1, 16}, at::kFloat, 1),
                   k = noise({1, 1, 16}, at::kFloat, 2);
  at::Tensor cu = at::zeros({2}, at::kInt);
  cu[1] = 1;
  const auto turn = [&](const at::Tensor &x, int64_t position) {
    return callTensor("rope", {x, table[0], table[1], cu, 1, position});
  };
  const auto score = [&](int64_t position) {
    return (turn(q, position + 5) * turn(k, position)).sum().item<double>();
  };
  EXPECT_NEAR(score(0), score(50), 1e-4);
  EXPECT_NEAR(score(0), score(500), 1e-4);
}

} // namespace
