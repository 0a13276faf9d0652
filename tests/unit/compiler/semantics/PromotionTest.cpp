// tests/unit/compiler/semantics/PromotionTest.cpp - the table against Triton's
// answers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Promotion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

namespace tessera::semantics {
namespace {

TEST(DTypes, WidthIsInTheName) {
  for (const char *name :
       {"int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
        "uint64", "float16", "bfloat16", "float32", "float64", "float8e4nv",
        "float8e5", "float8e4b8", "float8e5b16", "float8e4b15"}) {
    const auto type = parseDType(name);
    ASSERT_TRUE(type) << name;
    const std::string text = name;
    EXPECT_EQ(bitWidth(*type),
              std::stoul(text.substr(text.find_first_of("0123456789"))))
        << name;
    EXPECT_EQ(isFp8(*type), text.starts_with("float8")) << name;
    EXPECT_EQ(isFloat(*type), text.find("float") != text.npos) << name;
  }
}

TEST(Promotion, EqualsTriton) {
  std::ifstream file(PROMOTION_TABLE);
  ASSERT_TRUE(file.is_open());
  std::string line;
  std::vector<std::string> header;
  size_t compared = 0;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string how, operation, left, expected;
    words >> how;
    if (how == "#")
      continue;
    if (how == "header") {
      while (words >> left)
        header.push_back(left);
      continue;
    }
    words >> operation >> left;
    for (const std::string &right : header) {
      ASSERT_TRUE(words >> expected);
      auto a = parseDType(left), b = parseDType(right);
      ASSERT_TRUE(a && b) << left << " " << right;
      Promoted got =
          promote({*a, how == "weak"}, {*b, false}, operation == "div");
      EXPECT_EQ(got.dtype ? std::string(nameOf(*got.dtype)) : "-", expected)
          << line << "\nright: " << right;
      // Promotion does not depend on the side.
      Promoted swapped =
          promote({*b, false}, {*a, how == "weak"}, operation == "div");
      EXPECT_EQ(swapped.dtype, got.dtype) << line << "\nright: " << right;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 2u * (13 + 7) * 13);
}

TEST(Promotion, PythonNumbers) {
  using I = __int128;
  EXPECT_EQ(dtypeOfInt(0), DType::Int32);
  EXPECT_EQ(dtypeOfInt(-(I(1) << 31)), DType::Int32);
  EXPECT_EQ(dtypeOfInt((I(1) << 31) - 1), DType::Int32);
  EXPECT_EQ(dtypeOfInt(I(1) << 31), DType::UInt32);
  EXPECT_EQ(dtypeOfInt(I(1) << 32), DType::Int64);
  EXPECT_EQ(dtypeOfInt(-(I(1) << 31) - 1), DType::Int64);
  EXPECT_EQ(dtypeOfInt(I(1) << 63), DType::UInt64);
  EXPECT_EQ(dtypeOfInt(I(1) << 64), std::nullopt);
  EXPECT_EQ(dtypeOfFloat(0.1), DType::Fp32);
  EXPECT_EQ(dtypeOfFloat(1e300), DType::Fp64);
  EXPECT_EQ(dtypeOfFloat(1e-300), DType::Fp64);
  EXPECT_EQ(dtypeOfFloat(-HUGE_VAL), DType::Fp32);
}

TEST(Promotion, Sums) {
  EXPECT_EQ(sumDType(DType::Int1), DType::UInt32);
  EXPECT_EQ(sumDType(DType::Int8), DType::Int32);
  EXPECT_EQ(sumDType(DType::UInt16), DType::UInt32);
  EXPECT_EQ(sumDType(DType::Int64), DType::Int64);
  EXPECT_EQ(sumDType(DType::Fp16), DType::Fp16);
}

} // namespace
} // namespace tessera::semantics
