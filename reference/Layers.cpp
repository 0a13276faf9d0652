// reference/Layers.cpp - RMSNorm and rotary positions, forward and backward.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "reference/Layers.h"

#include <cmath>

namespace tessera::reference {
namespace {

double inverseRms(Tensor x, int64_t row, double epsilon) {
  double sum = 0;
  for (int64_t c = 0; c < x.size(1); ++c)
    sum += x(row, c) * x(row, c);
  return 1 / std::sqrt(sum / static_cast<double>(x.size(1)) + epsilon);
}

} // namespace

void rmsNorm(Tensor x, Tensor weight, double epsilon, Tensor y) {
  for (int64_t row = 0; row < x.size(0); ++row) {
    const double r = inverseRms(x, row, epsilon);
    for (int64_t c = 0; c < x.size(1); ++c)
      y(row, c) = x(row, c) * r * weight(c);
  }
}

void rmsNormBackward(Tensor x, Tensor weight, double epsilon, Tensor dy,
                     Tensor dx, Tensor dweight) {
  for (int64_t row = 0; row < x.size(0); ++row) {
    const double r = inverseRms(x, row, epsilon);
    double dot = 0;
    for (int64_t c = 0; c < x.size(1); ++c) {
      dot += dy(row, c) * weight(c) * x(row, c);
      dweight(c) += dy(row, c) * x(row, c) * r;
    }
    const double shrink = r * r * r * dot / static_cast<double>(x.size(1));
    for (int64_t c = 0; c < x.size(1); ++c)
      dx(row, c) += r * dy(row, c) * weight(c) - shrink * x(row, c);
  }
}

void rope(Tensor x, const std::vector<int64_t> &positions, double base,
          double scale, int64_t rotaryDim, int direction, Tensor y) {
  for (int64_t t = 0; t < x.size(0); ++t)
    for (int64_t h = 0; h < x.size(1); ++h) {
      for (int64_t c = rotaryDim; c < x.size(2); ++c)
        y(t, h, c) = x(t, h, c);
      for (int64_t c = 0; c + 1 < rotaryDim; c += 2) {
        const double frequency = std::pow(
            base, -static_cast<double>(c) / static_cast<double>(rotaryDim));
        const double angle =
            direction * (static_cast<double>(positions[t]) / scale) * frequency;
        const double a = x(t, h, c), b = x(t, h, c + 1);
        y(t, h, c) = a * std::cos(angle) - b * std::sin(angle);
        y(t, h, c + 1) = a * std::sin(angle) + b * std::cos(angle);
      }
    }
}

std::vector<int64_t> packedPositions(const Offsets &cuSeqlens) {
  std::vector<int64_t> positions;
  for (std::size_t b = 0; b + 1 < cuSeqlens.size(); ++b)
    for (int64_t t = 0; t < cuSeqlens[b + 1] - cuSeqlens[b]; ++t)
      positions.push_back(t);
  return positions;
}

} // namespace tessera::reference
