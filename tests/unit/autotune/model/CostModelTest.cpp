// tests/unit/autotune/model/CostModelTest.cpp - each term of the cost model
// against hand calculations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/CostModel.h"

#include "autotune/model/Floors.h"
#include "autotune/model/SampledGpu.h"

#include "support/Error.h"

#include <gtest/gtest.h>

#include <random>

using namespace tessera;
using namespace tessera::tune;
using sim::Class;

namespace {

// Nothing is lost: every unit at its peak, all at once.
constexpr CostConstants ideal = {0, 1, 1, 1, 1};

LaunchProfile profileOf(const Work &work, const Grid &grid,
                        uint32_t threads = 128) {
  LaunchProfile profile;
  profile.grid = grid;
  profile.threads = threads;
  profile.registers = 32;
  profile.samples.push_back({{0.5, 0.5, 0.5}, work});
  return profile;
}

Work workWith(unsigned part, double amount) {
  Work work{};
  work[part] = amount;
  return work;
}

BlockCycles cycles(const Work &work, double resident = 1,
                   const CostConstants &constants = ideal) {
  return blockCycles(work, profileOf(work, {108, 1, 1}), resident,
                     findGpu("a100"), constants);
}

// Ends of the blocks when each goes to the slot that is free first.
double inOrder(uint64_t blocks, uint64_t slots,
               const std::function<double(uint64_t)> &time) {
  std::vector<double> ends(slots, 0.0);
  for (uint64_t i = 0; i < blocks; ++i)
    *std::min_element(ends.begin(), ends.end()) += time(i);
  return *std::max_element(ends.begin(), ends.end());
}

} // namespace

TEST(CostModel, ResidentBlocksByEachLimit) {
  const GpuData &a100 = findGpu("a100");
  LaunchProfile profile = profileOf({}, {1, 1, 1});
  EXPECT_EQ(residentBlocks(profile, a100), 16u); // 64 warps, 4 a block
  profile.registers = 128;
  EXPECT_EQ(residentBlocks(profile, a100), 4u);
  profile.registers = 0; // not known: 255
  EXPECT_EQ(residentBlocks(profile, a100), 2u);
  profile.registers = 32;
  profile.sharedBytes = 48 << 10; // 49 KiB with the system's, of 164
  EXPECT_EQ(residentBlocks(profile, a100), 3u);
  EXPECT_EQ(residentBlocks(profile, findGpu("h100")), 4u); // of 228
  profile.sharedBytes = 200 << 10;
  EXPECT_EQ(residentBlocks(profile, a100), 0u);
  profile.sharedBytes = 0;
  profile.threads = 32;
  EXPECT_EQ(residentBlocks(profile, a100), 32u); // blocks
}

TEST(CostModel, UnitsAtTheirRates) {
  const auto units = [](unsigned part, double amount) {
    return cycles(workWith(part, amount)).units;
  };
  // Four schedulers; 64 lanes of integers are half as fast.
  EXPECT_DOUBLE_EQ(units(unsigned(Class::GlobalLoad), 400), 100);
  EXPECT_DOUBLE_EQ(units(unsigned(Class::Integer), 400), 200);
  EXPECT_DOUBLE_EQ(units(unsigned(Class::Special), 400), 800);
  EXPECT_DOUBLE_EQ(units(WorkTensor, 16 * 8 * 16 * 10), 20);
  EXPECT_DOUBLE_EQ(units(WorkShared, 300), 300);
  // 3831 bytes a cycle for 108 SMs.
  EXPECT_DOUBLE_EQ(units(WorkSectors, 3831), 32 * 108);
  EXPECT_EQ(cycles(workWith(WorkTensor, 1e6)).busiest, "tensor");
  EXPECT_EQ(cycles(workWith(WorkShared, 10)).busiest, "shared memory");
}

