// tests/unit/autotune/search/ValidationTest.cpp - errors, ranks and fits of
// known numbers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/Validation.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::tune;

namespace {

PublishedTime row(const std::string &kernel, int64_t tokens, double us) {
  PublishedTime one;
  one.kernel = kernel;
  one.gpu = "a100";
  one.tokens = tokens;
  one.microseconds = us;
  return one;
}

// A launch whose time depends on one part of its work.
PublishedTime launchOf(const std::string &kernel, unsigned part, double amount,
                       const CostConstants &truth) {
  PublishedTime one = row(kernel, 1, 0);
  LaunchProfile profile;
  profile.grid = {1080, 1, 1};
  profile.registers = 32;
  profile.samples.push_back({{0.5, 0.5, 0.5}, {}});
  profile.samples[0].work[part] = amount;
  one.launches = {profile};
  one.microseconds = predicted(one, truth);
  return one;
}

} // namespace

TEST(CostValidation, MedianError) {
  const std::vector<PublishedTime> rows = {row("a", 1, 100), row("b", 1, 100),
                                           row("c", 1, 100)};
  EXPECT_NEAR(medianError(rows, {110, 50, 101}), 0.1, 1e-12);
  EXPECT_NEAR(medianError({rows[0], rows[1]}, {110, 50}), 0.3, 1e-12);
}

TEST(CostValidation, TauIsWithinALength) {
  std::vector<PublishedTime> rows = {row("a", 1, 1), row("b", 1, 2),
                                     row("c", 1, 3)};
  EXPECT_DOUBLE_EQ(kendallTau(rows, {5, 6, 7}), 1);
  EXPECT_DOUBLE_EQ(kendallTau(rows, {7, 6, 5}), -1);
  EXPECT_NEAR(kendallTau(rows, {6, 5, 7}), 1 / 3.0, 1e-12);
  // Lengths are not compared with one another.
  rows.push_back(row("a", 2, 10));
  EXPECT_DOUBLE_EQ(kendallTau(rows, {5, 6, 7, 0.1}), 1);
  EXPECT_EQ(kendallTau({rows[0]}, {1}), 0);
}

TEST(CostValidation, FitFindsKnownConstants) {
  CostConstants truth;
  truth.tensorShare = 0.55;
  truth.memoryShare = 0.9;
  truth.issueCycles = 6;
  const auto all = [&](const char *kernel, double scale) {
    return std::vector<PublishedTime>{
        launchOf(kernel, WorkTensor, scale * 1e8, truth),
        launchOf(kernel, WorkSectors, scale * 1e5, truth)};
  };
  std::vector<PublishedTime> rows = all("x", 1);
  for (const PublishedTime &more : all("y", 3))
    rows.push_back(more);
  const CostConstants found = fitConstants(rows);
  EXPECT_NEAR(found.tensorShare, truth.tensorShare, 0.02);
  EXPECT_NEAR(found.memoryShare, truth.memoryShare, 0.03);
  // The own times of a kernel do not move its prediction.
  std::vector<PublishedTime> wrong = rows;
  wrong[0].microseconds *= 5;
  wrong[1].microseconds *= 5;
  const std::vector<double> left = leaveOneKernelOut(rows),
                            other = leaveOneKernelOut(wrong);
  EXPECT_DOUBLE_EQ(left[0], other[0]);
  EXPECT_DOUBLE_EQ(left[1], other[1]);
  EXPECT_NEAR(left[0] / rows[0].microseconds, 1, 0.03);
}

TEST(CostValidation, MedianErrorOfShortRows) {
  const std::vector<PublishedTime> rows = {
      row("a", 1024, 100), row("b", 4096, 100), row("c", 8192, 100)};
  EXPECT_NEAR(medianError(rows, {110, 150, 101}, 4096), 0.3, 1e-12);
  EXPECT_NEAR(medianError(rows, {110, 150, 101}, 4095), 0.1, 1e-12);
  EXPECT_EQ(medianError(rows, {110, 150, 101}, 1), 0);
}
