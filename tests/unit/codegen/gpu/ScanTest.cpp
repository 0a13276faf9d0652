// tests/unit/codegen/gpu/ScanTest.cpp - scans, sorts, gathers, histograms on
// sim against plain loops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/gpu/GpuKernel.h"
#include "tests/unit/codegen/gpu/GpuTiles.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace tessera;
using layout::LinearLayout;

namespace {

// All kinds of one direction in one kernel; results of every thread's replicas
// are those of its layout, so that a wrong replica would race.
void checkScans(const TileLayout &tile, int axis, const Element &type,
                bool reverse) {
  SCOPED_TRACE(tile.name + ", axis " + std::to_string(axis) + ", " + type.name +
               (reverse ? ", reverse" : ""));
  const std::vector<std::string> kinds = {"sum", "prod", "max", "min"};
  std::string t = type.name, tensor = tileType(tile.map, t);
  std::string text = "func.func @k(%x: !tile.ptr<" + t + ">";
  for (const std::string &kind : kinds)
    text += ", %" + kind + "o: !tile.ptr<" + t + ">";
  text += ") {\n" + loadTile("v", "x", tile.map, t);
  for (const std::string &kind : kinds)
    text += "%" + kind + " = tile.scan " + kind + " %v, " +
            std::to_string(axis) + (reverse ? " reverse" : "") + " : " +
            tensor + "\n" + storeTile(kind, kind + "o", tile.map, t);
  GpuKernel kernel(text + "return\n}\n", laidOut(tile.warps()));
  std::vector<uint8_t> x = drawIntegers(type, tile.size(), 1, false, 7);
  // Few elements of a row other than 1 and -1, else products are 0.
  for (int64_t i = 0; i < tile.size(); ++i)
    if (type.get(x, i) == 0)
      type.put(x, i, i % 23 ? 1 : 2 * (i % 2));
  std::vector<std::vector<uint8_t>> outputs(kinds.size(),
                                            std::vector<uint8_t>(x.size()));
  std::vector<GpuArg> args = {x};
  for (auto &output : outputs)
    args.push_back(output);
  kernel.run({1}, args);
  for (size_t k = 0; k < kinds.size(); ++k)
    forRows<size_t>(tile.shape(), axis, [&](int64_t, std::vector<size_t> row) {
      if (reverse)
        std::reverse(row.begin(), row.end());
      double so = type.get(x, int64_t(row[0]));
      for (size_t i = 0; i < row.size(); ++i) {
        double next = type.get(x, int64_t(row[i]));
        if (i)
          so = k == 0   ? so + next
               : k == 1 ? so * next
               : k == 2 ? std::max(so, next)
                        : std::min(so, next);
        if (!type.isFloat && type.bytes < 4) // wraps
          so = type.bytes == 1 ? double(int8_t(int64_t(so)))
                               : double(int16_t(int64_t(so)));
        ASSERT_EQ(type.get(outputs[k], int64_t(row[i])), so)
            << kinds[k] << " at " << i;
      }
    });
}

TEST(GpuScan, EveryKindInEveryLayout) {
  size_t turn = 0;
  for (const TileLayout &tile : allLayouts())
    for (int axis = 0; axis < layout::rankOfTile(tile.map); ++axis) {
      ++turn;
      checkScans(tile, axis, elements()[turn % 8], turn / 8 % 2);
      checkScans(tile, axis, elements()[turn % 2], turn % 2);
    }
}

TEST(GpuScan, RegionsInOrder) {
  size_t turn = 0;
  for (const TileLayout &tile : allLayouts())
    for (int axis = 0; axis < layout::rankOfTile(tile.map); ++axis) {
      bool reverse = ++turn % 2;
      SCOPED_TRACE(tile.name + " " + std::to_string(axis));
      std::string in = tileType(tile.map, "i32");
      GpuKernel kernel(
          "func.func @k(%x: !tile.ptr<i32>, %y: !tile.ptr<i32>, %o: "
          "!tile.ptr<i32>, %q: !tile.ptr<i32>) {\n" +
              loadTile("v", "x", tile.map, "i32") +
              loadTile("w", "y", tile.map, "i32") +
              "%r:2 = tile.scan_by %v, %w axis " + std::to_string(axis) +
              (reverse ? " reverse" : "") + " : " + in + ", " + in + " -> " +
              in + ", " + in + R"( {
  ^bb0(%a: i32, %b: i32, %c: i32, %d: i32):
    %e = arith.muli %a, %c : i32
    %f = arith.muli %c, %b : i32
    %g = arith.addi %f, %d : i32
    tile.yield %e, %g : i32, i32
  }
)" + storeTile("r#0", "o", tile.map, "i32") +
              storeTile("r#1", "q", tile.map, "i32") + "return\n}\n",
          laidOut(tile.warps()));
      std::vector<int32_t> x(size_t(tile.size())), y(x.size()), o(x.size()),
          q(x.size());
      std::mt19937 random(9);
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = int32_t(random());
        y[i] = int32_t(random());
      }
      kernel.run({1}, {x, y, o, q});
      forRows<size_t>(tile.shape(), axis,
                      [&](int64_t, std::vector<size_t> row) {
                        if (reverse)
                          std::reverse(row.begin(), row.end());
                        uint32_t a = 1, b = 0;
                        for (size_t place : row) {
                          a *= uint32_t(x[place]);
                          b = uint32_t(x[place]) * b + uint32_t(y[place]);
                          ASSERT_EQ(uint32_t(o[place]), a);
                          ASSERT_EQ(uint32_t(q[place]), b);
                        }
                      });
    }
}

