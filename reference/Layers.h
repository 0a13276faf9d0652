// reference/Layers.h - RMSNorm and rotary positions, forward and backward.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/Tensor.h"

namespace tessera::reference {

// x, y [N, D], weight [D]: y = x * weight / sqrt(mean(x^2) + epsilon).
void rmsNorm(Tensor x, Tensor weight, double epsilon, Tensor y);
// Adds to dx and dweight.
void rmsNormBackward(Tensor x, Tensor weight, double epsilon, Tensor dy,
                     Tensor dx, Tensor dweight);

// Rotates the pairs (2i, 2i+1), i < rotaryDim/2, of every head of x [T, H, D]
// by position/scale * base^(-2i/rotaryDim); later channels are copied.
// positions has T entries. direction is 1, or -1 for the inverse, which is the
// backward.
void rope(Tensor x, const std::vector<int64_t> &positions, double base,
          double scale, int64_t rotaryDim, int direction, Tensor y);

// Position of every packed row within its sequence.
std::vector<int64_t> packedPositions(const Offsets &cuSeqlens);

} // namespace tessera::reference
