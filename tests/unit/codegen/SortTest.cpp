// tests/unit/codegen/SortTest.cpp - sorted rows on cpu against std::sort.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/TileKernel.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <type_traits>

using namespace tessera;

namespace {

class CpuSort : public testing::TestWithParam<int> {
protected:
  CpuTarget target() const { return testTargets()[GetParam()]; }

  template <typename T>
  void check(const std::string &type, std::vector<int64_t> shape,
             bool descending, bool isUnsigned = false) {
    int64_t n = 1;
    for (int64_t size : shape)
      n *= size;
    const std::string tensor = tensorOf(shape, type),
                      places = tensorOf(shape, "!tile.ptr<" + type + ">"),
                      offsets = tensorOf(shape, "i32"),
                      count = std::to_string(n);
    std::string text = "func.func @k(%x: !tile.ptr<" + type +
                       ">, %o: !tile.ptr<" + type +
                       ">) {\n%r = tile.range 0, " + count + " : tensor<" +
                       count + "xi32>\n%i = tile.reshape %r : tensor<" + count +
                       "xi32> -> " + offsets + "\n";
    for (const char *name : {"x", "o"})
      text += "%" + std::string(name) + "s = tile.splat %" + name +
              " : !tile.ptr<" + type + "> -> " + places + "\n%" + name +
              "p = tile.addptr %" + name + "s, %i : " + places + ", " +
              offsets + "\n";
    text += "%v = tile.load %xp : " + places + "\n%y = tile.sort %v" +
            (descending ? " descending" : "") +
            (isUnsigned ? " {isUnsigned}" : "") + " : " + tensor +
            "\ntile.store %op, %y : " + places + ", " + tensor + "\nreturn\n}";
    SCOPED_TRACE(text);
    TileKernel kernel(text, target());
    std::vector<T> x(n), o(n);
    std::mt19937_64 random(shape.size() + size_t(shape.back()));
    for (T &value : x)
      if constexpr (std::is_floating_point_v<T>)
        value = T(int64_t(random() % 64) - 32) / 4; // ties
      else
        value = random() % 4 ? T(random()) : T(random() % 8);
    kernel.run({1}, x.data(), o.data());
    for (auto row = x.begin(); row != x.end(); row += shape.back()) {
      if (descending)
        std::sort(row, row + shape.back(), std::greater<T>());
      else
        std::sort(row, row + shape.back());
    }
    ASSERT_EQ(o, x);
  }
};

// Short rows that are sorted several at once, single ones and long ones; fewer
// rows than fit in a vector; sizes above and below a vector's.
const std::vector<std::vector<int64_t>> sortShapes = {
    {16, 16}, {32, 8},  {8, 32}, {64, 4}, {4, 16},   {2, 16},
    {16, 2},  {16, 64}, {1, 8},  {32},    {2, 8, 8}, {2, 2, 4, 32}};

TEST_P(CpuSort, EveryTypeInBothDirections) {
  for (bool descending : {false, true}) {
    const std::vector<int64_t> shape = {16, 16};
    check<float>("f32", shape, descending);
    check<double>("f64", shape, descending);
    check<int8_t>("i8", shape, descending);
    check<int16_t>("i16", shape, descending);
    check<int32_t>("i32", shape, descending);
    check<int64_t>("i64", shape, descending);
    check<uint32_t>("i32", shape, descending, true);
    check<uint64_t>("i64", shape, descending, true);
  }
}

TEST_P(CpuSort, EveryShape) {
  bool descending = false;
  for (const std::vector<int64_t> &shape : sortShapes) {
    check<float>("f32", shape, descending);
    descending = !descending;
    check<int64_t>("i64", shape, descending);
  }
}

// Every element stays one: what cannot be compared is not taken twice.
TEST_P(CpuSort, NanIsNeitherLostNorDoubled) {
  const char *text = R"(func.func @k(%x: !tile.ptr<f32>, %o: !tile.ptr<f32>) {
    %r = tile.range 0, 128 : tensor<128xi32>
    %xs = tile.splat %x : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
    %xp = tile.addptr %xs, %r : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    %f = tile.load %xp : tensor<128x!tile.ptr<f32>>
    %v = tile.reshape %f : tensor<128xf32> -> tensor<16x8xf32>
    %y = tile.sort %v : tensor<16x8xf32>
    %w = tile.reshape %y : tensor<16x8xf32> -> tensor<128xf32>
    %os = tile.splat %o : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>>
    %op = tile.addptr %os, %r : tensor<128x!tile.ptr<f32>>, tensor<128xi32>
    tile.store %op, %w : tensor<128x!tile.ptr<f32>>, tensor<128xf32>
    return
  })";
  std::vector<float> x(128), o(128);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = i % 5 == 3 ? std::numeric_limits<float>::quiet_NaN()
                      : float(i * 37 % 128);
  TileKernel(text, target()).run({1}, x.data(), o.data());
  auto parts = [](const float *row) {
    std::vector<float> numbers;
    std::copy_if(row, row + 8, std::back_inserter(numbers),
                 [](float value) { return !std::isnan(value); });
    std::sort(numbers.begin(), numbers.end());
    return numbers;
  };
  for (size_t row = 0; row < 16; ++row)
    EXPECT_EQ(parts(&o[8 * row]), parts(&x[8 * row])) << row;
}

INSTANTIATE_TEST_SUITE_P(Targets, CpuSort,
                         testing::Range(0, int(testTargets().size())));

} // namespace