// `serial` is the share of the other units' time that does not overlap with the
// busiest unit.
TEST(CostModel, UnitsOverlapByTheFittedShare) {
  Work work = workWith(WorkTensor, 1024.0 * 100);
  work[WorkShared] = 50;
  EXPECT_DOUBLE_EQ(cycles(work).units, 100);
  CostConstants half = ideal;
  half.serial = 0.5;
  EXPECT_DOUBLE_EQ(cycles(work, 1, half).units, 125);
  half.tensorShare = 0.5;
  EXPECT_DOUBLE_EQ(cycles(work, 1, half).units, 225);
}

// mma.sync has 1288 multiply-adds a cycle on an H100, wgmma 2048.
TEST(CostModel, WarpgroupProductsHaveTheirOwnRate) {
  const Work work = workWith(WorkTensor, 2048.0 * 1288);
  LaunchProfile profile = profileOf(work, {1, 1, 1});
  const GpuData &h100 = findGpu("h100");
  EXPECT_DOUBLE_EQ(blockCycles(work, profile, 1, h100, ideal).units, 2048);
  profile.warpgroup = true;
  EXPECT_DOUBLE_EQ(blockCycles(work, profile, 1, h100, ideal).units, 1288);
}

// A warp's instructions follow one another; more blocks hide that.
TEST(CostModel, ChainOfAWarpIsHiddenByOtherBlocks) {
  CostConstants slow = ideal;
  slow.issueCycles = 5;
  const BlockCycles block =
      cycles(workWith(unsigned(Class::Float), 400), 1, slow);
  EXPECT_DOUBLE_EQ(block.chain, 500); // 100 of each of four warps
  EXPECT_DOUBLE_EQ(block.units, 200);
  EXPECT_DOUBLE_EQ(block.with(1), 500);
  EXPECT_DOUBLE_EQ(block.with(2), 500);
  EXPECT_DOUBLE_EQ(block.with(4), 800);
}

TEST(CostModel, LoadsWaitForMemory) {
  // All that a block loads comes from DRAM once: 290 cycles.
  Work work = workWith(WorkLoads, 4 * 3);
  work[WorkSectors] = 1;
  LaunchProfile profile = profileOf(work, {108, 1, 1});
  profile.bytes = 1e9;
  const GpuData &a100 = findGpu("a100");
  EXPECT_DOUBLE_EQ(blockCycles(work, profile, 1, a100, ideal).waits, 3 * 290);
  // Nearly all is in L2 already.
  profile.bytes = 0;
  EXPECT_DOUBLE_EQ(blockCycles(work, profile, 1, a100, ideal).waits, 3 * 200);
  CostConstants slow = ideal;
  slow.latency = 2;
  EXPECT_DOUBLE_EQ(blockCycles(work, profile, 1, a100, slow).waits, 3 * 400);
}

// One group in flight is waited for in full; each more takes off a step.
TEST(CostModel, CopiesInFlightHideLatency) {
  Work work = workWith(WorkWaits, 4 * 10);
  work[WorkShared] = 600; // 10 steps of 60 cycles
  LaunchProfile profile = profileOf(work, {108, 1, 1});
  const auto waits = [&](double groups, double resident) {
    profile.copiesInFlight = groups;
    return blockCycles(work, profile, resident, findGpu("a100"), ideal).waits;
  };
  EXPECT_DOUBLE_EQ(waits(1, 1), 10 * 290);
  EXPECT_DOUBLE_EQ(waits(2, 1), 10 * (290 - 60));
  EXPECT_DOUBLE_EQ(waits(3, 1), 10 * (290 - 120));
  EXPECT_DOUBLE_EQ(waits(3, 2), 10 * (290 - 240));
  EXPECT_DOUBLE_EQ(waits(3, 4), 0);
}

