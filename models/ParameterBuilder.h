// models/ParameterBuilder.h - draws the initial values of a model's parameters.
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
  /// Row counts of the matrices stacked in it; empty: a single matrix.
  std::vector<int64_t> stacked = {};
};

/// Returns the standard deviation of the weights of a matrix with `inputs`
/// inputs: the output keeps about half of the size of unit inputs.
inline double spreadOf(int64_t inputs) {
  return 0.5 / std::sqrt(double(inputs));
}

/// Creates the parameters in a fixed order with one random generator.
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
  /// Creates stacked matrices with these numbers of rows.
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
