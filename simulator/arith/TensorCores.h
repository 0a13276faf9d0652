// simulator/arith/TensorCores.h - how tensor cores add products.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/isa/Types.h"

namespace tessera::sim {

// Of an element: F16, Bf16, Tf32, F32, F64, S8, U8, S32, E4m3 or E5m2.
using MmaType = Type;

// Fused: in ascending k, each sum rounded to nearest in fp32.
//
// A100, H100: what was measured on them (Fasi, Higham, Mikaitis, Pranesh:
// Numerical behavior of NVIDIA tensor cores, PeerJ CS 7:e330, 2021; Khattak,
// Mikaitis: Accurate models of NVIDIA tensor cores, arXiv 2512.07004, 2025).
// Groups of products go one after the other, in ascending k. The products of a
// group and the sum so far are cut off below a common last place, added
// exactly, and the sum is cut off to fp32. With e the largest exponent among
// them, a product's being the sum of its factors', that place is 2^(e - 23 -
// n).
//
//          products of a group       n
//          fp16, bf16   tf32
//   A100        8         4          1
//   H100       16         8          2
enum class TensorCores : uint8_t { Fused, A100, H100 };

// c + a[0] b[0] + ... + a[count - 1] b[count - 1] as A100 or H100 adds it.
// type: of a and b; F16, Bf16 or Tf32. Any infinity or NaN: as fp32 adds them.
float truncatedSum(TensorCores cores, MmaType type, const float *a,
                   const float *b, int count, float c);

} // namespace tessera::sim
