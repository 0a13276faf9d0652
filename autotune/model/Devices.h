// autotune/model/Devices.h - GPUs whose times can be predicted.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/table/TuneTable.h"
#include "simulator/Estimate.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tune {

// A GPU of autotune/model/devices.yaml. The file names the public source of
// each number.
struct GpuData {
  sim::Device rates; // per SM and cycle; name, target, SMs, clock
  std::string model; // "NVIDIA A100-SXM4-80GB"
  int64_t powerWatts = 0;
  double bf16Tflops = 0, tf32Tflops = 0, fp32Tflops = 0; // peaks
  double warpgroupFma = 0; // of wgmma, per SM and cycle; rates: of mma.sync
  double l2Bytes = 0;
  double l2Latency = 0, dramLatency = 0; // cycles
  double registers = 0;                  // of an SM, of 32 bits

  double microseconds(double cycles) const { return cycles / rates.clockMhz; }
};

// Parses the YAML file; `name` appears in messages (file:line:column). Throws
// Error for unknown, missing or repeated names, numbers that are not positive
// and finite, sources that are not listed, and unused sources.
std::vector<GpuData> parseGpus(std::string_view text, const std::string &name);

// Returns the GPUs of this build.
const std::vector<GpuData> &gpus();
// Returns a GPU by its name, "a100", or the first GPU of a target, "sm_80".
// Throws Error with the nearest name.
const GpuData &findGpu(const std::string &name);

// Converts a GPU to the device model of tuning tables.
DeviceModel deviceModel(const GpuData &gpu);

} // namespace tessera::tune
