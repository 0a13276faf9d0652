// tests/numeric/HarnessTest.cpp - what the comparison of the numeric tests
// finds.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/numeric/Harness.h"

#include <cmath>
#include <gtest/gtest-spi.h>

using namespace tessera::numeric;

namespace {

constexpr double limit = 5e-3; // of bf16

// Normal numbers whose rows have sizes from 1 to 1/100, as those of attention
// over more and more keys.
const at::Tensor &wide() {
  static const at::Tensor values = [] {
    at::Tensor made = noise({200, 200}, at::kDouble, 11);
    double *data = made.mutable_data_ptr<double>();
    for (int64_t i = 0; i < made.numel(); ++i)
      data[i] *= std::pow(10, -2.0 * double(i / 200) / 199);
    return made;
  }();
  return values;
}

void compare(const at::Tensor &got) {
  expectClose(got, toReference(wide()), limit, "x");
}

at::Tensor rounded() { return wide().to(at::kBFloat16); }

at::Tensor with(int64_t at, double value) {
  at::Tensor changed = rounded();
  changed.mutable_data_ptr<at::BFloat16>()[at] = at::BFloat16(float(value));
  return changed;
}

} // namespace

TEST(Harness, RightResultsPass) { compare(rounded()); }

// The RMS error stays below the limit.
TEST(Harness, OneWrongElementOf40000InBf16IsFound) {
  for (int64_t row : {0, 7, 50, 90}) {
    int64_t at = row * 200 + 3;
    const double *want = wide().const_data_ptr<double>();
    while (std::fabs(want[at]) < 0.2 || std::fabs(want[at]) > 0.28)
      ++at;
    for (double value : {0.0, want[at] + 0.25}) {
      const at::Tensor wrong = with(at, value);
      EXPECT_NONFATAL_FAILURE(compare(wrong), "off by more than rounding");
    }
  }
}