TEST(CostModel, MakespanIsThatOfSlotsInOrder) {
  std::mt19937 random(1);
  std::vector<double> times(1000);
  for (double &time : times)
    time = std::uniform_real_distribution<>(1, 9)(random);
  const auto time = [&](uint64_t i) { return times[i % times.size()]; };
  const auto span = [](uint64_t blocks, uint64_t slots, const auto &one) {
    double all = 0;
    for (uint64_t i = 0; i < blocks; ++i)
      all += one(i);
    return makespan(blocks, slots, one, all);
  };
  EXPECT_DOUBLE_EQ(span(1000, 108, time), inOrder(1000, 108, time));
  EXPECT_DOUBLE_EQ(span(50, 108, time), inOrder(50, 108, time));
  EXPECT_EQ(span(0, 108, time), 0);
  // The long ones last: all others wait for them.
  const auto rising = [](uint64_t i) { return i < 900 ? 1.0 : 100.0; };
  EXPECT_DOUBLE_EQ(span(901, 100, rising), 109);
  const auto falling = [](uint64_t i) { return i < 1 ? 100.0 : 1.0; };
  EXPECT_DOUBLE_EQ(span(901, 100, falling), 100);
  // Of many blocks some are looked at.
  EXPECT_NEAR(span(100000, 108, time) / inOrder(100000, 108, time), 1, 0.01);
}

// 109 blocks on 108 SMs take as long as 216.
TEST(CostModel, LastWaveAndFloors) {
  const GpuData &a100 = findGpu("a100");
  LaunchProfile profile = profileOf(workWith(WorkShared, 141000), {108, 1, 1});
  profile.sharedBytes = 160 << 10; // one block of an SM
  const auto time = [&] { return predict(profile, a100, ideal).microseconds; };
  const double launch = 3000.0 / 1410;
  EXPECT_NEAR(time(), 100 + launch, 1e-6);
  profile.grid = {109, 1, 1};
  EXPECT_NEAR(time(), 200 + launch, 1e-6);
  profile.grid = {1, 1, 1};
  EXPECT_NEAR(time(), 100 + launch, 1e-6);
  EXPECT_EQ(predict(profile, a100, ideal).limit, "shared memory");
  // Bytes that are read: 2.039 GB take a millisecond.
  profile.samples[0].work[WorkSectors] = 1e9;
  profile.bytes = 2.039e9;
  EXPECT_EQ(predict(profile, a100, ideal).limit, "L2");
  profile.samples[0].work[WorkSectors] = 2.039e9 / 32;
  profile.grid = {1, 1, 1};
  EXPECT_GE(time(), 1000);
}

// Rates of the white paper and of the measured L2, by hand.
TEST(CostModel, FloorsAreTheWorkOfAllBlocksOverPublishedRates) {
  const GpuData &a100 = findGpu("a100");
  Work work = workWith(WorkTensor, 1024.0 * 1410 * 3);
  work[WorkShared] = 1410 * 2;
  work[unsigned(Class::Special)] = 0.9 * 1410 / 2;
  work[WorkSectors] = 3831.0 * 1410 / 32 / 108;
  LaunchProfile profile = profileOf(work, {108, 1, 1});
  profile.bytes = 2.039e3 / 2; // half a nanosecond
  const std::vector<Floor> floors = floorsOf(profile, a100);
  ASSERT_EQ(floors.size(), 6u);
  const std::pair<const char *, double> wanted[] = {{"tensor", 3},
                                                    {"shared memory", 2},
                                                    {"L2", 1},
                                                    {"special functions", 0.9},
                                                    {"instructions", 0.1125},
                                                    {"memory", 0.0005}};
  for (size_t i = 0; i < floors.size(); ++i) {
    EXPECT_NEAR(floors[i].microseconds, wanted[i].second, 1e-9) << i;
    EXPECT_EQ(floors[i].unit, wanted[i].first);
  }
  EXPECT_GE(predict(profile, a100, ideal).microseconds, 3);
  EXPECT_EQ(uncheckedPart(profile, a100), "");
}

TEST(CostModel, FloorsOfWarpgroupProductsHaveTheirOwnRate) {
  const GpuData &h100 = findGpu("h100");
  LaunchProfile profile =
      profileOf(workWith(WorkTensor, 2048.0 * 1830 * 132), {1, 1, 1});
  EXPECT_NEAR(floorsOf(profile, h100).front().microseconds, 2048.0 / 1288,
              1e-9);
  profile.warpgroup = true;
  EXPECT_NEAR(floorsOf(profile, h100).front().microseconds, 1, 1e-9);
}

