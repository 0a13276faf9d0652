// tests/unit/tools/CheckTensorTest.cpp - how tessera check compares tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Elements.h"
#include "tools/check/Tensor.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tools;

namespace {

// Of bf16, in 40,000 elements whose RMS is 1.
struct Results {
  Results() : want(DType::FP32, {200, 200}) {
    want.fillRandom(1);
    got = want.as(DType::BF16);
  }
  Difference compared() const { return compare(got, want, limit); }

  static constexpr double limit = 5e-3;
  Tensor want, got;
};

} // namespace

TEST(CheckTensor, RoundingIsNoDifference) {
  const Results results;
  EXPECT_TRUE(results.compared().ok(Results::limit));
  EXPECT_GT(results.compared().error, 0);
}

TEST(CheckTensor, OneWrongElementOf40000InBf16IsFound) {
  for (int64_t at : {0, 12345, 39999}) {
    Results results;
    results.got.set(at, results.want.at(at) + 0.3);
    const Difference found = results.compared();
    EXPECT_LT(found.error, Results::limit);
    EXPECT_EQ(found.where, at);
    EXPECT_EQ(found.wrong, 1);
    EXPECT_FALSE(found.ok(Results::limit));
  }
}

// The rounding error of an element is that of its row's terms.
TEST(CheckTensor, TheRowOfAnElementBoundsItsError) {
  Tensor want(DType::FP32, {100, 10});
  want.fill(0.01);
  for (int64_t i = 0; i < 10; ++i)
    want.set(i, i == 5 ? 0 : 1);
  Tensor got = want.copy();
  got.set(5, 0.015);
  EXPECT_TRUE(compare(got, want, 5e-3).ok(5e-3));
  got.set(5, 0);
  got.set(505, 0.025);
  EXPECT_EQ(compare(got, want, 5e-3).where, 505);
}

TEST(CheckTensor, IntegersMustBeEqual) {
  Tensor want(DType::I32, {50});
  want.fillUniform(3, 0, 1000);
  Tensor got = want.copy();
  EXPECT_TRUE(compare(got, want, 5e-3).ok(5e-3));
  got.set(49, want.at(49) + 1);
  EXPECT_EQ(compare(got, want, 5e-3).where, 49);
}

// The lowest address belongs to the largest index of a negative stride.
TEST(CheckTensor, ElementsAreWhereTheirStridesPutThem) {
  for (const std::vector<int64_t> &strides :
       {std::vector<int64_t>{12, 4, 1}, {40, 12, 2}, {1, 2, 6}, {-50, 9, -2}}) {
    Tensor tensor(DType::I32, {2, 3, 4}, strides);
    for (int64_t i = 0; i < 24; ++i)
      tensor.set(i, double(i + 1));
    int64_t start = 0;
    for (int dim = 0; dim < 3; ++dim)
      start += std::max<int64_t>(-strides[dim], 0) * (dim + 1);
    const auto *numbers = static_cast<const int32_t *>(tensor.data());
    for (int64_t i = 0; i < 24; ++i)
      EXPECT_EQ(numbers[start + i / 12 * strides[0] + i / 4 % 3 * strides[1] +
                        i % 4 * strides[2]],
                i + 1)
          << "strides of " << strides[0];
  }
}

// Strides of {1, 3} store the 3 x 3 tensor by columns.
TEST(CheckTensor, EveryTypeHoldsItsValuesAtItsStrides) {
  for (DType type :
       {DType::I1, DType::I8, DType::U8, DType::I16, DType::U16, DType::I32,
        DType::U32, DType::I64, DType::U64, DType::FP16, DType::BF16,
        DType::FP32, DType::FP64, DType::FP8E4NV, DType::FP8E5}) {
    Tensor tensor(type, {3, 3}, {1, 3});
    for (int64_t i = 0; i < 9; ++i)
      tensor.set(i, double(i));
    for (int64_t i = 0; i < 9; ++i)
      EXPECT_EQ(tensor.at(i), double(type == DType::I1 ? i != 0 : i))
          << dtypeName(type) << " " << i;
    EXPECT_EQ(tensor.bytes(), 9 * cases::elementBytes(type));
  }
}

TEST(CheckTensor, AnyOtherByteOfABooleanIsADifference) {
  Tensor want(DType::I1, {2});
  want.fill(1);
  Tensor got = want.copy();
  static_cast<char *>(got.data())[1] = 2;
  EXPECT_EQ(compare(got, want, 0).where, 1);
}
