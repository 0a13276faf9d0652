// dialect/layout/SharedLayouts.cpp - row-major, swizzled and core-matrix order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/SharedLayouts.h"

#include <algorithm>

namespace tessera::layout {

static std::vector<int> fastestFirst(const std::vector<int64_t> &shape,
                                     std::vector<int> order) {
  const int rank = static_cast<int>(shape.size());
  if (order.empty())
    for (int axis = rank - 1; axis >= 0; --axis)
      order.push_back(axis);
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < rank || i < static_cast<int>(sorted.size()); ++i)
    if (static_cast<int>(sorted.size()) != rank || sorted[i] != i)
      throw LayoutError("the order of a shared layout names every axis once");
  return order;
}

static std::vector<Dim> axes(size_t rank) {
  std::vector<Dim> dims;
  for (size_t axis = 0; axis < rank; ++axis)
    dims.push_back(tileDim(static_cast<int>(axis)));
  return dims;
}

LinearLayout rowMajorShared(const std::vector<int64_t> &shape,
                            std::vector<int> order) {
  return swizzledShared(shape, Swizzle{}, std::move(order));
}

LinearLayout swizzledShared(const std::vector<int64_t> &shape,
                            const Swizzle &swizzle, std::vector<int> order) {
  order = fastestFirst(shape, std::move(order));
  log2Exact(swizzle.vec, "vec");
  log2Exact(swizzle.perPhase, "per_phase");
  log2Exact(swizzle.maxPhase, "max_phase");
  const std::vector<Dim> dims = axes(shape.size());
  LinearLayout plain = emptyDims({Dim::Offset}, dims);
  for (int axis : order)
    plain *= identity(shape[axis], Dim::Offset, tileDim(axis));
  if (order.size() < 2)
    return plain;
  const Dim row = tileDim(order[1]), column = tileDim(order[0]);
  const int64_t columns = shape[order[0]];
  // The map goes from offset to element, so the basis of a row bit also has the
  // column bits into which the swizzle XORs it.
  std::vector<Word> bases = plain.columns();
  const int start = plain.outBits(column);
  for (int bit = 0; bit < plain.outBits(row); ++bit) {
    const int64_t r = int64_t(1) << bit;
    const int64_t phase = r / swizzle.perPhase % swizzle.maxPhase;
    const Word moved = static_cast<Word>(swizzle.vec * phase % columns);
    bases[start + bit] ^= moved << plain.outStart(column);
  }
  return {plain.ins(), plain.outs(), bases};
}

Swizzle operandSwizzle(int64_t columns, int elementBits) {
  Swizzle swizzle;
  swizzle.vec = std::max<int64_t>(128 / elementBits, 1);
  swizzle.perPhase = std::max<int64_t>(1024 / (elementBits * columns), 1);
  // A phase of ldmatrix has 8 rows; a row has columns / vec vectors to permute.
  swizzle.maxPhase = std::max<int64_t>(8 / swizzle.perPhase, 1);
  swizzle.maxPhase =
      std::min(swizzle.maxPhase, std::max<int64_t>(columns / swizzle.vec, 1));
  return swizzle;
}

LinearLayout coreShared(const std::vector<int64_t> &shape, int bytes,
                        int elementBits) {
  if (shape.size() != 2)
    throw LayoutError("core matrices are defined for two axes");
  if (bytes != 0 && bytes != 32 && bytes != 64 && bytes != 128)
    throw LayoutError("cores of " + std::to_string(bytes) + " bytes",
                      "the widths are 0 (no swizzle), 32, 64 and 128");
  const int64_t vec = 128 / elementBits;
  const int64_t width = std::max(bytes, 16) * 8 / elementBits;
  if (shape[0] < 8 || shape[1] < width)
    throw LayoutError("a tile smaller than a core of 8 x " +
                      std::to_string(width) + " elements");
  const int64_t maxPhase = std::max(bytes / 16, 1);
  const LinearLayout core =
      swizzledShared({8, width}, {vec, 8 / maxPhase, maxPhase});
  return core * identity(shape[0] / 8, Dim::Offset, Dim::Dim0) *
         identity(shape[1] / width, Dim::Offset, Dim::Dim1);
}

} // namespace tessera::layout
