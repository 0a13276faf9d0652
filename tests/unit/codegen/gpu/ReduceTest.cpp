// tests/unit/codegen/gpu/ReduceTest.cpp - reductions on sim against plain
// loops.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/gpu/GpuKernel.h"
#include "tests/unit/codegen/gpu/GpuTiles.h"

#include "dialect/layout/Share.h"
#include "support/Error.h"

#include <gtest/gtest.h>

using namespace tessera;
using layout::LinearLayout;

namespace {

std::string resultType(const LinearLayout &map, const std::string &element) {
  return map.outs().empty() ? element : tileType(map, element);
}

std::vector<std::string> kindsOf(const Element &type) {
  std::vector<std::string> kinds = {"sum", "max", "min", "argmax", "argmin"};
  if (!type.isFloat)
    for (const char *kind : {"and", "or", "xor", "umax", "umin"})
      kinds.push_back(kind);
  return kinds;
}

bool isArg(const std::string &kind) { return kind.starts_with("arg"); }

// What a kind makes of a row.
double reduceRow(const std::string &kind, const Element &type,
                 const std::vector<double> &row) {
  bool isMax = kind.ends_with("max");
  auto asBits = [&](double number) {
    int unused = 64 - 8 * type.bytes;
    return uint64_t(int64_t(number)) << unused >> unused;
  };
  auto asNumber = [&](uint64_t bits) {
    int unused = 64 - 8 * type.bytes;
    return double(int64_t(bits << unused) >> unused);
  };
  if (kind == "sum" || kind == "and" || kind == "or" || kind == "xor") {
    double sum = 0;
    uint64_t bits = kind == "and" ? ~uint64_t(0) : 0;
    for (double x : row) {
      sum += x;
      if (type.isFloat)
        continue;
      uint64_t y = asBits(x);
      bits = kind == "sum"   ? bits + y
             : kind == "and" ? bits & y
             : kind == "or"  ? bits | y
                             : bits ^ y;
    }
    return type.isFloat ? sum : asNumber(bits);
  }
  int best = -1;
  for (size_t k = 0; k < row.size(); ++k) {
    if (std::isnan(row[k]))
      continue;
    bool better = best < 0;
    if (!better && kind[0] == 'u')
      better = isMax ? asBits(row[k]) > asBits(row[size_t(best)])
                     : asBits(row[k]) < asBits(row[size_t(best)]);
    else if (!better)
      better = isMax ? row[k] > row[size_t(best)] : row[k] < row[size_t(best)];
    if (better)
      best = int(k);
  }
  if (isArg(kind))
    return std::max(best, 0);
  return best < 0 ? std::nan("") : row[size_t(best)];
}

// given: the layout of the results; null for the slice of the tile's.
void checkAllKinds(const TileLayout &tile, int axis, const Element &type,
                   bool nans, const LinearLayout *given = nullptr) {
  SCOPED_TRACE(tile.name + ", axis " + std::to_string(axis) + ", " + type.name +
               (nans ? ", with NaN" : "") + (given ? ", scattered" : ""));
  LinearLayout result = given ? *given : layout::slice(tile.map, axis);
  int64_t replicas = int64_t(1) << withReplicas(result).outs().back().bits;
  int64_t rows = int64_t(1) << result.outBits();
  std::vector<std::string> kinds = kindsOf(type);
  std::string text =
      "func.func @k(%x: !tile.ptr<" + std::string(type.name) + ">";
  for (const std::string &kind : kinds)
    text += ", %" + kind + "o: !tile.ptr<" + (isArg(kind) ? "i32" : type.name) +
            ">";
  text += ") {\n" + loadTile("v", "x", tile.map, type.name);
  for (const std::string &kind : kinds) {
    std::string element = isArg(kind) ? "i32" : type.name;
    text += "%" + kind + " = tile.reduce " + kind + " %v, " +
            std::to_string(axis) + " : " + tileType(tile.map, type.name) +
            " -> " + resultType(result, element) + "\n" +
            storeReplicas(kind, kind + "o", result, element);
  }
  GpuKernel kernel(text + "return\n}\n", laidOut(tile.warps()));

  std::vector<uint8_t> x =
      drawIntegers(type, tile.size(), 1, nans, unsigned(axis) + 3);
  std::vector<std::vector<uint8_t>> outputs;
  std::vector<GpuArg> args = {x};
  outputs.reserve(kinds.size());
  for (const std::string &kind : kinds) {
    outputs.emplace_back(
        size_t(rows * replicas * (isArg(kind) ? 4 : type.bytes)),
        uint8_t(0xA5));
    args.push_back(outputs.back());
  }
  kernel.run({1}, args);
  for (size_t k = 0; k < kinds.size(); ++k) {
    if (nans && kinds[k] == "sum")
      continue;
    Element out = isArg(kinds[k]) ? elements()[1] : type;
    forRows(tile.shape(), axis,
            [&](int64_t row, const std::vector<int64_t> &at) {
              std::vector<double> values;
              for (int64_t place : at)
                values.push_back(type.get(x, place));
              double expected = reduceRow(kinds[k], type, values);
              for (int64_t replica = 0; replica < replicas; ++replica) {
                double got = out.get(outputs[k], row * replicas + replica);
                if (std::isnan(expected))
                  ASSERT_TRUE(std::isnan(got)) << kinds[k] << " of row " << row;
                else
                  ASSERT_EQ(got, expected) << kinds[k] << " of row " << row
                                           << ", replica " << replica;
              }
            });
  }
}

void checkLayouts(const std::vector<TileLayout> &layouts) {
  size_t turn = 0;
  for (const TileLayout &tile : layouts)
    for (int axis = 0; axis < layout::rankOfTile(tile.map); ++axis) {
      checkAllKinds(tile, axis, elements()[0], true);
      checkAllKinds(tile, axis, elements()[1], false);
      // The other types take turns.
      checkAllKinds(tile, axis, elements()[2 + turn % 6], turn % 2);
      ++turn;
    }
}

TEST(GpuReduce, EveryKindInRegularLayouts) { checkLayouts(regularLayouts()); }
TEST(GpuReduce, EveryKindInOddLayouts) { checkLayouts(oddLayouts()); }

// Each lane that took part keeps a share of the rows.
TEST(GpuReduce, ScatteredResults) {
  size_t seen = 0;
  for (const TileLayout &tile : allLayouts())
    for (int axis = 0; axis < layout::rankOfTile(tile.map); ++axis) {
      const auto shares = layout::scatteredSlice(tile.map, axis);
      if (!shares)
        continue;
      checkAllKinds(tile, axis, elements()[0], true, &*shares);
      checkAllKinds(tile, axis, elements()[1 + seen++ % 7], false, &*shares);
    }
  EXPECT_GE(seen, 8u);
}

TEST(GpuReduce, EveryType) {
  for (const Element &type : elements())
    for (bool nans : {false, true})
      for (int axis : {0, 1})
        checkAllKinds(
            {"accumulator", layout::mmaAccumulator({32, 32}, {{2, 2}})}, axis,
            type, nans);
}

// A sum of products, whose first addition could be fused with one of its
// operands: all threads must hold the same bits (Triton 3.6 has a race there).
TEST(GpuReduce, ReplicasOfASumAreEqualBitForBit) {
  std::vector<TileLayout> layouts = allLayouts();
  for (const TileLayout &tile : layouts)
    for (const char *type : {"f32", "f64"})
      for (int axis = 0; axis < layout::rankOfTile(tile.map); ++axis) {
        SCOPED_TRACE(tile.name + " " + type + " " + std::to_string(axis));
        LinearLayout result = layout::slice(tile.map, axis);
        std::string t = type, pointer = "!tile.ptr<" + t + ">";
        GpuKernel kernel(
            "func.func @k(%x: " + pointer + ", %o: " + pointer + ") {\n" +
                loadTile("v", "x", tile.map, t) +
                "%w = arith.mulf %v, %v : " + tileType(tile.map, t) +
                "\n%s = tile.reduce sum %w, " + std::to_string(axis) + " : " +
                tileType(tile.map, t) + " -> " + resultType(result, t) + "\n" +
                storeReplicas("s", "o", result, t) + "return\n}\n",
            laidOut(tile.warps()));
        int64_t replicas = int64_t(1)
                           << withReplicas(result).outs().back().bits;
        int64_t rows = int64_t(1) << result.outBits();
        const Element &element = elements()[t == "f32" ? 0 : 4];
        std::vector<uint8_t> x(size_t(tile.size() * element.bytes)),
            o(size_t(rows * replicas * element.bytes));
        std::mt19937 random(5);
        for (int64_t i = 0; i < tile.size(); ++i)
          element.put(x, i, std::ldexp(double(random()), -30) - 2);
        kernel.run({1}, {x, o});
        double epsilon = t == "f32" ? 6e-8 : 1.2e-16;
        forRows(tile.shape(), axis,
                [&](int64_t row, const std::vector<int64_t> &at) {
                  long double sum = 0;
                  for (int64_t place : at)
                    sum += (long double)(element.get(x, place)) *
                           element.get(x, place);
                  double first = element.get(o, row * replicas);
                  // log2 of the row's length additions one after the other,
                  // and registers' products.
                  EXPECT_NEAR(first, double(sum), 12 * epsilon * double(sum));
                  for (int64_t replica = 1; replica < replicas; ++replica)
                    ASSERT_EQ(element.get(o, row * replicas + replica), first)
                        << kernel.ptx;
                });
      }
}

// Affine maps compose, in one order only: x -> b + a x.
TEST(GpuReduce, RegionsGetTheirPartsInOrder) {
  std::vector<TileLayout> layouts = allLayouts();
  for (const TileLayout &tile : layouts)
    for (int axis = 0; axis < layout::rankOfTile(tile.map); ++axis) {
      SCOPED_TRACE(tile.name + " " + std::to_string(axis));
      LinearLayout result = layout::slice(tile.map, axis);
      std::string in = tileType(tile.map, "i32"),
                  out = resultType(result, "i32");
      GpuKernel kernel(
          "func.func @k(%x: !tile.ptr<i32>, %y: !tile.ptr<i32>, %o: "
          "!tile.ptr<i32>, %q: !tile.ptr<i32>) {\n" +
              loadTile("v", "x", tile.map, "i32") +
              loadTile("w", "y", tile.map, "i32") +
              "%r:2 = tile.reduce_by %v, %w axis " + std::to_string(axis) +
              " : " + in + ", " + in + " -> " + out + ", " + out + R"( {
  ^bb0(%a: i32, %b: i32, %c: i32, %d: i32):
    %e = arith.muli %a, %c : i32
    %f = arith.muli %c, %b : i32
    %g = arith.addi %f, %d : i32
    tile.yield %e, %g : i32, i32
  }
)" + storeReplicas("r#0", "o", result, "i32") +
              storeReplicas("r#1", "q", result, "i32") + "return\n}\n",
          laidOut(tile.warps()));
      int64_t replicas = int64_t(1) << withReplicas(result).outs().back().bits;
      int64_t rows = int64_t(1) << result.outBits();
      std::vector<int32_t> x(size_t(tile.size())), y(x.size()),
          o(size_t(rows * replicas)), q(o.size());
      std::mt19937 random(9);
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = int32_t(random());
        y[i] = int32_t(random());
      }
      kernel.run({1}, {x, y, o, q});
      forRows(tile.shape(), axis,
              [&](int64_t row, const std::vector<int64_t> &at) {
                uint32_t a = 1, b = 0;
                for (int64_t place : at) {
                  uint32_t c = uint32_t(x[size_t(place)]);
                  a *= c;
                  b = c * b + uint32_t(y[size_t(place)]);
                }
                for (int64_t replica = 0; replica < replicas; ++replica) {
                  size_t i = size_t(row * replicas + replica);
                  ASSERT_EQ(uint32_t(o[i]), a) << "row " << row;
                  ASSERT_EQ(uint32_t(q[i]), b) << "row " << row;
                }
              });
    }
}

