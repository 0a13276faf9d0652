// tests/unit/runtime/device/ResultsTest.cpp - the driver's errors: all of
// NVIDIA's header have a cause.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/Results.h"
#include "support/File.h"

#include <gtest/gtest.h>

#include <regex>

using namespace tessera;
using namespace tessera::runtime::cuda;

TEST(CudaResults, AreThoseOfNvidiasHeader) {
  const std::string header = readFile(TESSERA_CUDA_HEADER);
  const std::regex entry("(CUDA_ERROR_[A-Z0-9_]+)\\s*=\\s*([0-9]+),?");
  size_t count = 0;
  for (std::sregex_iterator at(header.begin(), header.end(), entry), end;
       at != end; ++at, ++count)
    EXPECT_EQ(nameOf(std::stoi((*at)[2])), (*at)[1]);
  EXPECT_GT(count, 90u);
}

TEST(CudaResults, HaveHints) {
  EXPECT_EQ(causeOf(2), Cause::Memory);
  EXPECT_EQ(causeOf(716), Cause::Kernel);
  EXPECT_EQ(causeOf(214), Cause::Lost);
  EXPECT_EQ(causeOf(12345), Cause::Machine);
  EXPECT_EQ(nameOf(12345), "");
  for (int result = 1; result < 1000; ++result)
    EXPECT_FALSE(hintOf(result).empty());
}
