// tests/unit/support/QuantitiesTest.cpp - tests of support/Quantities.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Quantities.h"

#include "support/Error.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace std::chrono_literals;

TEST(Quantities, Bytes) {
  EXPECT_EQ(parseBytes("0", "x"), 0u);
  EXPECT_EQ(parseBytes("800", "x"), 800u);
  EXPECT_EQ(parseBytes("8b", "x"), 8u);
  EXPECT_EQ(parseBytes("12k", "x"), 12288u);
  EXPECT_EQ(parseBytes("500M", "x"), 524288000u);
  EXPECT_EQ(parseBytes("1.5g", "x"), 1610612736u);
  EXPECT_EQ(parseBytes("2T", "x"), uint64_t(2) << 40);
  for (const char *bad : {"", "-1", "4 G", "G", "4GB", "1e3", "0x10", "inf",
                          "nan", "9999999999T", "4G4"})
    EXPECT_THROW(parseBytes(bad, "x"), Error) << bad;
  try {
    parseBytes("much", "TESSERA_CACHE_SIZE");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.message, "TESSERA_CACHE_SIZE=much is not a size");
    EXPECT_FALSE(error.hint.empty());
  }
}

TEST(Quantities, TimeSpans) {
  EXPECT_EQ(parseTimeSpan("90s", "x"), 90s);
  EXPECT_EQ(parseTimeSpan("45m", "x"), 45min);
  EXPECT_EQ(parseTimeSpan("1.5h", "x"), 90min);
  EXPECT_EQ(parseTimeSpan("30D", "x"), 720h);
  EXPECT_EQ(parseTimeSpan("2w", "x"), 336h);
  for (const char *bad : {"", "30", "d", "-1d", "1y", "1 d", "99999999999999w"})
    EXPECT_THROW(parseTimeSpan(bad, "x"), Error) << bad;
}

TEST(Quantities, Texts) {
  EXPECT_EQ(bytesText(17), "17 B");
  EXPECT_EQ(bytesText(1536), "1.5 KiB");
  EXPECT_EQ(bytesText(uint64_t(4) << 30), "4.0 GiB");
  EXPECT_EQ(timeSpanText(0s), "0 seconds");
  EXPECT_EQ(timeSpanText(1s), "1 second");
  EXPECT_EQ(timeSpanText(150s), "2 minutes");
  EXPECT_EQ(timeSpanText(90h), "3 days");
}