int countOf(const std::string &text, const std::string &word) {
  int n = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at)
    ++n;
  return n;
}

// In a loop, `reductions` over warps one after the other: the simulator would
// see a part that is overwritten before all have read it.
void checkLoop(int reductions, int barriers) {
  SCOPED_TRACE(reductions);
  LinearLayout map = layout::blocked({8, 128}, {{2, 2}, {8, 4}, {1, 4}, {}});
  LinearLayout rows = layout::slice(map, 1);
  std::string in = tileType(map, "f32"), out = tileType(rows, "f32");
  std::string body, last = "a";
  for (int i = 0; i < reductions; ++i) {
    std::string n = std::to_string(i);
    body += "%m" + n + " = tile.reduce " + (i % 2 ? "sum" : "max") +
            " %v, 1 : " + in + " -> " + out + "\n%e" + n + " = arith.addf %" +
            last + ", %m" + n + " : " + out + "\n";
    last = "e" + n;
  }
  GpuKernel kernel(
      "func.func @k(%x: !tile.ptr<f32>, %o: !tile.ptr<f32>, %n: i32) {\n" +
          loadTile("v", "x", map, "f32") + R"(
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant dense<0.0> : )" +
          out + R"(
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %z) -> ()" +
          out + ") : i32 {\n" + body + "scf.yield %" + last + " : " + out +
          "\n}\n" + storeTile("r", "o", rows, "f32") + "return\n}\n",
      laidOut(4));
  EXPECT_GT(kernel.sharedBytes, 0u);
  EXPECT_EQ(countOf(kernel.ptx, "bar.sync"), barriers) << kernel.ptx;
  std::vector<float> x(1024), o(8);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(int(i * 37 % 19) - 9);
  kernel.run({2}, {x, o, 3});
  for (size_t row = 0; row < 8; ++row) {
    float sum = 0, most = x[row * 128];
    for (size_t k = 0; k < 128; ++k) {
      sum += x[row * 128 + k];
      most = std::max(most, x[row * 128 + k]);
    }
    EXPECT_EQ(o[row], 3 * (float((reductions + 1) / 2) * most +
                           float(reductions / 2) * sum));
  }
}

