// tests/unit/support/CudaToolsTest.cpp - the newest PTX version of a ptxas.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/CudaTools.h"

#include <gtest/gtest.h>

// PTX ISA, "Release Notes": the toolkit that brought each version.
TEST(Ptxas, TheNewestPtxOfEachToolkit) {
  const std::pair<const char *, uint32_t> known[] = {
      {"10.2.89", 60}, {"11.0.194", 70}, {"11.8.89", 78}, {"12.0.76", 80},
      {"12.1.66", 81}, {"12.2.91", 82},  {"12.3.52", 83}, {"12.4.99", 84},
      {"12.5.40", 85}, {"12.6.20", 85},  {"12.7.3", 86},  {"12.8.93", 87},
      {"12.9.19", 88}, {"13.0.48", 90}};
  for (const auto &[version, ptx] : known)
    EXPECT_EQ((tessera::Ptxas{"ptxas", version}.ptxVersion()), ptx) << version;
}
