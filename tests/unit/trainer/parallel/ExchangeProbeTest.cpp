// tests/unit/trainer/parallel/ExchangeProbeTest.cpp - the line that a run
// prints about the gradient exchange at its start.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/parallel/ExchangeProbe.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::trainer;

TEST(ExchangeProbe, RatesAreThoseOfARing) {
  EXPECT_EQ(exchangeLine(25e6, 0.01, 100e6, 2),
            "exchange: 25.0 MB of gradients meet in 10.00 ms, 2.50 GB/s of a "
            "link; those of a step are 100.0 MB, 40.0 ms during the backward "
            "pass");
  // Of four processes each byte passes a link 1.5 times.
  EXPECT_NE(exchangeLine(1e9, 1, 1e9, 4).find(" 1.50 GB/s"), std::string::npos);
}
