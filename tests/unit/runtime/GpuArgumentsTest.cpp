// tests/unit/runtime/GpuArgumentsTest.cpp - tests of
// runtime/device/gpu/GpuArguments.h.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/gpu/GpuArguments.h"

#include "support/Error.h"
#include "tests/unit/support/Allocations.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

using namespace tessera;
using runtime::GpuArguments;

namespace {

const std::vector<std::string> parameterNames = {
    "an_argument_with_a_long_name_x", "an_argument_with_a_long_name_n",
    "an_argument_with_a_long_name_m", "an_argument_with_a_long_name_s"};

GpuArguments gpuArguments() {
  language::ArtifactMeta meta;
  meta.params = {{parameterNames[0], "pointer", "*fp32:16"},
                 {parameterNames[1], "scalar", "i32"},
                 {parameterNames[2], "scalar", "i64:16"},
                 {parameterNames[3], "scalar", "fp32"}};
  return GpuArguments(meta, "kernel", parameterNames);
}

uint64_t bitsOf(const GpuArguments::Value &value) {
  uint64_t result = 0;
  std::memcpy(&result, value.data(), sizeof(result));
  return result;
}

std::string refusalOf(const std::vector<Arg> &args) {
  try {
    gpuArguments().values(args);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST(GpuArguments, ValuesAreTheBitsOfTheArguments) {
  float x = 0;
  const auto got = gpuArguments().values(std::vector<Arg>{
      Pointer{&x, DType::FP32}, int64_t(-2), int64_t(32), 0.5});
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(bitsOf(got[0]), reinterpret_cast<uint64_t>(&x));
  EXPECT_EQ(uint32_t(bitsOf(got[1])), 0xfffffffeu);
  EXPECT_EQ(bitsOf(got[2]), 32u);
  EXPECT_EQ(uint32_t(bitsOf(got[3])), std::bit_cast<uint32_t>(0.5f));
}

TEST(GpuArguments, MistakesNameTheArgument) {
  float x = 0;
  const Arg pointer = Pointer{&x, DType::FP32}, n = int64_t(2), s = 0.5;
  for (const auto &[args, part] :
       {std::pair(std::vector<Arg>{Pointer{&x, DType::BF16}, n, n, s},
                  "_x` of `kernel` is *fp32 and was given memory of bf16"),
        std::pair(std::vector<Arg>{n, n, n, s},
                  "_x` of `kernel` is *fp32 and was given an integer"),
        std::pair(std::vector<Arg>{pointer, int64_t(1) << 40, n, s},
                  "_n` of `kernel` is i32 and was given 1099511627776"),
        std::pair(std::vector<Arg>{pointer, n, n, n},
                  "_s` of `kernel` is fp32 and was given an integer")}) {
    const std::string failure = refusalOf(args);
    EXPECT_NE(failure.find(part), std::string::npos) << failure;
    EXPECT_NE(failure.find("HINT"), std::string::npos) << failure;
  }
}

// Code for grids of 2^21 programs takes for granted that there are no more.
TEST(GpuArguments, GridsThatTheCodeIsNotFor) {
  language::ArtifactMeta meta;
  for (uint32_t programs : {1u, 1u << 21, (1u << 21) + 1, 0x7fffffffu}) {
    meta.gridLimit = 0;
    GpuArguments(meta, "kernel", {}).checkGrid({programs, 1, 1});
    meta.gridLimit = 1 << 21;
    const GpuArguments made(meta, "kernel", {});
    made.checkGrid({7, programs, programs});
    if (programs <= meta.gridLimit)
      made.checkGrid({programs, 1, 1});
    else
      EXPECT_THROW(made.checkGrid({programs, 1, 1}), Error);
  }
}

// Memory of an argument that is copied ahead of stores to another one.
TEST(GpuArguments, MemoryThatTheCodeTakesToBeApart) {
  language::ArtifactMeta meta;
  const std::vector<std::string> names = {"X", "Y", "Z"};
  for (const std::string &name : names)
    meta.params.push_back({name, "pointer", "*fp32"});
  const auto refusal = [&](const Pointer &x, const Pointer &y) {
    std::vector<float> other(4);
    try {
      GpuArguments(meta, "kernel", names)
          .values(std::vector<Arg>{
              x, y, Pointer{other.data(), DType::FP32, 4 * sizeof(float)}});
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  std::vector<float> memory(8);
  const auto part = [&](int64_t first, size_t count, size_t before = 0) {
    return Pointer{memory.data() + first, DType::FP32, count * sizeof(float),
                   before * sizeof(float)};
  };
  EXPECT_EQ(refusal(part(0, 8), part(0, 8)), ""); // no such code
  meta.disjoint = {{0, 1}};
  const std::string failure = refusal(part(0, 5), part(4, 4));
  EXPECT_NE(failure.find("`kernel` copies `X` ahead of stores to `Y`, and the "
                         "two arguments share memory"),
            std::string::npos)
      << failure;
  EXPECT_NE(failure.find("num_stages=1"), std::string::npos) << failure;
  EXPECT_NE(refusal(part(4, 4), part(0, 5)), "");
  EXPECT_EQ(refusal(part(0, 4), part(4, 4)), "");
  EXPECT_EQ(refusal(part(4, 4), part(0, 4)), "");
  EXPECT_NE(refusal(part(4, 4, 1), part(0, 4)), ""); // a negative stride
  EXPECT_EQ(refusal(part(0, 8), part(3, 0)), "");    // nothing in it
  EXPECT_EQ(refusal(part(0, 4), Pointer{nullptr, DType::FP32}), "");
  // Of memory of unknown size the first byte is known.
  const Pointer unknown{memory.data() + 3, DType::FP32};
  EXPECT_NE(refusal(part(0, 4), unknown), "");
  EXPECT_EQ(refusal(part(0, 3), unknown), "");
}

// Every launch comes here.
TEST(GpuArguments, AGoodLaunchBuildsNoText) {
  const GpuArguments made = gpuArguments();
  float x = 0;
  const std::vector<Arg> args = {Pointer{&x, DType::FP32}, int64_t(-2),
                                 int64_t(32), 0.5};
  GpuArguments::Value values[4];
  const uint64_t before = allocationsOfThread();
  made.fill(args, values);
  EXPECT_EQ(allocationsOfThread() - before, 0u);
  EXPECT_EQ(bitsOf(values[2]), 32u);
}
