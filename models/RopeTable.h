// models/RopeTable.h - tables of cosines and sines of rotary positions.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/Rope.h"

#include <ATen/core/Tensor.h>
#include <utility>

namespace tessera::models {

/// Returns the cosines and sines of positions first .. last-1, times
/// ropeMagnitude(): fp32 [last - first, dim / 2] each, on the CPU. Angles are
/// computed in double.
std::pair<at::Tensor, at::Tensor> ropeTable(const Rope &rope, int64_t dim,
                                            int64_t first, int64_t last);

/// Returns x [B, H, n, D] rotated to positions first, first + 1, ...
at::Tensor rotated(const at::Tensor &x, int64_t first, const Rope &rope);

} // namespace tessera::models
