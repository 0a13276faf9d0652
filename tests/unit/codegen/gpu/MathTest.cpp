// tests/unit/codegen/gpu/MathTest.cpp - functions on sim against libm.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/gpu/GpuKernel.h"
#include "tests/unit/codegen/gpu/GpuTiles.h"

#include "support/Error.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

using namespace tessera;

namespace {

constexpr int64_t kSize = 4096;

// o = f(x), and of two arguments f(x, y).
std::string functionKernel(const std::string &operation,
                           const std::string &type) {
  layout::LinearLayout map = layout::blocked({kSize}, {{4}, {32}, {4}, {}});
  std::string p = "!tile.ptr<" + type + ">", tensor = tileType(map, type);
  bool two = operation == "arith.remf";
  return "func.func @k(%x: " + p + ", %y: " + p + ", %o: " + p + ") {\n" +
         loadTile("v", "x", map, type) + loadTile("w", "y", map, type) +
         "%f = " + operation + " %v" + (two ? ", %w" : "") + " : " + tensor +
         "\n" + storeTile("f", "o", map, type) + "return\n}\n";
}

template <typename T>
struct Function {
  const char *name;
  T low, high;             // arguments of the table in numerics.md
  double (*exact)(double); // libm's, of a wider or equal type
  double ulps;             // relative part of the bound
  double absolute = 0;     // or this, where it is more
};

// In units of the last place of the exact result.
double ulpsBetween(float got, double exact) {
  float rounded = float(exact);
  if (std::isnan(exact))
    return std::isnan(got) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(got))
    return got == rounded ? 0 : 1e9;
  int exponent = std::max(std::ilogb(rounded == 0 ? 1e-45f : rounded), -126);
  return std::fabs(double(got) - exact) / std::ldexp(1.0, exponent - 23);
}

std::vector<float> arguments(float low, float high) {
  std::vector<float> x;
  std::mt19937 random(3);
  for (int64_t i = 0; i < kSize; ++i)
    x.push_back(low + (high - low) * float(random() / 4294967296.0));
  const float special[] = {0.0f,
                           -0.0f,
                           1.0f,
                           1e-40f,
                           1e-45f,
                           std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN()};
  std::copy(std::begin(special), std::end(special), x.begin());
  return x;
}

double sinExact(double x) { return std::sin(x); }
double cosExact(double x) { return std::cos(x); }
double tanhExact(double x) { return std::tanh(x); }
double erfExact(double x) { return std::erf(x); }
double expExact(double x) { return std::exp(x); }
double exp2Exact(double x) { return std::exp2(x); }
// As the GPU has it: results below the smallest normal number are zero.
double exp2Flushed(double x) { return x < -126 ? 0 : std::exp2(x); }
double logExact(double x) { return std::log(x); }
double log2Exact(double x) { return std::log2(x); }
double sqrtExact(double x) { return std::sqrt(x); }
double rsqrtExact(double x) { return 1 / std::sqrt(x); }

TEST(GpuMath, FunctionsOfF32) {
  // The bounds of docs/numerics.md, column sim and cuda.
  const double lg2 = std::ldexp(1.0, -22);
  const Function<float> functions[] = {
      {"math.exp2", -140, 120, exp2Flushed, 2},
      {"math.exp", -103, -87, expExact, 120},
      {"math.exp", -2, 2, expExact, 5},
      {"math.exp", -100, 88, expExact, 120},
      {"math.log2", 0.25f, 4, log2Exact, 2, lg2},
      {"math.log2", 4, 1e30f, log2Exact, 2, lg2},
      {"math.log", 0.25f, 4, logExact, 3, lg2},
      {"math.log", 1e-39f, 1e-37f, logExact, 3, lg2},
      {"math.sqrt", 0, 1e6f, sqrtExact, 2},
      {"math.rsqrt", 1e-3f, 1e6f, rsqrtExact, 2.2},
      {"math.sin", -1e5f, 1e5f, sinExact, 2},
      {"math.cos", -1e5f, 1e5f, cosExact, 2},
      {"math.tanh", -12, 12, tanhExact, 2},
      {"math.erf", -5, 5, erfExact, 2}};
  for (const Function<float> &function : functions) {
    SCOPED_TRACE(std::string(function.name) + " from " +
                 std::to_string(function.low));
    GpuKernelOptions how;
    how.assignLayouts = false;
    GpuKernel kernel(functionKernel(function.name, "f32"), how);
    std::vector<float> x = arguments(function.low, function.high), o(x.size());
    kernel.run({1}, {x, x, o});
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double exact = function.exact(x[i]);
      if (std::fabs(double(o[i]) - exact) <= function.absolute)
        continue;
      double ulps = ulpsBetween(o[i], exact);
      worst = std::max(worst, ulps);
      ASSERT_LE(ulps, function.ulps)
          << "of " << x[i] << ": " << o[i] << ", not " << exact;
    }
    RecordProperty(function.name, std::to_string(worst));
  }
}

