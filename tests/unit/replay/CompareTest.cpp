// tests/unit/replay/CompareTest.cpp - tests of replay/Compare.h and Elements.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Compare.h"

#include "support/Error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace tessera;
using namespace tessera::cases;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const float quiet = std::nanf("");

template <typename T>
struct Packed {
  Packed(DType type, std::vector<T> values) : values(std::move(values)) {
    elements.type = type;
    refresh();
  }
  Packed(const Packed &other) : values(other.values), elements(other.elements) {
    refresh();
  }
  void refresh() {
    elements.bytes = {reinterpret_cast<const char *>(values.data()),
                      values.size() * sizeof(T)};
  }
  std::vector<T> values;
  Elements elements;
};

Packed<float> floats(std::vector<float> values) {
  return {DType::FP32, std::move(values)};
}
Packed<int32_t> ints(std::vector<int32_t> values) {
  return {DType::I32, std::move(values)};
}

Packed<float> normal(size_t count, double error, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> wanted, noise;
  std::mt19937 other(seed + 1000);
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(float(wanted(engine) + error * noise(other)));
  return floats(values);
}

} // namespace

TEST(Elements, EightBitFloats) {
  auto value = [](DType type, int bits) {
    const char byte = char(bits);
    return elementValue(type, &byte);
  };
  // The limits of the formats (OCP 8-bit floating point, table 1).
  EXPECT_EQ(value(DType::FP8E4NV, 0x7E), 448);
  EXPECT_EQ(value(DType::FP8E4NV, 0xFE), -448);
  EXPECT_EQ(value(DType::FP8E4NV, 0x08), 0x1p-6);
  EXPECT_EQ(value(DType::FP8E4NV, 0x01), 0x1p-9);
  EXPECT_TRUE(std::isnan(value(DType::FP8E4NV, 0x7F)));
  EXPECT_EQ(value(DType::FP8E5, 0x7B), 57344);
  EXPECT_EQ(value(DType::FP8E5, 0x04), 0x1p-14);
  EXPECT_EQ(value(DType::FP8E5, 0x81), -0x1p-16);
  EXPECT_EQ(value(DType::FP8E5, 0x7C), HUGE_VAL);
  EXPECT_TRUE(std::isnan(value(DType::FP8E5, 0x7D)));
}

// Against what the compiler's own conversions give, for every bit pattern.
TEST(Elements, HalfAndBfloat16) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    _Float16 half;
    const auto stored = uint16_t(bits);
    std::memcpy(&half, &stored, 2);
    const double want = double(half), got = halfValue(stored);
    ASSERT_TRUE(std::isnan(want)
                    ? std::isnan(got)
                    : want == got && std::signbit(want) == std::signbit(got))
        << bits;
    float wide;
    const uint32_t upper = bits << 16;
    std::memcpy(&wide, &upper, 4);
    const double brain = bfloat16Value(stored);
    ASSERT_TRUE(std::isnan(wide) ? std::isnan(brain) : double(wide) == brain);
  }
}

TEST(Elements, BytesOfAnElement) {
  EXPECT_EQ(elementBytes(DType::I1), 1u);
  EXPECT_EQ(elementBytes(DType::FP8E5), 1u);
  EXPECT_EQ(elementBytes(DType::BF16), 2u);
  EXPECT_EQ(elementBytes(DType::FP32), 4u);
  EXPECT_EQ(elementBytes(DType::U64), 8u);
  EXPECT_THROW(elementBytes(DType(99)), Error);
}

