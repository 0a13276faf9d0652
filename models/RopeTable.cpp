// models/RopeTable.cpp - computes tables of cosines and sines in fp64, and
// rotates heads by them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/RopeTable.h"

#include <ATen/ATen.h>

namespace tessera::models {

std::pair<at::Tensor, at::Tensor> ropeTable(const Rope &rope, int64_t dim,
                                            int64_t first, int64_t last) {
  const at::Tensor angle = at::arange(first, last, at::kDouble).unsqueeze(1) *
                           at::tensor(ropeFrequencies(rope, dim), at::kDouble);
  const double magnitude = ropeMagnitude(rope);
  return {(angle.cos() * magnitude).to(at::kFloat),
          (angle.sin() * magnitude).to(at::kFloat)};
}

at::Tensor rotated(const at::Tensor &x, int64_t first, const Rope &rope) {
  const int64_t dim = x.size(3);
  const auto [cosine, sine] = ropeTable(rope, dim, first, first + x.size(2));
  const at::Tensor pairs = x.unflatten(3, {dim / 2, 2});
  const at::Tensor even = pairs.select(-1, 0), odd = pairs.select(-1, 1);
  return at::stack({even * cosine - odd * sine, even * sine + odd * cosine}, -1)
      .flatten(3);
}

} // namespace tessera::models
