// autotune/model/Floors.cpp - the minimum time that each unit of a GPU needs
// for a launch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/Floors.h"

#include "autotune/model/GridInterpolation.h"

namespace tessera::tune {

std::vector<Floor> floorsOf(const LaunchProfile &profile, const GpuData &gpu) {
  const sim::Device &sm = gpu.rates;
  const auto total = [&](auto &&amount) {
    std::vector<double> values;
    for (const LaunchProfile::Sample &sample : profile.samples)
      values.push_back(amount(sample.work));
    return GridInterpolation(profile, values).sum();
  };
  const auto part = [&](unsigned index) {
    return total([&](const Work &work) { return work[index]; });
  };
  const unsigned special = unsigned(sim::Class::Special);
  const double traffic = part(WorkSectors) * sectorBytes;
  const double tensorRate = profile.warpgroup ? gpu.warpgroupFma : sm.tensorFma;
  const std::pair<const char *, double> cycles[] = {
      {"tensor", part(WorkTensor) / (tensorRate * sm.sms)},
      {"shared memory",
       part(WorkShared) * passBytes / (sm.sharedBytesPerCycle * sm.sms)},
      {"instructions", total(warpInstructions) / (sm.issueWarps * sm.sms)},
      {"special functions", part(special) * 32 / (sm.lanes[special] * sm.sms)},
      {"L2", traffic / sm.l2BytesPerCycle},
      {"memory",
       std::min(profile.bytes, traffic) / (sm.dramGbytes * 1e3 / sm.clockMhz)}};
  std::vector<Floor> floors;
  for (const auto &[unit, count] : cycles)
    floors.push_back({unit, gpu.microseconds(count)});
  std::stable_sort(floors.begin(), floors.end(),
                   [](const Floor &a, const Floor &b) {
                     return a.microseconds > b.microseconds;
                   });
  return floors;
}

std::string uncheckedPart(const LaunchProfile &profile, const GpuData &gpu) {
  bool products = false;
  for (const LaunchProfile::Sample &sample : profile.samples)
    products = products || sample.work[WorkTensor] > 0;
  if (!products || profile.warpgroup || gpu.rates.tensorFma == gpu.warpgroupFma)
    return "";
  return "no published time checks the rate of mma.sync on this GPU";
}

} // namespace tessera::tune
