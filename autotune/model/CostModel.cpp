// autotune/model/CostModel.cpp - predicts the time of a launch on a GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/CostModel.h"

#include "autotune/model/GridInterpolation.h"
#include "support/GpuTarget.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace tessera::tune {

using sim::Class;

const CostConstants fittedConstants = {.serial = 0.30353583432469194,
                                       .issueCycles = 4.47213595499958,
                                       .latency = 1.7268018333816035,
                                       .tensorShare = 0.6070324023167103,
                                       .memoryShare = 0.9684450715058311};

namespace {

// Upper bound on the number of simulated waves; more change the predicted end
// little.
constexpr uint64_t mostWaves = 16;

// Returns the share of the traffic that DRAM transfers; L2 serves the rest.
double missShare(const LaunchProfile &profile, double traffic) {
  return traffic > 0 ? std::min(profile.bytes / traffic, 1.0) : 1;
}

} // namespace

uint32_t residentBlocks(const LaunchProfile &profile, const GpuData &gpu) {
  const GpuTarget target = GpuTarget::parse(gpu.rates.target);
  const uint32_t most =
      std::min(target.registersPerThread,
               target.registersPerSm / std::max(profile.threads, 1u));
  return target
      .occupancy(profile.registers ? profile.registers : most,
                 profile.sharedBytes, profile.threads)
      .blocks;
}

BlockCycles blockCycles(const Work &work, const LaunchProfile &profile,
                        double resident, const GpuData &gpu,
                        const CostConstants &c) {
  const sim::Device &sm = gpu.rates;
  const double instructions = warpInstructions(work);
  double lanes = instructions / sm.issueWarps;
  for (unsigned k = 0; k < sim::NumClasses; ++k)
    if (sm.lanes[k] > 0 && k != unsigned(Class::Special))
      lanes = std::max(lanes, work[k] * 32 / sm.lanes[k]);
  const double l2 = sm.l2BytesPerCycle / sm.sms * c.memoryShare;
  const std::pair<const char *, double> units[] = {
      {"instructions", lanes},
      {"special functions", work[unsigned(Class::Special)] * 32 /
                                sm.lanes[unsigned(Class::Special)]},
      {"tensor", work[WorkTensor] /
                     ((profile.warpgroup ? gpu.warpgroupFma : sm.tensorFma) *
                      c.tensorShare)},
      {"shared memory", work[WorkShared] * passBytes / sm.sharedBytesPerCycle},
      {"L2", work[WorkSectors] * sectorBytes / l2}};
  BlockCycles result;
  double sum = 0, largest = 0;
  for (const auto &[name, cycles] : units) {
    sum += cycles;
    if (cycles > largest) {
      largest = cycles;
      result.busiest = name;
    }
  }
  result.units = largest + c.serial * (sum - largest);
  const double warps = std::ceil(profile.threads / 32.0);
  result.chain = instructions / warps * c.issueCycles;
  const double miss = missShare(profile, work[WorkSectors] * sectorBytes *
                                             double(profile.blocks()));
  const double latency =
      c.latency * (gpu.l2Latency + miss * (gpu.dramLatency - gpu.l2Latency));
  result.waits = work[WorkLoads] / warps * latency;
  const double waits = work[WorkWaits] / warps;
  if (waits > 0) {
    // The latency of a copy issued n steps earlier is reduced by n steps.
    const double step = std::max(result.units * resident, result.chain) / waits;
    const double ahead = std::max(profile.copiesInFlight - 1, 0.0);
    result.waits += waits * std::max(latency - ahead * step, 0.0);
  }
  return result;
}

double makespan(uint64_t blocks, uint64_t slots,
                const std::function<double(uint64_t)> &cycles, double all) {
  if (!blocks || !slots)
    return 0;
  const uint64_t step = std::max<uint64_t>(blocks / (slots * mostWaves), 1);
  std::priority_queue<double, std::vector<double>, std::greater<>> free;
  double end = 0, looked = 0;
  for (uint64_t i = 0; i < blocks; i += step) {
    const double time = cycles(i);
    looked += time;
    double begin = 0;
    if (free.size() == slots) {
      begin = free.top();
      free.pop();
    }
    free.push(begin + time);
    end = std::max(end, begin + time);
  }
  // The tail occurs once, however many blocks precede it.
  return step == 1 ? end : (all - looked) / double(slots) + end;
}

Prediction predict(const LaunchProfile &profile, const GpuData &gpu,
                   const CostConstants &c) {
  Prediction result;
  result.resident = residentBlocks(profile, gpu);
  if (!result.resident || profile.samples.empty())
    return result;
  const double here =
      std::min<double>(result.resident, std::ceil(double(profile.blocks()) /
                                                  double(gpu.rates.sms)));
  std::vector<double> cycles, sectors;
  BlockCycles middle;
  for (const LaunchProfile::Sample &sample : profile.samples) {
    const BlockCycles one = blockCycles(sample.work, profile, here, gpu, c);
    if (cycles.empty())
      middle = one;
    cycles.push_back(one.with(here));
    sectors.push_back(sample.work[WorkSectors]);
  }
  const GridInterpolation cyclesOf(profile, cycles);
  const double compute = makespan(
      profile.blocks(), uint64_t(gpu.rates.sms * here),
      [&](uint64_t block) { return cyclesOf(block); }, cyclesOf.sum());
  const double traffic =
      GridInterpolation(profile, sectors).sum() * sectorBytes;
  const double l2 = traffic / (gpu.rates.l2BytesPerCycle * c.memoryShare);
  const double dram =
      std::min(profile.bytes, traffic) /
      (gpu.rates.dramGbytes * 1e3 / gpu.rates.clockMhz * c.memoryShare);
  const double most = std::max({compute, l2, dram});
  result.limit = most == compute
                     ? middle.units * here >= middle.chain + middle.waits
                           ? middle.busiest
                           : "latency"
                 : most == l2 ? "L2"
                              : "memory";
  result.microseconds = gpu.microseconds(most + gpu.rates.launchCycles);
  return result;
}

double plainBound(double tensorFlops, double bytes, const GpuData &gpu) {
  return std::max(tensorFlops / (gpu.bf16Tflops * 1e6),
                  bytes / (gpu.rates.dramGbytes * 1e3));
}

} // namespace tessera::tune
