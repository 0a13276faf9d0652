// reference/Compression.cpp - phi: mean and depthwise convolution over token
// blocks, with gradients.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "reference/Compression.h"

namespace tessera::reference {
namespace {

// Calls visit(compressed row, first token row) for every block.
template <typename Visit>
void forEachBlock(const Geometry &geometry, const Offsets &cuSeqlens,
                  Visit visit) {
  const Offsets cuCompressed = compressedOffsets(geometry, cuSeqlens);
  for (std::size_t b = 0; b + 1 < cuSeqlens.size(); ++b)
    for (int64_t i = 0; i < cuCompressed[b + 1] - cuCompressed[b]; ++i)
      visit(cuCompressed[b] + i, cuSeqlens[b] + i * geometry.blockStride);
}

} // namespace

void compressMean(Tensor x, const Geometry &geometry, const Offsets &cuSeqlens,
                  Tensor out) {
  forEachBlock(geometry, cuSeqlens, [&](int64_t row, int64_t token) {
    for (int64_t h = 0; h < x.size(1); ++h)
      for (int64_t c = 0; c < x.size(2); ++c) {
        double sum = 0;
        for (int64_t a = 0; a < geometry.blockLength; ++a)
          sum += x(token + a, h, c);
        out(row, h, c) = sum / static_cast<double>(geometry.blockLength);
      }
  });
}

void compressMeanBackward(Tensor dout, const Geometry &geometry,
                          const Offsets &cuSeqlens, Tensor dx) {
  forEachBlock(geometry, cuSeqlens, [&](int64_t row, int64_t token) {
    for (int64_t h = 0; h < dx.size(1); ++h)
      for (int64_t c = 0; c < dx.size(2); ++c)
        for (int64_t a = 0; a < geometry.blockLength; ++a)
          dx(token + a, h, c) +=
              dout(row, h, c) / static_cast<double>(geometry.blockLength);
  });
}

void compressConv(Tensor x, Tensor weight, const Geometry &geometry,
                  const Offsets &cuSeqlens, Tensor out) {
  forEachBlock(geometry, cuSeqlens, [&](int64_t row, int64_t token) {
    for (int64_t h = 0; h < x.size(1); ++h)
      for (int64_t c = 0; c < x.size(2); ++c) {
        double sum = 0;
        for (int64_t a = 0; a < geometry.blockLength; ++a)
          sum += weight(a, c) * x(token + a, h, c);
        out(row, h, c) = sum;
      }
  });
}

void compressConvBackward(Tensor x, Tensor weight, Tensor dout,
                          const Geometry &geometry, const Offsets &cuSeqlens,
                          Tensor dx, Tensor dweight) {
  forEachBlock(geometry, cuSeqlens, [&](int64_t row, int64_t token) {
    for (int64_t h = 0; h < x.size(1); ++h)
      for (int64_t c = 0; c < x.size(2); ++c)
        for (int64_t a = 0; a < geometry.blockLength; ++a) {
          dx(token + a, h, c) += weight(a, c) * dout(row, h, c);
          dweight(a, c) += x(token + a, h, c) * dout(row, h, c);
        }
  });
}

} // namespace tessera::reference
