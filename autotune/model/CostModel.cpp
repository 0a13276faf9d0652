// autotune/model/CostModel.cpp - the time of a launch on a GPU that is not at
// hand.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/CostModel.h"

#include "support/GpuTarget.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace tessera::tune {

using sim::Class;

const CostConstants fittedConstants = {.serial = 0.40838990041665224,
                                       .issueCycles = 1.3773602124492297,
                                       .latency = 1.7630210719350141,
                                       .tensorShare = 0.67072577120033128,
                                       .memoryShare = 1};

namespace {

constexpr double sectorBytes = 32, passBytes = 128;
// So many blocks for each slot decide the end of a launch well enough.
constexpr uint64_t mostWaves = 16;

// Estimates a quantity (cycles, sectors) of each block of the grid from the
// sampled blocks: the product of one factor per axis, each relative to the
// middle block and linear between samples. Where lists of tokens decide what a
// block does, the middle block may do less than most, and the estimate of all
// others would be too large. So the middle counts at least as the median.
class GridInterpolation {
public:
  // `values`: the quantity of each sample, the middle block's first.
  GridInterpolation(const LaunchProfile &profile, std::vector<double> values)
      : grid(profile.grid), middle(std::max(values[0], medianOf(values))) {
    values[0] = middle;
    for (size_t axis = 0; axis < 3; ++axis) {
      std::vector<std::pair<double, double>> known;
      for (size_t i = 0; i < values.size(); ++i)
        if (onAxis(profile.samples, i, axis))
          known.emplace_back(profile.samples[i].at[axis],
                             middle > 0 ? values[i] / middle : 1);
      std::sort(known.begin(), known.end());
      // A long axis is interpolated at so many points.
      const uint32_t count = std::min(grid[axis], mostPoints);
      for (uint32_t k = 0; k < count; ++k)
        factors[axis].push_back(between(known, (k + 0.5) / count));
    }
  }

  double operator()(uint64_t block) const {
    const uint64_t x = block % grid[0], rest = block / grid[0];
    return middle * factor(0, x) * factor(1, rest % grid[1]) *
           factor(2, rest / grid[1]);
  }

  double sum() const {
    double product = middle;
    for (size_t axis = 0; axis < 3; ++axis) {
      double all = 0;
      for (double one : factors[axis])
        all += one;
      product *= all * grid[axis] / double(factors[axis].size());
    }
    return product;
  }

private:
  static constexpr uint32_t mostPoints = 1 << 20;

  static double medianOf(std::vector<double> values) {
    const auto half = values.begin() + long(values.size() / 2);
    std::nth_element(values.begin(), half, values.end());
    return *half;
  }

  double factor(size_t axis, uint64_t at) const {
    const std::vector<double> &points = factors[axis];
    return points.size() == grid[axis]
               ? points[at]
               : points[at * points.size() / grid[axis]];
  }

  static bool onAxis(const std::vector<LaunchProfile::Sample> &samples,
                     size_t i, size_t axis) {
    for (size_t other = 0; other < 3; ++other)
      if (other != axis && samples[i].at[other] != samples[0].at[other])
        return false;
    return true;
  }

  static double between(const std::vector<std::pair<double, double>> &known,
                        double at) {
    const auto above = std::lower_bound(
        known.begin(), known.end(), at,
        [](const auto &one, double value) { return one.first < value; });
    if (above == known.begin())
      return known.front().second;
    if (above == known.end())
      return known.back().second;
    const auto below = above - 1;
    const double part = (at - below->first) / (above->first - below->first);
    return below->second + part * (above->second - below->second);
  }

  const Grid grid;
  const double middle;
  std::array<std::vector<double>, 3> factors;
};

// Share of the traffic that DRAM has to move; the rest is in L2.
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
    // A copy that was issued n steps ago is n steps nearer.
    const double step = std::max(result.units * resident, result.chain) / waits;
    const double ahead = std::max(profile.copiesInFlight - 1, 0.0);
    result.waits += waits * std::max(latency - ahead * step, 0.0);
  }
  return result;
}

double makespan(uint64_t blocks, uint64_t slots,
                const std::function<double(uint64_t)> &cycles) {
  if (!blocks || !slots)
    return 0;
  const uint64_t step = std::max<uint64_t>(blocks / (slots * mostWaves), 1);
  // The sum is that of all, or of so many that none is missed that matters.
  const uint64_t stride = std::max<uint64_t>(blocks >> 22, 1);
  std::priority_queue<double, std::vector<double>, std::greater<>> free;
  double end = 0, looked = 0, all = 0;
  for (uint64_t i = 0; i < blocks; i += stride)
    all += cycles(i) * double(stride);
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
  // What ends late does so once, however many blocks come before.
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
  const double compute =
      makespan(profile.blocks(), uint64_t(gpu.rates.sms * here),
               [&](uint64_t block) { return cyclesOf(block); });
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
