// tests/unit/tools/CheckTensorTest.cpp - how tessera check compares tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
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
TEST(CheckTensor, TheRowOfAnElementSaysHowFarItMayBeOff) {
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