TEST(GpuMath, FunctionsOfF64) {
  const Function<double> functions[] = {
      {"math.exp", -700, 700, expExact, 2.5},
      {"math.exp2", -1000, 1000, exp2Exact, 2.5},
      {"math.log", 1e-9, 100, logExact, 2.5},
      {"math.log2", 1e-9, 100, log2Exact, 2.5},
      {"math.sin", -1e5, 1e5, sinExact, 2.5},
      {"math.cos", -1e5, 1e5, cosExact, 2.5},
      {"math.sqrt", 0, 1e6, sqrtExact, 1},
      {"math.rsqrt", 1e-3, 1e6, rsqrtExact, 2.5}};
  for (const Function<double> &function : functions) {
    SCOPED_TRACE(function.name);
    GpuKernelOptions how;
    how.assignLayouts = false;
    GpuKernel kernel(functionKernel(function.name, "f64"), how);
    std::vector<double> x, o(static_cast<size_t>(kSize));
    std::mt19937_64 random(3);
    for (int64_t i = 0; i < kSize; ++i)
      x.push_back(function.low + (function.high - function.low) *
                                     std::ldexp(double(random()), -64));
    kernel.run({1}, {x, x, o});
    for (size_t i = 0; i < x.size(); ++i) {
      double exact = function.exact(x[i]);
      double unit = std::ldexp(1.0, std::ilogb(exact) - 52);
      ASSERT_LE(std::fabs(o[i] - exact), function.ulps * unit)
          << "of " << x[i] << ": " << o[i] << ", not " << exact;
    }
  }
}

TEST(GpuMath, RemaindersAreExact) {
  GpuKernelOptions how;
  how.assignLayouts = false;
  GpuKernel kernel(functionKernel("arith.remf", "f32"), how);
  std::vector<float> x = arguments(-1e4f, 1e4f), y = arguments(-30, 30),
                     o(x.size());
  std::reverse(y.begin(), y.end());
  kernel.run({1}, {x, y, o});
  for (size_t i = 0; i < x.size(); ++i) {
    // Quotients from 2^53 on give NaN (docs/numerics.md).
    if (std::fabs(double(x[i]) / double(y[i])) >= 0x1p53 && y[i] != 0)
      continue;
    float exact = std::fmod(x[i], y[i]);
    if (std::isnan(exact))
      EXPECT_TRUE(std::isnan(o[i]));
    else
      EXPECT_EQ(o[i], exact) << x[i] << " % " << y[i];
  }
}

// Computed in f32 and rounded once.
TEST(GpuMath, NarrowTypesRoundOnce) {
  for (const Element &type : {elements()[2], elements()[3]})
    for (const auto &[name, exact] :
         std::initializer_list<std::pair<const char *, double (*)(double)>>{
             {"math.sin", sinExact},
             {"math.tanh", tanhExact},
             {"math.exp2", exp2Exact},
             {"math.sqrt", sqrtExact}}) {
      SCOPED_TRACE(std::string(name) + " " + type.name);
      GpuKernelOptions how;
      how.assignLayouts = false;
      GpuKernel kernel(functionKernel(name, type.name), how);
      std::vector<uint8_t> x(kSize * 2), o(kSize * 2), expected(2);
      for (int64_t i = 0; i < kSize; ++i)
        type.put(x, i, double(i) / 1024);
      kernel.run({1}, {x, x, o});
      for (int64_t i = 0; i < kSize; ++i) {
        double value = exact(type.get(x, i)), got = type.get(o, i);
        double unit = std::ldexp(std::max(std::fabs(value), 1e-4),
                                 type.name[0] == 'f' ? -11 : -8);
        ASSERT_NEAR(got, value, 0.51 * 2 * unit) << "of " << type.get(x, i);
      }
    }
}

TEST(GpuMath, FunctionsWithoutCodeAreReported) {
  GpuKernelOptions how;
  how.assignLayouts = false;
  try {
    GpuKernel kernel(functionKernel("math.cbrt", "f64"), how);
    FAIL() << "cbrt of f64 compiled";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("math.cbrt"), std::string::npos)
        << error.what();
  }
}

} // namespace