TEST(Elements, Layouts) {
  const Layout rows = contiguousLayout({2, 3});
  EXPECT_EQ(rows.strides, (std::vector<int64_t>{3, 1}));
  EXPECT_TRUE(rows.contiguous());
  EXPECT_EQ(rows.span("x"), 6);
  const Layout gaps{{2, 3}, {5, 1}};
  EXPECT_EQ(gaps.span("x"), 8);
  EXPECT_FALSE(gaps.contiguous());
  EXPECT_EQ(gaps.offset(4), 6);
  EXPECT_EQ(gaps.index(4), (std::vector<int64_t>{1, 1}));
  const Layout backwards{{4}, {-2}};
  EXPECT_EQ(backwards.origin(), 6);
  EXPECT_EQ(backwards.offset(0), 6);
  EXPECT_EQ(backwards.offset(3), 0);
  EXPECT_EQ(backwards.span("x"), 7);
  const Layout repeated{{5, 2}, {0, 1}};
  EXPECT_TRUE(repeated.overlaps());
  EXPECT_EQ(repeated.span("x"), 2);
  EXPECT_EQ(repeated.count("x"), 10);
  EXPECT_EQ((Layout{{}, {}}).span("x"), 1);
  EXPECT_EQ((Layout{{}, {}}).count("x"), 1);
  EXPECT_EQ((Layout{{3, 0}, {1, 1}}).span("x"), 0);
  EXPECT_THROW((Layout{{1ll << 40, 1ll << 40}, {1, 1}}).count("x"), Error);
  EXPECT_THROW((Layout{{2, 2}, {INT64_MIN, 1}}).span("x"), Error);
  EXPECT_EQ((Layout{{0, 1ll << 62, 1ll << 62}, {1, 1, 1}}).count("x"), 0);
}

TEST(Compare, Exact) {
  EXPECT_TRUE(
      compareExact(ints({1, 2, 3}).elements, ints({1, 2, 3}).elements).ok);
  const auto got = ints({1, 5, 4}), want = ints({1, 2, 3});
  const Comparison result = compareExact(got.elements, want.elements);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.first, 1);
  EXPECT_EQ(result.differing, 2);
  EXPECT_EQ(result.maxAbs, 3);
  // Doubles cannot tell these apart.
  const Packed<int64_t> a{DType::I64, {(1ll << 60) + 1}},
      b{DType::I64, {1ll << 60}};
  EXPECT_FALSE(compareExact(a.elements, b.elements).ok);
  EXPECT_TRUE(compareExact(floats({-0.0f, quiet, float(infinity)}).elements,
                           floats({0.0f, -quiet, float(infinity)}).elements)
                  .ok);
  EXPECT_FALSE(
      compareExact(floats({1e-45f}).elements, floats({0}).elements).ok);
  const Packed<uint8_t> yes{DType::I1, {1, 0}}, also{DType::I1, {255, 0}},
      no{DType::I1, {0, 0}};
  EXPECT_TRUE(compareExact(yes.elements, also.elements).ok);
  EXPECT_FALSE(compareExact(yes.elements, no.elements).ok);
}

TEST(Compare, RmsIsRelative) {
  const auto want = normal(1000, 0, 1);
  for (double error : {1e-7, 5e-6}) {
    const auto got = normal(1000, error, 1);
    const Comparison result = compareRms(got.elements, want.elements, 1e-5);
    EXPECT_TRUE(result.ok) << result.problem;
    EXPECT_NEAR(result.rms, error, 0.2 * error);
  }
  const auto far = normal(1000, 2e-5, 1);
  EXPECT_FALSE(compareRms(far.elements, want.elements, 1e-5).ok);
  EXPECT_TRUE(compareRms(far.elements, want.elements, 1e-4).ok);
  // Squares of these overflow; their ratio does not.
  const Packed<double> large{DType::FP64, {1e300, -1e300}},
      close{DType::FP64, {1e300, -1.000001e300}};
  EXPECT_TRUE(compareRms(close.elements, large.elements, 1e-5).ok);
  EXPECT_FALSE(compareRms(close.elements, large.elements, 1e-8).ok);
  const auto none = floats({});
  EXPECT_TRUE(compareRms(none.elements, none.elements, 0).ok);
  EXPECT_FALSE(
      compareRms(floats({1e-3f, 0}).elements, floats({0, 0}).elements, 1e-5)
          .ok);
}

