// tests/numeric/Harness.cpp - ops on torch tensors against the fp64 reference.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/numeric/Harness.h"

#include "tests/helpers/TensorError.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <sstream>
#include <torch/csrc/autograd/autograd.h>

namespace tessera::numeric {

using reference::Array;

int64_t Shape::tokens() const {
  return std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
}

int64_t Shape::longest() const {
  return *std::max_element(lengths.begin(), lengths.end());
}

reference::Offsets Shape::offsets() const {
  reference::Offsets offsets{0};
  for (int64_t length : lengths)
    offsets.push_back(offsets.back() + static_cast<int32_t>(length));
  return offsets;
}

at::Tensor Shape::cuSeqlens() const {
  const reference::Offsets values = offsets();
  at::Tensor cu = at::empty({static_cast<int64_t>(values.size())}, at::kInt);
  std::copy(values.begin(), values.end(), cu.mutable_data_ptr<int32_t>());
  return cu;
}

std::ostream &operator<<(std::ostream &out, const Shape &shape) {
  if (shape.lengths.size() == 1)
    out << "T" << shape.lengths[0];
  else
    out << "Ragged" << shape.lengths.size() << "_T" << shape.tokens();
  return out << "_K" << shape.keyHeads << "_G" << shape.group << "_D"
             << shape.dim << "_E" << shape.valueDim << '_' << shape.type;
}

std::string shapeName(const testing::TestParamInfo<Shape> &info) {
  std::ostringstream out;
  out << info.param;
  return out.str();
}

std::vector<int64_t> borderLengths() {
  return {1, 15, 31, 32, 47, 48, 63, 64, 65, 111};
}

std::vector<Shape> everydayShapes() {
  std::vector<Shape> shapes;
  for (int64_t length : borderLengths())
    shapes.push_back({{length}});
  for (int64_t length : {1024, 2047, 2048})
    shapes.push_back({{length}, 1});
  const std::vector<int64_t> ragged{48, 0, 5, 111, 1, 31, 0};
  shapes.push_back({ragged});
  shapes.push_back({ragged, 1, 1, 80, 80});
  shapes.push_back({ragged, 1, 6, 64, 64});
  shapes.push_back({ragged, 1, 16, 48, 32});
  shapes.push_back({ragged, 1, 8, 96, 96});
  shapes.push_back({ragged, 2, 4, 32, 32});
  shapes.push_back({ragged, 1, 7, 16, 16});
  // A token has more heads than a tile has rows by default.
  shapes.push_back({ragged, 1, 48, 16, 16});
  shapes.push_back({{65}, 1, 1, 128, 128});
  shapes.push_back({{65}, 2, 4, 192, 128});
  shapes.push_back({{65}, 1, 4, 256, 256});
  for (at::ScalarType type : {at::kBFloat16, at::kHalf})
    shapes.push_back({ragged, 2, 2, 64, 64, type});
  return shapes;
}

std::vector<Shape> fullShapes() {
  std::vector<Shape> shapes;
  for (at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf})
    for (int64_t group : {1, 2, 4, 6, 8, 16})
      for (auto [dim, valueDim] : {std::pair<int64_t, int64_t>{16, 16},
                                   {32, 32},
                                   {48, 48},
                                   {64, 64},
                                   {80, 80},
                                   {96, 96},
                                   {128, 128},
                                   {192, 128},
                                   {256, 256}})
        for (const std::vector<int64_t> &lengths :
             {std::vector<int64_t>{65}, {48, 0, 5, 111, 1, 31, 0}, {111}})
          shapes.push_back({lengths, 1, group, dim, valueDim, type});
  return shapes;
}

at::Tensor noise(std::vector<int64_t> sizes, at::ScalarType type,
                 uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  at::Tensor values = at::empty(sizes, at::kDouble);
  double *data = values.mutable_data_ptr<double>();
  for (int64_t i = 0; i < values.numel(); ++i)
    data[i] = normal(engine);
  return values.to(type);
}

Array toReference(const at::Tensor &tensor) {
  const at::Tensor values = tensor.detach().to(at::kDouble).contiguous();
  Array array(values.sizes().vec());
  std::copy_n(values.const_data_ptr<double>(), values.numel(),
              array.values.begin());
  return array;
}

reference::IndexArray toIndices(const at::Tensor &tensor) {
  const at::Tensor values = tensor.contiguous();
  reference::IndexArray array(values.sizes().vec());
  std::copy_n(values.const_data_ptr<int32_t>(), values.numel(),
              array.values.begin());
  return array;
}

std::vector<c10::IValue> callOp(const std::string &name,
                                std::vector<c10::IValue> arguments) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(
      ("tessera::" + name).c_str(), "");
  const auto &expected = op.schema().arguments();
  for (size_t i = arguments.size(); i < expected.size(); ++i)
    arguments.push_back(expected[i].default_value().value());
  op.callBoxed(&arguments);
  return arguments;
}

