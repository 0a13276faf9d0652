// tests/unit/codegen/ReduceTest.cpp - reductions, scans, histograms on cpu.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/TileKernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace tessera;

namespace {

class CpuReduce : public testing::TestWithParam<int> {
protected:
  CpuTarget target() const { return testTargets()[GetParam()]; }
};

// Pointers at %NAMEp to consecutive elements in the given shape.
std::string consecutive(const std::string &name, std::vector<int64_t> shape,
                        const std::string &type) {
  int64_t n = 1;
  for (int64_t size : shape)
    n *= size;
  return fill(R"(
  %$Xr = tile.range 0, $N : tensor<$Nxi32>
  %$Xo = tile.reshape %$Xr : tensor<$Nxi32> -> $I
  %$Xs = tile.splat %$X : !tile.ptr<$T> -> $P
  %$Xp = tile.addptr %$Xs, %$Xo : $P, $I
)",
              {{"X", name},
               {"N", std::to_string(n)},
               {"I", tensorOf(shape, "i32")},
               {"P", tensorOf(shape, "!tile.ptr<$T>")},
               {"T", type}});
}

std::string reduceKernel(const std::string &kind, std::vector<int64_t> shape,
                         int axis, const std::string &type,
                         const std::string &result) {
  std::vector<int64_t> kept = shape;
  kept.erase(kept.begin() + axis);
  std::string text = "func.func @k(%x: !tile.ptr<" + type +
                     ">, %o: !tile.ptr<" + result + ">) {\n";
  text += consecutive("x", shape, type);
  text += "%v = tile.load %xp : " + tensorOf(shape, "!tile.ptr<" + type + ">") +
          "\n";
  bool scalar = kept.empty();
  std::string to = scalar ? result : tensorOf(kept, result);
  text += "%r = tile.reduce " + kind + " %v, " + std::to_string(axis) + " : " +
          tensorOf(shape, type) + " -> " + to + "\n";
  if (scalar)
    text += "tile.store %o, %r : !tile.ptr<" + result + ">, " + result + "\n";
  else
    text += consecutive("o", kept, result) + "tile.store %op, %r : " +
            tensorOf(kept, "!tile.ptr<" + result + ">") + ", " + to + "\n";
  return text + "return\n}";
}

struct Shape {
  std::vector<int64_t> sizes;
  int axis;
};

const std::vector<Shape> shapes = {
    {{64}, 0},     {{1}, 0},      {{16, 32}, 1},   {{16, 32}, 0},
    {{2, 128}, 0}, {{64, 2}, 1},  {{4, 8, 16}, 1}, {{4, 8, 16}, 2},
    {{8, 1}, 1},   {{4, 8, 2}, 0}};

// Calls f(index in the result, elements in order along the axis).
template <typename T, typename F>
void forRows(const Shape &shape, const std::vector<T> &x, F f) {
  int64_t inner = 1, size = shape.sizes[shape.axis];
  for (size_t d = shape.axis + 1; d < shape.sizes.size(); ++d)
    inner *= shape.sizes[d];
  int64_t outer = int64_t(x.size()) / inner / size;
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j = 0; j < inner; ++j) {
      std::vector<T> row;
      for (int64_t k = 0; k < size; ++k)
        row.push_back(x[(i * size + k) * inner + j]);
      f(i * inner + j, row);
    }
}

int64_t product(const std::vector<int64_t> &sizes) {
  int64_t n = 1;
  for (int64_t size : sizes)
    n *= size;
  return n;
}

TEST_P(CpuReduce, Floats) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Shape &shape : shapes)
    for (std::string kind : {"sum", "max", "min", "argmax", "argmin"}) {
      bool arg = kind[0] == 'a';
      TileKernel kernel(reduceKernel(kind, shape.sizes, shape.axis, "f32",
                                     arg ? "i32" : "f32"),
                        target());
      int64_t n = product(shape.sizes);
      std::vector<float> x = Numbers(5).vector(n);
      for (int64_t i = 0; i < n; ++i) {
        // Ties, and a few that are no numbers.
        x[i] = std::round(x[i] * 8);
        if (kind != "sum" && i % 11 == 4)
          x[i] = nan;
      }
      std::vector<float> o(n);
      kernel.run({1}, x.data(), o.data());
      forRows(shape, x, [&](int64_t at, const std::vector<float> &row) {
        double sum = 0;
        int best = -1;
        for (size_t k = 0; k < row.size(); ++k) {
          sum += row[k];
          if (row[k] == row[k] &&
              (best < 0 ||
               (kind.find("max") != std::string::npos ? row[k] > row[best]
                                                      : row[k] < row[best])))
            best = int(k);
        }
        if (arg) {
          int32_t got;
          std::memcpy(&got, &o[at], 4);
          ASSERT_EQ(got, std::max(best, 0)) << kind << " " << at;
        } else if (kind == "sum") {
          ASSERT_EQ(o[at], float(sum));
        } else if (best < 0) {
          ASSERT_TRUE(std::isnan(o[at]));
        } else {
          ASSERT_EQ(o[at], row[best]) << kind << " " << at;
        }
      });
    }
}