TEST(Compare, RmsWithoutNumbers) {
  const float inf = float(infinity), bad = quiet;
  auto ok = [](std::vector<float> got, std::vector<float> want) {
    return compareRms(floats(got).elements, floats(want).elements, 1e-2).ok;
  };
  EXPECT_TRUE(ok({inf, -inf, bad, 1}, {inf, -inf, bad, 1}));
  EXPECT_FALSE(ok({inf, 1}, {-inf, 1}));
  EXPECT_FALSE(ok({bad, 1}, {1, 1}));
  EXPECT_FALSE(ok({1, 1}, {bad, 1}));
  EXPECT_FALSE(ok({inf, 1}, {bad, 1}));
  EXPECT_FALSE(ok({3.4e38f, 1}, {inf, 1}));
  // The figures are of the pairs of finite numbers.
  const Comparison result = compareRms(floats({inf, 2, bad, 3}).elements,
                                       floats({1, inf, 4, 2}).elements, 1e-2);
  EXPECT_EQ(result.differing, 3);
  EXPECT_EQ(result.maxAbs, 1);
  EXPECT_EQ(result.rms, 0.5);
}

// In a large tensor one element hardly changes the sum of squares.
TEST(Compare, OneAlteredElementOfManyFails) {
  const size_t count = 200'000;
  const auto want = normal(count, 0, 2);
  for (auto [limit, error] :
       {std::pair{1e-5, 2e-7}, {5e-3, 4e-4}, {1.6e-2, 2e-3}}) {
    auto got = normal(count, error, 2);
    ASSERT_TRUE(compareRms(got.elements, want.elements, limit).ok) << limit;
    got.values[777] += 0.5f;
    const Comparison result = compareRms(got.elements, want.elements, limit);
    // Of fp32 the sum still shows it.
    EXPECT_EQ(result.rms < limit, limit > 1e-3);
    EXPECT_FALSE(result.ok) << limit;
    EXPECT_EQ(result.first, 777);
  }
}

TEST(Compare, Unordered) {
  EXPECT_TRUE(compareUnordered(ints({3, 1, 2, 1}).elements,
                               ints({1, 1, 2, 3}).elements, 0)
                  .ok);
  EXPECT_FALSE(compareUnordered(ints({3, 1, 2, 2}).elements,
                                ints({1, 1, 2, 3}).elements, 0)
                   .ok);
  const float bad = quiet;
  EXPECT_TRUE(compareUnordered(floats({bad, 2, 1.000001f}).elements,
                               floats({1, bad, 2}).elements, 1e-5)
                  .ok);
  EXPECT_FALSE(compareUnordered(floats({bad, 2, 1.1f}).elements,
                                floats({1, bad, 2}).elements, 1e-5)
                   .ok);
  const Packed<int64_t> a{DType::I64, {(1ll << 60) + 1, 1ll << 60}},
      b{DType::I64, {1ll << 60, (1ll << 60) + 1}};
  EXPECT_TRUE(compareUnordered(a.elements, b.elements, 0).ok);
}