at::Tensor callTensor(const std::string &name,
                      std::vector<c10::IValue> arguments) {
  return callOp(name, std::move(arguments))[0].toTensor();
}

void expectClose(const at::Tensor &got, const Array &want, double limit,
                 const char *what, double floor) {
  ASSERT_EQ(got.sizes().vec(), want.shape) << what;
  const Array values = toReference(got);
  for (size_t i = 0; i < want.values.size(); ++i)
    if (std::isfinite(want.values[i]))
      ASSERT_TRUE(std::isfinite(values.values[i])) << what << " at " << i;
    else
      ASSERT_EQ(values.values[i], want.values[i]) << what << " at " << i;
  if (std::none_of(want.values.begin(), want.values.end(),
                   [](double value) { return std::isfinite(value); }))
    return;
  const TensorError error = tensorError(
      int64_t(want.values.size()), want.shape.empty() ? 1 : want.shape.back(),
      [&](int64_t i) { return values.values[size_t(i)]; },
      [&](int64_t i) { return want.values[size_t(i)]; }, limit, floor);
  // If all of it is 0 and no floor is given, every element must be 0.
  const bool zero =
      floor == 0 && rmsOf(0, int64_t(want.values.size()), [&](int64_t i) {
                      return want.values[size_t(i)];
                    }) == 0;
  EXPECT_LE(error.rms, zero ? 0 : limit) << what;
  if (error.first >= 0)
    ADD_FAILURE() << what << ": " << error.outliers << " elements of "
                  << want.values.size()
                  << " are off by more than rounding, the first at "
                  << error.first << ": " << values.values[size_t(error.first)]
                  << " instead of " << want.values[size_t(error.first)];
  std::string key = what;
  std::replace(key.begin(), key.end(), ' ', '_');
  std::ostringstream ratio;
  ratio << error.rms;
  testing::Test::RecordProperty(key, ratio.str());
}

std::vector<at::Tensor> gradients(const std::vector<at::Tensor> &outputs,
                                  const std::vector<at::Tensor> &weights,
                                  const std::vector<at::Tensor> &inputs) {
  return torch::autograd::grad(outputs, inputs, weights);
}

void checkAttention(const Shape &shape, const std::string &op,
                    const std::vector<c10::IValue> &extra,
                    const reference::KeysOf &keys, int64_t keyRows) {
  const int64_t tokens = shape.tokens(), heads = shape.queryHeads();
  const at::Tensor q =
      noise({tokens, heads, shape.dim}, shape.type, 1).requires_grad_();
  const at::Tensor k =
      noise({keyRows, shape.keyHeads, shape.dim}, shape.type, 2)
          .requires_grad_();
  const at::Tensor v =
      noise({keyRows, shape.keyHeads, shape.valueDim}, shape.type, 3)
          .requires_grad_();
  std::vector<c10::IValue> arguments{q, k, v};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  const std::vector<c10::IValue> outputs = callOp(op, arguments);
  const at::Tensor o = outputs[0].toTensor(), lse = outputs[1].toTensor();
  ASSERT_EQ(o.scalar_type(), shape.type);

  Array rq = toReference(q), rk = toReference(k), rv = toReference(v);
  Array ro({tokens, heads, shape.valueDim}), rlse({heads, tokens});
  const double scale = 1 / std::sqrt(static_cast<double>(shape.dim));
  reference::attention(rq, rk, rv, keys, scale, ro, rlse);
  expectClose(o, ro, shape.limit(), "o", gradientFloor);
  expectClose(lse, rlse, shape.limit(), "lse", gradientFloor);

  const at::Tensor gradO = noise(o.sizes().vec(), shape.type, 4);
  const at::Tensor gradLse = noise(lse.sizes().vec(), at::kFloat, 5);
  const std::vector<at::Tensor> grads =
      gradients({o, lse}, {gradO, gradLse}, {q, k, v});
  Array rgo = toReference(gradO), rgl = toReference(gradLse);
  Array dq(rq.shape), dk(rk.shape), dv(rv.shape);
  // The backward pass reads the output as it is stored: of a token with few
  // keys, its rounding is the largest part of the error of dq.
  Array stored = toReference(o);
  reference::attentionBackward(rq, rk, rv, keys, scale, stored, rlse, rgo, rgl,
                               dq, dk, dv);
  expectClose(grads[0], dq, shape.limit(), "dq", gradientFloor);
  expectClose(grads[1], dk, shape.limit(), "dk", gradientFloor);
  expectClose(grads[2], dv, shape.limit(), "dv", gradientFloor);
}

} // namespace tessera::numeric
