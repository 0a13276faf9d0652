// runtime/device/cuda/Peaks.h - peak rates of a GPU, to which measured times
// are compared.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/cuda/Driver.h"

#include <string>

namespace tessera::runtime::cuda {

// Peak rates per second of the complete device at the clock that the driver
// reports; 0 if unknown.
struct Peaks {
  double bytes = 0; // device memory: clock x bus width x 2 (double data rate)
  // Floating-point operations of dense matrix products, two for each multiply
  // and add.
  double half = 0, tf32 = 0; // tensor cores: fp16 or bf16, tf32
  double fp32 = 0;           // fused multiply-adds

  // Returns the rate of a dot with operands of a type: "fp16", "bf16", "tf32",
  // "fp32".
  double of(const std::string &type) const;
};

Peaks peaksOf(const Driver &driver);

} // namespace tessera::runtime::cuda