TEST(Compare, Ties) {
  // Row 0: 1 and 3 nearly tie. Row 1: no ties.
  const auto scores = floats({0, 5, 1, 5.000001f, 9, 8, 7, 6});
  const Scores given{scores.elements, {2, 4}, 1e-5};
  auto ok = [&](std::vector<int32_t> got, std::vector<int32_t> want,
                std::vector<int64_t> shape) {
    return compareTies(ints(got).elements, ints(want).elements, shape, given)
        .ok;
  };
  EXPECT_TRUE(ok({1, 0}, {3, 0}, {2}));
  EXPECT_FALSE(ok({2, 0}, {3, 0}, {2}));
  EXPECT_FALSE(ok({1, 1}, {3, 0}, {2}));
  EXPECT_FALSE(ok({7, 0}, {3, 0}, {2})); // outside
  EXPECT_FALSE(ok({-1, 0}, {3, 0}, {2}));
  EXPECT_FALSE(ok({3, 0}, {-1, 0}, {2}));
  EXPECT_TRUE(ok({-1, 0}, {-1, 0}, {2}));
  EXPECT_TRUE(ok({3, 1, 0, 1}, {1, 3, 0, 1}, {2, 2}));
  EXPECT_FALSE(ok({3, 3, 0, 1}, {1, 3, 0, 1}, {2, 2})); // twice
  EXPECT_FALSE(ok({3, 1, 1, 0}, {1, 3, 0, 1}, {2, 2}));
  // Ascending lists shift when one of their members is another.
  const auto many = floats({9, 5, 7, 8, 5.000001f});
  const Scores row{many.elements, {1, 5}, 1e-5};
  EXPECT_TRUE(compareTies(ints({0, 2, 3, 4}).elements,
                          ints({0, 1, 2, 3}).elements, {1, 4}, row)
                  .ok);
  EXPECT_FALSE(compareTies(ints({0, 1, 2, 4}).elements,
                           ints({0, 1, 2, 3}).elements, {1, 4}, row)
                   .ok);
  // Along the first dimension: columns are rows of choices.
  const Scores columns{scores.elements, {4, 2}, 1e-5};
  const auto tall = floats({1, 9, 1.000001f, 3, 0, 2, 0, 1});
  const Scores down{tall.elements, {4, 2}, 1e-5};
  EXPECT_TRUE(
      compareTies(ints({1, 0}).elements, ints({0, 0}).elements, {2}, down).ok);
  EXPECT_FALSE(
      compareTies(ints({2, 0}).elements, ints({0, 0}).elements, {2}, down).ok);
  EXPECT_THROW(compareTies(ints({1, 0, 0}).elements, ints({0, 0, 0}).elements,
                           {3}, columns),
               Error);
}

TEST(Compare, LimitsFollowTheNarrowestType) {
  Case recorded;
  auto argument = [](const char *name, DType type) {
    CaseArgument result;
    result.name = name;
    result.kind = ArgumentKind::Pointer;
    result.type = type;
    return result;
  };
  const CaseArgument fp32 = argument("X", DType::FP32);
  const CaseArgument fp64 = argument("D", DType::FP64);
  recorded.arguments = {fp32};
  EXPECT_EQ(rmsLimit(recorded, fp32, "tl.dot(a, b)"), 1e-5);
  EXPECT_EQ(rmsLimit(recorded, fp32, "tl.dot(a, b)\ntl.dot(c, d)", true), 4e-3);
  EXPECT_EQ(rmsLimit(recorded, fp32, "tl.dot(a, input_precision=p)", true),
            1e-5);
  EXPECT_EQ(rmsLimit(recorded, fp32, "tl.dot(a, b, input_precision=\"ieee\")"),
            1e-5);
  EXPECT_EQ(rmsLimit(recorded, fp32,
                     "tl.dot(tl.dot(a, b, input_precision='tf32'), c)"),
            4e-3);
  // Comments and descriptions ask for nothing.
  EXPECT_EQ(rmsLimit(recorded, fp32,
                     "\"\"\"input_precision='tf32'\"\"\"\n"
                     "tl.dot(a, b)  # input_precision=\"tf32\""),
            1e-5);
  EXPECT_FALSE(namesInputPrecision("tl.dot(a, b)  # allow_tf32=True"));
  EXPECT_EQ(rmsLimit(recorded, fp32, "tl.dot(a, b, allow_tf32  =  True)"),
            2e-3);
  EXPECT_EQ(rmsLimit(recorded, fp32, "x.to(tl.float16)"), 5e-3);
  EXPECT_EQ(rmsLimit(recorded, fp32, "x.to(tl.bfloat16)"), 1.6e-2);
  EXPECT_EQ(rmsLimit(recorded, fp64, ""), 1e-5);
  recorded.arguments = {fp64};
  EXPECT_EQ(rmsLimit(recorded, fp64, "tl.zeros((4,), tl.float64)"), 1e-12);
  recorded.arguments = {fp32, argument("H", DType::BF16)};
  EXPECT_EQ(rmsLimit(recorded, fp32, ""), 1.6e-2);
}
