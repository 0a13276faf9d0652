// runtime/device/cuda/Peaks.h - what a GPU can do at most, to judge times by.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/cuda/Driver.h"

#include <string>

namespace tessera::runtime::cuda {

// Rates per second of the whole device at the clock its driver reports; 0 where
// that is not known.
struct Peaks {
  double bytes = 0; // device memory: clock x bus width x 2 (double data rate)
  // Floating-point operations of dense matrix products, two for each multiply
  // and add.
  double half = 0, tf32 = 0; // tensor cores: fp16 or bf16, tf32
  double fp32 = 0;           // fused multiply-adds

  // Of a dot with operands of a type: "fp16", "bf16", "tf32", "fp32".
  double of(const std::string &type) const;
};

Peaks peaksOf(const Driver &driver);

} // namespace tessera::runtime::cuda