void checkSort(const TileLayout &tile, const Element &type, bool descending,
               bool isUnsigned) {
  SCOPED_TRACE(tile.name + ", " + type.name + (descending ? ", falling" : "") +
               (isUnsigned ? ", unsigned" : ""));
  std::string t = type.name, tensor = tileType(tile.map, t);
  GpuKernel kernel("func.func @k(%x: !tile.ptr<" + t + ">, %o: !tile.ptr<" + t +
                       ">) {\n" + loadTile("v", "x", tile.map, t) +
                       "%s = tile.sort %v" + (descending ? " descending" : "") +
                       (isUnsigned ? " {isUnsigned}" : "") + " : " + tensor +
                       "\n" + storeTile("s", "o", tile.map, t) + "return\n}\n",
                   laidOut(tile.warps()));
  std::vector<uint8_t> x = drawIntegers(type, tile.size(), 60, false, 3),
                       o(x.size());
  kernel.run({1}, {x, o});
  int axis = layout::rankOfTile(tile.map) - 1;
  forRows<size_t>(
      tile.shape(), axis, [&](int64_t, const std::vector<size_t> &row) {
        std::vector<double> expected;
        for (size_t place : row)
          expected.push_back(type.get(x, int64_t(place)));
        std::sort(expected.begin(), expected.end(), [&](double a, double b) {
          if (isUnsigned && (a < 0) != (b < 0))
            return b < 0; // what is negative is large
          return a < b;
        });
        if (descending)
          std::reverse(expected.begin(), expected.end());
        for (size_t i = 0; i < row.size(); ++i)
          ASSERT_EQ(type.get(o, int64_t(row[i])), expected[i]) << "place " << i;
      });
}

TEST(GpuSort, EveryLayout) {
  size_t turn = 0;
  for (const TileLayout &tile : allLayouts()) {
    if (tile.size() > 512)
      continue; // long rows make long code
    const Element &type = elements()[turn % 8];
    checkSort(tile, type, turn % 2, !type.isFloat && turn % 3 == 0);
    checkSort(tile, elements()[0], turn++ % 2 == 0, false);
  }
}

