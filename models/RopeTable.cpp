// models/RopeTable.cpp - angles of positions, in double.
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

} // namespace tessera::models