TEST(CostModel, NoPublishedTimeChecksMmaSyncOnHopper) {
  LaunchProfile profile = profileOf(workWith(WorkTensor, 1e6), {1, 1, 1});
  const GpuData &h100 = findGpu("h100");
  EXPECT_EQ(uncheckedPart(profile, h100),
            "no published time checks the rate of mma.sync on this GPU");
  profile.warpgroup = true;
  EXPECT_EQ(uncheckedPart(profile, h100), "");
  EXPECT_EQ(uncheckedPart(profileOf(workWith(WorkShared, 9), {1, 1, 1}), h100),
            "");
}

// A triangle of work along x: the mean block is the middle one, and half of
// the grid's axis y does nothing.
TEST(CostModel, BlocksBetweenSamplesAreInterpolated) {
  LaunchProfile profile = profileOf(workWith(WorkShared, 1000), {1000, 64, 1});
  profile.samples[0].at = {0.5005, 0.5078125, 0.5};
  for (const auto &[x, passes] :
       {std::pair{0.0005, 0.0}, std::pair{0.9995, 2000.0}})
    profile.samples.push_back(
        {{x, 0.5078125, 0.5}, workWith(WorkShared, passes)});
  profile.sharedBytes = 160 << 10;
  const GpuData &a100 = findGpu("a100");
  const double full = predict(profile, a100, ideal).microseconds;
  EXPECT_NEAR(full, 64e3 * 1000 / 108 / 1410, full * 0.01);
}

// Lists of tokens say what blocks do, and the one in the middle of the grid has
// nearly none: the others do not become longer than they are.
TEST(CostModel, AnIdleMiddleScalesNothing) {
  LaunchProfile profile = profileOf(workWith(WorkShared, 10), {2, 1000, 1});
  profile.samples[0].at = {0.75, 0.5005, 0.5};
  profile.samples.push_back({{0.25, 0.5005, 0.5}, workWith(WorkShared, 1000)});
  for (const double y : {0.0005, 0.25, 0.75, 0.9995})
    profile.samples.push_back({{0.75, y, 0.5}, workWith(WorkShared, 1000)});
  profile.sharedBytes = 160 << 10;
  const double time = predict(profile, findGpu("a100"), ideal).microseconds;
  const double ofAll = 2e3 * 1000 / 108 / 1410; // of blocks that are alike
  EXPECT_NEAR(time, ofAll + 3000.0 / 1410, 0.1 * ofAll);
}

// Neither the memory nor the time of a prediction grows with the grid.
TEST(CostModel, TheLargestGrid) {
  LaunchProfile profile =
      profileOf(workWith(WorkShared, 1000), {0x7fffffff, 65535, 1});
  profile.sharedBytes = 160 << 10;
  const double time = predict(profile, findGpu("a100"), ideal).microseconds;
  EXPECT_NEAR(time / (double(0x7fffffff) * 65535 * 1000 / 108 / 1410), 1, 0.01);
}

TEST(CostModel, NothingFitsOnAnSm) {
  LaunchProfile profile = profileOf(workWith(WorkShared, 1), {1, 1, 1});
  profile.sharedBytes = 300 << 10;
  EXPECT_EQ(predict(profile, findGpu("h100"), ideal).resident, 0u);
}

TEST(CostModel, PlainBound) {
  const GpuData &a100 = findGpu("a100");
  EXPECT_DOUBLE_EQ(plainBound(312e9, 1, a100), 1000);
  EXPECT_DOUBLE_EQ(plainBound(1, 2.039e9, a100), 1000);
}