TEST(GpuGather, EveryLayout) {
  std::vector<TileLayout> layouts = allLayouts();
  size_t turn = 0;
  for (const TileLayout &tile : layouts)
    for (int axis = 0; axis < layout::rankOfTile(tile.map); ++axis) {
      SCOPED_TRACE(tile.name + " " + std::to_string(axis));
      const Element &type = elements()[turn++ % 8];
      // Half as many indices as elements, in a layout of their own.
      std::vector<int64_t> shape = tile.shape();
      int64_t length = shape[size_t(axis)];
      shape[size_t(axis)] = std::max<int64_t>(length / 2, 1);
      layout::Blocked how;
      how.perThread.assign(shape.size(), 1);
      how.lanes.assign(shape.size(), 1);
      how.warps.assign(shape.size(), 1);
      how.lanes[size_t(axis)] = 32;
      how.warps[0] = tile.warps();
      LinearLayout indices = layout::blocked(shape, how);
      std::string t = type.name;
      GpuKernel kernel(
          "func.func @k(%x: !tile.ptr<" + t +
              ">, %i: !tile.ptr<i32>, %o: !tile.ptr<" + t + ">) {\n" +
              loadTile("v", "x", tile.map, t) +
              loadTile("w", "i", indices, "i32") + "%g = tile.gather %v, %w, " +
              std::to_string(axis) + " : " + tileType(tile.map, t) + ", " +
              tileType(indices, "i32") + " -> " + tileType(indices, t) + "\n" +
              storeTile("g", "o", indices, t) + "return\n}\n",
          laidOut(tile.warps()));
      std::vector<uint8_t> x = drawIntegers(type, tile.size(), 100, false, 5);
      int64_t n = int64_t(1) << indices.outBits();
      std::vector<uint8_t> o(size_t(n * type.bytes));
      std::vector<int32_t> at(static_cast<size_t>(n));
      std::mt19937 random(2);
      for (int32_t &index : at)
        index = int32_t(random() % uint64_t(length));
      kernel.run({1}, {x, at, o});
      std::vector<std::vector<size_t>> sources;
      forRows<size_t>(tile.shape(), axis,
                      [&](int64_t, const std::vector<size_t> &row) {
                        sources.push_back(row);
                      });
      size_t row = 0;
      forRows<size_t>(
          shape, axis, [&](int64_t, const std::vector<size_t> &places) {
            for (size_t place : places)
              ASSERT_EQ(type.get(o, int64_t(place)),
                        type.get(x, int64_t(sources[row][size_t(at[place])])));
            ++row;
          });
    }
}

TEST(GpuHistogram, EveryLayout) {
  for (const TileLayout &tile : allLayouts())
    for (int64_t bins : {8, 256}) {
      if (layout::rankOfTile(tile.map) != 1)
        continue;
      for (bool masked : {false, true}) {
        SCOPED_TRACE(tile.name + " " + std::to_string(bins));
        LinearLayout counts =
            layout::blocked({bins}, {{2}, {32}, {tile.warps()}, {}});
        std::string in = tileType(tile.map, "i32");
        std::string mask = tileType(tile.map, "i1");
        GpuKernel kernel(
            "func.func @k(%x: !tile.ptr<i32>, %m: !tile.ptr<i1>, %o: "
            "!tile.ptr<i32>) {\n" +
                loadTile("v", "x", tile.map, "i32") +
                loadTile("u", "m", tile.map, "i1") + "%h = tile.histogram %v " +
                (masked ? "mask %u : " + in + ", " + mask : ": " + in) +
                " -> " + tileType(counts, "i32") + "\n" +
                storeTile("h", "o", counts, "i32") + "return\n}\n",
            laidOut(tile.warps()));
        std::vector<int32_t> x(size_t(tile.size())),
            o(static_cast<size_t>(bins)), expected(static_cast<size_t>(bins));
        std::vector<uint8_t> use(x.size());
        std::mt19937 random(4);
        for (size_t i = 0; i < x.size(); ++i) {
          x[i] = int32_t(random() % uint64_t(bins + 8)) - 4;
          use[i] = random() % 3 != 0;
          if (x[i] >= 0 && x[i] < bins && (use[i] || !masked))
            ++expected[size_t(x[i])];
        }
        kernel.run({1}, {x, use, o});
        EXPECT_EQ(o, expected);
      }
    }
}

} // namespace
