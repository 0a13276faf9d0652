// tests/numeric/Harness.h - ops on torch tensors against the fp64 reference.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/Attention.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace tessera::numeric {

// One problem: packed sequences, heads and sizes.
struct Shape {
  std::vector<int64_t> lengths;
  int64_t keyHeads = 2;
  int64_t group = 2;
  int64_t dim = 16;
  int64_t valueDim = 16;
  at::ScalarType type = at::kFloat;

  int64_t tokens() const;
  int64_t longest() const;
  int64_t queryHeads() const { return keyHeads * group; }
  reference::Offsets offsets() const;
  at::Tensor cuSeqlens() const;
  double limit() const { return type == at::kFloat ? 1e-5 : 5e-3; }
};

std::ostream &operator<<(std::ostream &out, const Shape &shape);
// For INSTANTIATE_TEST_SUITE_P: "T48_K2_G4_D64_E64_Float".
std::string shapeName(const testing::TestParamInfo<Shape> &info);

// Shapes of the everyday run, and the product of all for the label `full`.
std::vector<Shape> everydayShapes();
std::vector<Shape> fullShapes();

// The small sequence lengths that are equal or next to tile and block borders.
std::vector<int64_t> borderLengths();

// Standard normal values rounded to the type.
at::Tensor noise(std::vector<int64_t> sizes, at::ScalarType type,
                 uint64_t seed);

// Exact conversion to doubles.
reference::Array toReference(const at::Tensor &tensor);
reference::IndexArray toIndices(const at::Tensor &tensor);

// Calls tessera::NAME; defaults fill what is left out at the end.
std::vector<c10::IValue> callOp(const std::string &name,
                                std::vector<c10::IValue> arguments);
at::Tensor callTensor(const std::string &name,
                      std::vector<c10::IValue> arguments);

// Compares the root mean square of the difference over that of want with the
// limit, and each element (support/Outliers.h); infinite entries must agree.
// floor is the least size that counts as the size of want, for gradients that
// are zero by cancellation.
void expectClose(const at::Tensor &got, const reference::Array &want,
                 double limit, const char *what, double floor = 0);
inline constexpr double gradientFloor = 1e-2;

// Gradients of sum(outputs[i] * weights[i]) with respect to the inputs.
std::vector<at::Tensor> gradients(const std::vector<at::Tensor> &outputs,
                                  const std::vector<at::Tensor> &weights,
                                  const std::vector<at::Tensor> &inputs);

// Runs an attention op and compares o, lse, dq, dk and dv. extra are the op's
// arguments after q, k, v.
void checkAttention(const Shape &shape, const std::string &op,
                    const std::vector<c10::IValue> &extra,
                    const reference::KeysOf &keys, int64_t keyRows);

} // namespace tessera::numeric