TEST(LaunchProfile, SamplesLieOnTheAxes) {
  EXPECT_EQ(sampledBlocks({1, 1, 1}), (std::vector<uint64_t>{0}));
  EXPECT_EQ(sampledBlocks({100, 1, 1}),
            (std::vector<uint64_t>{0, 1, 25, 50, 74, 98, 99}));
  const std::vector<uint64_t> plane = sampledBlocks({100, 8, 1});
  EXPECT_EQ(plane.size(), 13u);
  EXPECT_EQ(sampledBlocks({2, 1, 1}), (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ(placeOf(450, {100, 8, 1}),
            (std::array<double, 3>{0.505, 0.5625, 0.5}));
}

// Where a default configuration samples, a candidate of smaller or larger
// tiles runs the blocks of the same share of the grid.
TEST(CostModel, BlocksThatCoverThoseOfAnotherGrid) {
  EXPECT_EQ(coveringBlocks({100, 8, 1}, {100, 8, 1}),
            sampledBlocks({100, 8, 1}));
  EXPECT_EQ(coveringBlocks({2, 1, 1}, {4, 1, 1}),
            (std::vector<uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(coveringBlocks({3, 1, 1}, {2, 1, 1}),
            (std::vector<uint64_t>{0, 1}));
  const std::vector<uint64_t> covering =
      coveringBlocks({1000, 1, 1}, {2000, 1, 1});
  std::vector<uint64_t> wanted;
  for (uint64_t block : sampledBlocks({1000, 1, 1}))
    for (uint64_t half : {0, 1})
      wanted.push_back(2 * block + half);
  EXPECT_EQ(covering, wanted);
}

// a + b size, from three sizes, and how far they are from a line.
TEST(LaunchProfile, OtherSizesFollowALine) {
  const auto at = [](double size, double extra) {
    LaunchProfile profile =
        profileOf(workWith(unsigned(Class::Float), 100 + 3 * size + extra),
                  {uint32_t(size), 1, 1});
    profile.samples[0].work[WorkTensor] = 2048 * size;
    return std::pair{size, profile};
  };
  double misfit = 1;
  const LaunchProfile large = extrapolate({at(10, 0), at(20, 0), at(40, 0)},
                                          1000, {1000, 1, 1}, 5e6, &misfit);
  EXPECT_NEAR(large.samples[0].work[unsigned(Class::Float)], 3100, 1e-6);
  EXPECT_NEAR(large.samples[0].work[WorkTensor], 2048e3, 1e-6);
  EXPECT_EQ(large.grid, (Grid{1000, 1, 1}));
  EXPECT_EQ(large.bytes, 5e6);
  EXPECT_NEAR(misfit, 0, 1e-12);
  extrapolate({at(10, 0), at(20, 30), at(40, 0)}, 80, {80, 1, 1}, 1, &misfit);
  EXPECT_GT(misfit, 0.02);
  EXPECT_THROW(extrapolate({at(10, 0), at(20, 0)}, 80, {80, 1, 1}, 1), Error);
}

// Two loads that nothing uses in between are one wait; a product between them
// makes two.
TEST(LaunchProfile, WorkOfCounters) {
  sim::Counters counters;
  counters.blocks = 2;
  const auto add = [&](Class kind, const char *opcode, uint64_t warps) {
    sim::InstructionCount one;
    one.kind = kind;
    one.opcode = opcode;
    one.issues = one.warps = warps;
    counters.instructions.push_back(one);
    counters.byClass[size_t(kind)] += warps;
  };
  add(Class::GlobalLoad, "ld.global.b32", 8);
  add(Class::Integer, "add.s32", 8);
  add(Class::GlobalLoad, "ld.global.b32", 8);
  add(Class::Tensor, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 8);
  add(Class::GlobalLoad, "ld.global.b32", 4);
  add(Class::Control, "ret", 8);
  counters.sharedWays = 10;
  counters.globalSectors = 6;
  const Work work = workOf(counters);
  EXPECT_EQ(work[WorkLoads], (8 + 4) / 2.0);
  EXPECT_EQ(work[WorkTensor], 4 * 2048.0);
  EXPECT_EQ(work[WorkShared], 5);
  EXPECT_EQ(work[WorkSectors], 3);
  EXPECT_EQ(warpInstructions(work), 44 / 2.0);
}
