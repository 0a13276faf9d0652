// runtime/device/cuda/Peaks.cpp - what a GPU can do at most.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/Peaks.h"

namespace tessera::runtime::cuda {

namespace {

// CUdevice_attribute (CUDA Driver API reference, "Data types"); clocks in kHz.
constexpr int clockRate = 13, multiprocessors = 16, memoryClock = 36,
              busWidth = 37;

// Operations per clock and multiprocessor. NVIDIA's architecture white papers:
// A100 (8.0): 312 TFLOP/s of 108 multiprocessors at 1.41 GHz; GA102 (8.6);
// AD102 (8.9); H100 (9.0): 989 of 132 at 1.83 GHz. Tensor cores: dense, fp32
// accumulators.
struct PerClock {
  int capability;
  double half, tf32, fp32;
};
constexpr PerClock table[] = {
    {80, 2048, 1024, 128},
    {86, 1024, 512, 256},
    {89, 1024, 512, 256},
    {90, 4096, 2048, 256},
};

} // namespace

double Peaks::of(const std::string &type) const {
  if (type == "fp16" || type == "bf16")
    return half;
  return type == "tf32" ? tf32 : type == "fp32" ? fp32 : 0;
}

Peaks peaksOf(const Driver &driver) {
  Peaks peaks;
  peaks.bytes =
      1e3 * driver.attribute(memoryClock) * 2 * driver.attribute(busWidth) / 8;
  const double clocks =
      1e3 * driver.attribute(clockRate) * driver.attribute(multiprocessors);
  for (const PerClock &row : table)
    if (row.capability == driver.computeCapability()) {
      peaks.half = row.half * clocks;
      peaks.tf32 = row.tf32 * clocks;
      peaks.fp32 = row.fp32 * clocks;
    }
  return peaks;
}

} // namespace tessera::runtime::cuda
