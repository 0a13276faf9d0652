// dialect/layout/RegisterLayouts.cpp - blocked layouts and mma fragments.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "dialect/layout/RegisterLayouts.h"

#include "dialect/layout/ShapeOps.h"

#include <algorithm>
#include <numeric>

namespace tessera::layout {

static LinearLayout empty(size_t rank) {
  std::vector<Dim> outs;
  for (size_t axis = 0; axis < rank; ++axis)
    outs.push_back(tileDim(static_cast<int>(axis)));
  return emptyDims({Dim::Register, Dim::Lane, Dim::Warp}, outs);
}

static std::string text(const std::vector<int64_t> &list) {
  std::string result;
  for (int64_t value : list)
    result += (result.empty() ? "" : "x") + std::to_string(value);
  return result;
}

static void expectRank(const std::vector<int64_t> &list, size_t rank,
                       const char *what) {
  if (list.size() != rank)
    throw LayoutError(std::string(what) + " " + text(list) + " for a tile of " +
                      std::to_string(rank) + " axes");
}

// Returns `tile` restricted to a shape: coordinate bits outside become 0.
static LinearLayout clip(const LinearLayout &tile,
                         const std::vector<int64_t> &shape) {
  Extents outs = tileExtents(shape);
  for (size_t axis = 0; axis < outs.size(); ++axis)
    outs[axis].bits = std::min(outs[axis].bits, tile.outs()[axis].bits);
  std::vector<Word> columns;
  for (Word column : tile.columns()) {
    const auto coordinates = tile.outCoordinates(column);
    Word clipped = 0;
    int start = 0;
    for (size_t axis = 0; axis < outs.size(); ++axis) {
      if (coordinates[axis] < int64_t(1) << outs[axis].bits)
        clipped |= static_cast<Word>(coordinates[axis]) << start;
      start += outs[axis].bits;
    }
    columns.push_back(clipped);
  }
  return {tile.ins(), outs, columns};
}

// Returns `tile` repeated in registers until it has the shape, along the axes
// of `order` one after the other.
static LinearLayout cover(const LinearLayout &tile,
                          const std::vector<int64_t> &shape,
                          const std::vector<int> &order) {
  LinearLayout result = clip(tile, shape);
  for (int axis : order)
    result *= identity(shape[axis] / result.outSize(tileDim(axis)),
                       Dim::Register, tileDim(axis));
  return result;
}

std::vector<int> lastFirst(size_t rank) {
  std::vector<int> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

LinearLayout blocked(const std::vector<int64_t> &shape, const Blocked &how) {
  const size_t rank = shape.size();
  tileExtents(shape); // powers of two
  expectRank(how.perThread, rank, "per thread");
  expectRank(how.lanes, rank, "lanes");
  expectRank(how.warps, rank, "warps");
  const std::vector<int> order =
      how.order.empty() ? lastFirst(rank) : how.order;
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size() || i < rank; ++i)
    if (sorted.size() != rank || sorted[i] != static_cast<int>(i))
      throw LayoutError("the order of a blocked layout names every axis once");
  int64_t lanes = 1;
  for (int64_t n : how.lanes)
    lanes *= n;
  if (lanes != lanesPerWarp)
    throw LayoutError("lanes " + text(how.lanes) + " are " +
                          std::to_string(lanes) + " in all",
                      "a warp has 32 lanes");
  LinearLayout tile = empty(rank);
  for (int axis : order)
    tile *= identity(how.perThread[axis], Dim::Register, tileDim(axis));
  for (int axis : order)
    tile *= identity(how.lanes[axis], Dim::Lane, tileDim(axis));
  for (int axis : order)
    tile *= identity(how.warps[axis], Dim::Warp, tileDim(axis));
  return dropReplication(cover(tile, shape, order));
}

int64_t naturalKWidth(int elementBits) {
  return std::max(1, 32 / std::max(elementBits, 1));
}

// Returns the layout of one matrix of the instruction: 8 lanes along `rows` and
// 4 along `cols`; a lane holds `width` consecutive elements along `cols`.
static LinearLayout quads(size_t rank, Dim rows, Dim cols, int64_t width) {
  return empty(rank) * identity(width, Dim::Register, cols) *
         identity(4, Dim::Lane, cols) * identity(8, Dim::Lane, rows);
}

static void checkTile(const std::vector<int64_t> &shape, const MmaTile &tile) {
  tileExtents(shape);
  if (shape.size() < 2)
    throw LayoutError("a matrix has at least two axes, not " +
                      std::to_string(shape.size()));
  expectRank(tile.warps, shape.size(), "warps");
  if (tile.m != 16 && tile.m != 8)
    throw LayoutError("mma with " + std::to_string(tile.m) + " rows",
                      "instructions are m16n8, and m8n8 for f64");
}

// Distributes `layout` over warps, along N first, then M, then the outer axes.
// An operand does not have the axis `without`: warps along it hold replicas.
static LinearLayout spread(LinearLayout layout, const MmaTile &tile,
                           int without) {
  for (int axis : lastFirst(tile.warps.size()))
    layout *= axis == without
                  ? zeros(tile.warps[axis], Dim::Warp, tileDim(axis))
                  : identity(tile.warps[axis], Dim::Warp, tileDim(axis));
  return layout;
}

LinearLayout mmaAccumulator(const std::vector<int64_t> &shape,
                            const MmaTile &tile) {
  checkTile(shape, tile);
  const int rank = static_cast<int>(shape.size());
  const Dim m = tileDim(rank - 2), n = tileDim(rank - 1);
  LinearLayout layout =
      quads(rank, m, n, 2) * identity(tile.m / 8, Dim::Register, m);
  return cover(spread(layout, tile, -1), shape, lastFirst(rank));
}

LinearLayout mmaOperandA(const std::vector<int64_t> &shape, const MmaTile &tile,
                         int64_t kWidth) {
  checkTile(shape, tile);
  const int rank = static_cast<int>(shape.size());
  const Dim m = tileDim(rank - 2), k = tileDim(rank - 1);
  LinearLayout layout = quads(rank, m, k, kWidth) *
                        identity(tile.m / 8, Dim::Register, m) *
                        identity(tile.m / 8, Dim::Register, k);
  return cover(spread(layout, tile, rank - 1), shape, lastFirst(rank));
}

LinearLayout mmaOperandB(const std::vector<int64_t> &shape, const MmaTile &tile,
                         int64_t kWidth) {
  checkTile(shape, tile);
  const int rank = static_cast<int>(shape.size());
  const Dim k = tileDim(rank - 2), n = tileDim(rank - 1);
  LinearLayout layout =
      quads(rank, n, k, kWidth) * identity(tile.m / 8, Dim::Register, k);
  layout = spread(layout, tile, rank - 2);
  // The registers of one instruction are consecutive, and those of the next 8
  // columns follow. Then one ldmatrix reads 16 columns of the same 16 elements
  // of K. If it read 32 elements of K, half of them would occupy registers
  // until the next step.
  if (tile.m == 16 && layout.outSize(n) < shape[rank - 1])
    layout *= identity(2, Dim::Register, n);
  std::vector<int> order = lastFirst(rank);
  std::swap(order[0], order[1]);
  return cover(layout, shape, order);
}

LinearLayout wgmmaAccumulator(const std::vector<int64_t> &shape,
                              const std::vector<int64_t> &warps, int64_t n) {
  tileExtents(shape);
  expectRank(shape, 2, "shape");
  expectRank(warps, 2, "warps");
  if (warps[0] % 4)
    throw LayoutError("wgmma by " + std::to_string(warps[0]) + " warps along M",
                      "an instruction is one group of four warps");
  LinearLayout layout = quads(2, Dim::Dim0, Dim::Dim1, 2) *
                        identity(2, Dim::Register, Dim::Dim0) *
                        identity(n / 8, Dim::Register, Dim::Dim1) *
                        identity(warps[0], Dim::Warp, Dim::Dim0) *
                        identity(warps[1], Dim::Warp, Dim::Dim1);
  return cover(layout, shape, {1, 0});
}

} // namespace tessera::layout
