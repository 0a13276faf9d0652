// reference/Compression.h - phi: mean and depthwise convolution over token
// blocks, with gradients.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/Geometry.h"

namespace tessera::reference {

// x [T, H, D] -> out [compressed rows, H, D]: the mean of each block.
void compressMean(Tensor x, const Geometry &geometry, const Offsets &cuSeqlens,
                  Tensor out);
// Adds to dx.
void compressMeanBackward(Tensor dout, const Geometry &geometry,
                          const Offsets &cuSeqlens, Tensor dx);

// weight [l, D], shared by the heads: out[i, h, c] = sum_a weight[a, c] x[i d +
// a, h, c].
void compressConv(Tensor x, Tensor weight, const Geometry &geometry,
                  const Offsets &cuSeqlens, Tensor out);
// Adds to dx and dweight.
void compressConvBackward(Tensor x, Tensor weight, Tensor dout,
                          const Geometry &geometry, const Offsets &cuSeqlens,
                          Tensor dx, Tensor dweight);

} // namespace tessera::reference
