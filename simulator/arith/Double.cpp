// simulator/arith/Double.cpp - f64 arithmetic under a directed rounding, using
// the host's rounding mode.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Float.h"

#include <cfenv>

namespace tessera::sim {

uint64_t directedF64(int op, Rounding rounding, double a, double b, double c) {
  int mode = rounding == Rounding::Zero   ? FE_TOWARDZERO
             : rounding == Rounding::Down ? FE_DOWNWARD
             : rounding == Rounding::Up   ? FE_UPWARD
                                          : FE_TONEAREST;
  int before = std::fegetround();
  std::fesetround(mode);
  // The volatile variables prevent the compiler from moving the operation out
  // of the region with this rounding mode.
  volatile double x = a, y = b, z = c, result = 0;
  switch (op) {
  case OpAdd:
    result = x + y;
    break;
  case OpMul:
    result = x * y;
    break;
  case OpFma:
    result = std::fma(x, y, z);
    break;
  case OpDiv:
    result = x / y;
    break;
  default:
    result = std::sqrt(x);
    break;
  }
  std::fesetround(before);
  return canonicalF64(result);
}

} // namespace tessera::sim