TEST_P(CpuReduce, Integers) {
  for (const Shape &shape : shapes)
    for (std::string kind :
         {"sum", "max", "min", "umax", "umin", "and", "or", "xor", "argmin"}) {
      TileKernel kernel(
          reduceKernel(kind, shape.sizes, shape.axis, "i32", "i32"), target());
      int64_t n = product(shape.sizes);
      std::vector<int32_t> x(n), o(n);
      for (int64_t i = 0; i < n; ++i)
        x[i] = int32_t(uint32_t(i * 2654435761u) >> (i % 3 ? 0 : 24));
      kernel.run({1}, x.data(), o.data());
      forRows(shape, x, [&](int64_t at, const std::vector<int32_t> &row) {
        int32_t e = row[0];
        int best = 0;
        for (size_t k = 1; k < row.size(); ++k) {
          int32_t y = row[k];
          if (y < row[best])
            best = int(k);
          if (kind == "sum")
            e = int32_t(uint32_t(e) + uint32_t(y));
          else if (kind == "max")
            e = std::max(e, y);
          else if (kind == "min")
            e = std::min(e, y);
          else if (kind == "umax")
            e = int32_t(std::max(uint32_t(e), uint32_t(y)));
          else if (kind == "umin")
            e = int32_t(std::min(uint32_t(e), uint32_t(y)));
          else if (kind == "and")
            e &= y;
          else if (kind == "or")
            e |= y;
          else
            e ^= y;
        }
        ASSERT_EQ(o[at], kind == "argmin" ? best : e) << kind << " " << at;
      });
    }
}

std::string scanKernel(const std::string &kind, const Shape &shape,
                       bool reverse) {
  std::string type = tensorOf(shape.sizes, "f32"),
              pointers = tensorOf(shape.sizes, "!tile.ptr<f32>");
  return "func.func @k(%x: !tile.ptr<f32>, %o: !tile.ptr<f32>) {\n" +
         consecutive("x", shape.sizes, "f32") +
         consecutive("o", shape.sizes, "f32") +
         "%v = tile.load %xp : " + pointers + "\n%s = tile.scan " + kind +
         " %v, " + std::to_string(shape.axis) + (reverse ? " reverse" : "") +
         " : " + type + "\ntile.store %op, %s : " + pointers + ", " + type +
         "\nreturn\n}";
}

TEST_P(CpuReduce, Scans) {
  for (const Shape &shape : shapes)
    for (std::string kind : {"sum", "prod", "max", "min"})
      for (bool reverse : {false, true}) {
        TileKernel kernel(scanKernel(kind, shape, reverse), target());
        int64_t n = product(shape.sizes);
        std::vector<float> x = Numbers(6).vector(n), o(n);
        for (float &value : x)
          value = kind == "prod" ? (value < 0 ? -1.0f : 1.0f)
                                 : std::round(value * 8);
        kernel.run({1}, x.data(), o.data());
        std::map<int64_t, std::vector<float>> got;
        forRows(shape, o, [&](int64_t at, const std::vector<float> &row) {
          got[at] = row;
        });
        forRows(shape, x, [&](int64_t at, std::vector<float> row) {
          if (reverse)
            std::reverse(row.begin(), row.end());
          for (size_t k = 1; k < row.size(); ++k)
            row[k] = kind == "sum"    ? row[k - 1] + row[k]
                     : kind == "prod" ? row[k - 1] * row[k]
                     : kind == "max"  ? std::max(row[k - 1], row[k])
                                      : std::min(row[k - 1], row[k]);
          if (reverse)
            std::reverse(row.begin(), row.end());
          ASSERT_EQ(got[at], row) << kind << reverse << " " << at;
        });
      }
}

TEST_P(CpuReduce, HistogramGatherAtomics) {
  TileKernel kernel("func.func @k(%x: !tile.ptr<i32>, %h: !tile.ptr<i32>, "
                    "%g: !tile.ptr<i32>, %f: !tile.ptr<bf16>) {\n" +
                        consecutive("x", {64}, "i32") +
                        consecutive("h", {8}, "i32") +
                        consecutive("g", {64}, "i32") + R"(
  %v = tile.load %xp : tensor<64x!tile.ptr<i32>>
  %b = tile.histogram %v : tensor<64xi32> -> tensor<8xi32>
  %old = tile.atomic_rmw add %hp, %b : tensor<8x!tile.ptr<i32>>, tensor<8xi32>
  %c7 = arith.constant dense<7> : tensor<64xi32>
  %i = arith.andi %v, %c7 : tensor<64xi32>
  %t = tile.gather %old, %i, 0 : tensor<8xi32>, tensor<64xi32> -> tensor<64xi32>
  tile.store %gp, %t : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
  %one = arith.constant 1.5 : bf16
  %o = tile.atomic_rmw fadd %f, %one : !tile.ptr<bf16>, bf16
  return
})",
                    target());
  std::vector<int32_t> x(64), h(8, 100), g(64), e(8, 100);
  for (int i = 0; i < 8; ++i)
    h[i] = e[i] = 100 + i;
  for (int i = 0; i < 64; ++i) {
    x[i] = (i * i) % 11 - 1;
    if (x[i] >= 0 && x[i] < 8)
      ++e[x[i]];
  }
  uint16_t f = toBf16(2.0f);
  kernel.run({1}, x.data(), h.data(), g.data(), &f);
  EXPECT_EQ(h, e);
  EXPECT_EQ(fromBf16(f), 3.5f);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(g[i], 100 + (x[i] & 7));
}

INSTANTIATE_TEST_SUITE_P(Targets, CpuReduce,
                         testing::Range(0, int(testTargets().size())));

} // namespace
