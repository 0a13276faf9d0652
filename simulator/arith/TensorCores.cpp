// simulator/arith/TensorCores.cpp - models how tensor cores add products.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/TensorCores.h"

#include "simulator/arith/Mma.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::sim {
namespace {

// Returns the exponent. A subnormal has the exponent `least` of the smallest
// normal number.
int exponentOf(float value, int least) {
  return std::max(std::ilogb(value), least);
}

// Rounds toward zero to fp32.
float cutOff(double value) {
  if (std::fabs(value) >= 0x1p128)
    return std::copysign(std::numeric_limits<float>::infinity(),
                         static_cast<float>(value));
  float nearest = static_cast<float>(value);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value))
    nearest = std::nextafter(nearest, 0.0f);
  return nearest;
}

// Adds one group of products and c. All values are finite.
float groupSum(const float *a, const float *b, int count, float c, int least,
               int extraBits) {
  constexpr int None = std::numeric_limits<int>::min();
  int top = c != 0 ? exponentOf(c, -126) : None;
  for (int k = 0; k < count; ++k)
    if (a[k] != 0 && b[k] != 0)
      top = std::max(top, exponentOf(a[k], least) + exponentOf(b[k], least));
  if (top == None)
    return c + 0.0f;
  // At most 17 numbers below 2^(25 + extraBits), so no sum overflows. Products
  // of two fp32 numbers with 11 significant bits each are exact in fp64.
  const int last = top - 23 - extraBits;
  auto whole = [&](double value) {
    return static_cast<int64_t>(std::ldexp(value, -last));
  };
  int64_t sum = whole(c);
  for (int k = 0; k < count; ++k)
    sum += whole(static_cast<double>(a[k]) * static_cast<double>(b[k]));
  return cutOff(std::ldexp(static_cast<double>(sum), last));
}

} // namespace

float truncatedSum(TensorCores cores, MmaType type, const float *a,
                   const float *b, int count, float c) {
  float plain = c;
  for (int k = 0; k < count; ++k)
    plain += a[k] * b[k];
  bool finite = std::isfinite(c);
  for (int k = 0; k < count; ++k)
    finite = finite && std::isfinite(a[k]) && std::isfinite(b[k]);
  if (!finite)
    return plain;
  const bool isH100 = cores == TensorCores::H100;
  const int group = (type == MmaType::Tf32 ? 4 : 8) * (isH100 ? 2 : 1);
  const int least = type == MmaType::F16 ? -14 : -126;
  for (int k = 0; k < count; k += group)
    c = groupSum(a + k, b + k, std::min(group, count - k), c, least,
                 isH100 ? 2 : 1);
  return c;
}

} // namespace tessera::sim