// Each reduction has one barrier between writing and reading. The first one of
// a loop waits for the readers of the previous iteration if both use the same
// scratch memory.
TEST(GpuReduce, ScratchIsWaitedForWhereItMustBe) {
  checkLoop(1, 2);
  checkLoop(2, 2);
  checkLoop(3, 3);
  checkLoop(4, 5);
}

// Warps leave a part each, lanes read one each: a pass a warp for either.
TEST(GpuReduce, WarpsReadAllPartsInOnePass) {
  for (int warps : {2, 4, 8, 32}) {
    SCOPED_TRACE(warps);
    LinearLayout map = layout::blocked({32 * warps}, {{1}, {32}, {warps}, {}});
    LinearLayout result = layout::slice(map, 0);
    GpuKernel kernel(
        "func.func @k(%x: !tile.ptr<f32>, %o: !tile.ptr<f32>) {\n" +
            loadTile("v", "x", map, "f32") + "%s = tile.reduce sum %v, 0 : " +
            tileType(map, "f32") + " -> f32\n" +
            storeReplicas("s", "o", result, "f32") + "return\n}\n",
        laidOut(warps));
    std::vector<float> x(size_t(32 * warps)), o(x.size());
    float sum = 0;
    for (size_t i = 0; i < x.size(); ++i)
      sum += x[i] = float(int(i * 37 % 19) - 9);
    const sim::Report report = kernel.run({1}, {x, o});
    EXPECT_EQ(o, std::vector<float>(x.size(), sum));
    EXPECT_EQ(report.counters.sharedWays, uint64_t(2 * warps)) << kernel.ptx;
  }
}

TEST(GpuReduce, ARowOfAnAccumulatorTakesTwoShuffles) {
  LinearLayout map = layout::mmaAccumulator({64, 64}, {{4, 1}});
  LinearLayout rows = layout::slice(map, 1);
  GpuKernel kernel("func.func @k(%x: !tile.ptr<f32>, %o: !tile.ptr<f32>) {\n" +
                       loadTile("v", "x", map, "f32") +
                       "%s = tile.reduce sum %v, 1 : " + tileType(map, "f32") +
                       " -> " + tileType(rows, "f32") + "\n" +
                       storeTile("s", "o", rows, "f32") + "return\n}\n",
                   laidOut(4));
  auto count = [&](const std::string &word) {
    return countOf(kernel.ptx, word);
  };
  // Two rows in a lane.
  EXPECT_EQ(count("shfl.sync"), 2 * 2) << kernel.ptx;
  EXPECT_EQ(count("bar.sync"), 0) << kernel.ptx;
  EXPECT_EQ(kernel.sharedBytes, 0u);
}

} // namespace
