// models/ParameterBuilder.h - draws the first values of a model's parameters.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace tessera::models {

struct Parameter {
  std::string name;
  at::Tensor value;
  /// Rows of the matrices that lie in it one below the other; empty: it is one.
  std::vector<int64_t> stacked = {};
};

/// Standard deviation of the weights of a matrix with so many inputs: inputs of
/// unit size keep about half of it.
inline double spreadOf(int64_t inputs) {
  return 0.5 / std::sqrt(double(inputs));
}

/// Makes the parameters in order, from one generator.
class ParameterBuilder {
public:
  ParameterBuilder(std::vector<Parameter> &all, uint64_t seed,
                   at::Device device)
      : all(all), generator(at::detail::createCPUGenerator(seed)),
        device(device) {}

  at::Tensor normal(const std::string &name, at::IntArrayRef shape,
                    double deviation) {
    return add(name, at::randn(shape, generator) * deviation);
  }
  /// Matrices of so many rows, one below the other.
  at::Tensor normal(const std::string &name, std::vector<int64_t> rows,
                    int64_t columns, double deviation) {
    const int64_t sum = std::accumulate(rows.begin(), rows.end(), int64_t(0));
    const at::Tensor value = normal(name, {sum, columns}, deviation);
    all.back().stacked = std::move(rows);
    return value;
  }
  at::Tensor constant(const std::string &name, at::IntArrayRef shape,
                      double value) {
    return add(name, at::full(shape, value, at::kFloat));
  }

private:
  at::Tensor add(const std::string &name, const at::Tensor &drawn) {
    at::Tensor value = drawn.to(device);
    value.set_requires_grad(true);
    all.push_back({name, value});
    return value;
  }

  std::vector<Parameter> &all;
  at::Generator generator;
  at::Device device;
};

} // namespace tessera::models
