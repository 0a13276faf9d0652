// tests/unit/simulator/machine/CountersTest.cpp - counters and the cycle
// estimate against hand counts.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/simulator/machine/Fixture.h"

#include "simulator/Estimate.h"
#include "simulator/machine/BankConflicts.h"

namespace tessera::sim {
namespace {

uint32_t ways(uint32_t bytes, uint32_t stride, uint32_t mask = ~0u) {
  uint32_t address[32];
  for (uint32_t l = 0; l < 32; ++l)
    address[l] = l * stride;
  return bankWays(address, bytes, mask);
}

TEST(SimCounters, BankWays) {
  EXPECT_EQ(ways(4, 4), 1u);
  EXPECT_EQ(ways(4, 0), 1u); // one word for all
  EXPECT_EQ(ways(4, 8), 2u);
  EXPECT_EQ(ways(4, 128), 32u); // all in bank 0
  EXPECT_EQ(ways(4, 132), 1u);  // padded by a word
  EXPECT_EQ(ways(2, 2), 1u);
  EXPECT_EQ(ways(8, 8), 2u);     // two halves of a warp, 128 bytes each
  EXPECT_EQ(ways(16, 16), 4u);   // four quarters
  EXPECT_EQ(ways(16, 128), 32u); // eight rows of 16 bytes in the same banks
  EXPECT_EQ(ways(16, 144), 4u);  // the same, padded
  EXPECT_EQ(ways(4, 128, 0xff), 8u);
}

// The fewest passes depend on the width and on the participating lanes, not on
// addresses.
TEST(SimCounters, LeastBankWays) {
  EXPECT_EQ(leastBankWays(1, ~0u), 1u);
  EXPECT_EQ(leastBankWays(4, ~0u), 1u);
  EXPECT_EQ(leastBankWays(8, ~0u), 2u);
  EXPECT_EQ(leastBankWays(16, ~0u), 4u);
  EXPECT_EQ(leastBankWays(16, 0xff), 1u); // ldmatrix.x1
  EXPECT_EQ(leastBankWays(16, 0x10001), 2u);
  EXPECT_EQ(leastBankWays(8, 0x8000), 1u);
  EXPECT_EQ(leastBankWays(4, 0), 0u);
  for (uint32_t bytes : {1u, 2u, 4u, 8u, 16u}) {
    EXPECT_EQ(leastBankWays(bytes, ~0u), ways(bytes, bytes)) << bytes;
    EXPECT_EQ(leastBankWays(bytes, ~0u), ways(bytes, 0)) << bytes;
  }
}

// Of a grid some blocks alone: the others do nothing.
TEST(SimCounters, ChosenBlocksRunAlone) {
  Module module = Module::load(
      kernelText(".param .u64 X",
                 ".reg .b32 %r<4>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [X]; "
                 "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; "
                 "mad.lo.u32 %r3, %r1, 32, %r2; "
                 "mad.wide.u32 %rd2, %r3, 4, %rd1; "
                 "st.global.u32 [%rd2], %r1; ret;"),
      "chosen.ptx");
  std::vector<uint32_t> page(8 * 32, 99);
  Memory memory;
  memory.add("X", page.data(), page.size() * 4);
  Options options;
  options.blocks = {2, 5, 6};
  const auto run = [&] {
    return module.launch("k", {8, 1, 1}, {32, 1, 1}, 0, {pointer(page.data())},
                         memory, options);
  };
  const Report report = run();
  EXPECT_TRUE(report.ok()) << report.text();
  for (uint32_t block = 0; block < 8; ++block)
    EXPECT_EQ(page[block * 32 + 31],
              block == 2 || block == 5 || block == 6 ? block : 99u)
        << block;
  EXPECT_EQ(report.counters.blocks, 3u);
  EXPECT_EQ(report.counters.warps, 3u);
  options.blocks = {2, 8};
  EXPECT_THROW(run(), Error);
  options.blocks = {5, 2};
  EXPECT_THROW(run(), Error);
}

// Each lane loads 4 bytes, `stride` bytes apart, from one page.
Counters load(uint32_t stride) {
  Module module =
      Module::load(kernelText(".param .u64 X",
                              ".reg .b32 %r<4>; .reg .b64 %rd<4>; "
                              "ld.param.u64 %rd1, [X]; mov.u32 %r1, %tid.x; "
                              "mad.wide.u32 %rd2, %r1, " +
                                  std::to_string(stride) +
                                  ", %rd1; ld.global.u32 %r2, [%rd2]; ret;"),
                   "load.ptx");
  alignas(128) static uint32_t page[1024];
  Memory memory;
  memory.add("X", std::as_const(page), sizeof(page));
  Report report =
      module.launch("k", {1, 1, 1}, {32, 1, 1}, 0, {pointer(page)}, memory);
  report.throwIfBad();
  return report.counters;
}

TEST(SimCounters, SectorsAndLines) {
  Counters dense = load(4);
  EXPECT_EQ(dense.globalRequests, 1u);
  EXPECT_EQ(dense.globalSectors, 4u); // 128 bytes
  EXPECT_EQ(dense.l2Lines, 1u);
  EXPECT_EQ(dense.warpInstructions, 5u);
  EXPECT_EQ(dense.laneInstructions, 5u * 32);
  Counters sparse = load(64);
  EXPECT_EQ(sparse.globalSectors, 32u);
  EXPECT_EQ(sparse.l2Lines, 16u);
  EXPECT_EQ(load(0).globalSectors, 1u);
}

// A warp copies `bytes` a lane to shared memory, `stride` bytes apart; lanes
// from `readers` on write zeros, lanes from `lanes` on do nothing.
Counters copy(uint32_t bytes, uint32_t stride, uint32_t readers = 32,
              uint32_t lanes = 32) {
  const std::string n = std::to_string(bytes);
  Module module = Module::load(
      kernelText(".param .u64 X",
                 ".reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<4>; "
                 ".shared .align 16 .b8 smem[8192]; "
                 "ld.param.u64 %rd1, [X]; mov.u32 %r1, %tid.x; "
                 "mad.wide.u32 %rd2, %r1, " +
                     n + ", %rd1; mov.u32 %r2, smem; mad.lo.u32 %r3, %r1, " +
                     std::to_string(stride) + ", %r2; setp.lt.u32 %p1, %r1, " +
                     std::to_string(readers) + "; selp.b32 %r4, " + n +
                     ", 0, %p1; setp.lt.u32 %p2, %r1, " +
                     std::to_string(lanes) + "; @%p2 cp.async." +
                     (bytes == 16 ? "cg" : "ca") +
                     ".shared.global [%r3], [%rd2], " + n +
                     ", %r4; cp.async.wait_all; ret;"),
      "copy.ptx");
  alignas(128) static uint32_t page[1024];
  Memory memory;
  memory.add("X", std::as_const(page), sizeof(page));
  Report report =
      module.launch("k", {1, 1, 1}, {32, 1, 1}, 0, {pointer(page)}, memory);
  report.throwIfBad();
  return report.counters;
}

TEST(SimCounters, CopiesPassOverTheBanks) {
  struct {
    uint32_t bytes, stride;
    uint64_t passes, conflicts;
  } patterns[] = {
      {4, 4, 1, 0},      // a row of 128 bytes
      {4, 8, 2, 1},      // every second bank, twice
      {4, 128, 32, 31},  // all in bank 0
      {4, 132, 1, 0},    // padded by a word
      {8, 8, 2, 0},      // half a warp fills a row
      {8, 16, 4, 2},     // a quarter does
      {8, 128, 32, 30},  // 16 lanes of each half in banks 0 and 1
      {16, 16, 4, 0},    // a quarter of a warp fills a row
      {16, 32, 8, 4},    // lanes 0 and 4 of a quarter meet
      {16, 64, 16, 12},  // four of eight do
      {16, 128, 32, 28}, // all eight do
      {16, 144, 4, 0},   // padded by 16 bytes
  };
  for (const auto &p : patterns) {
    const Counters c = copy(p.bytes, p.stride);
    EXPECT_EQ(c.copyRequests, 1u);
    EXPECT_EQ(c.copyWays, p.passes) << p.bytes << " every " << p.stride;
    EXPECT_EQ(c.copyConflicts, p.conflicts) << p.bytes << " every " << p.stride;
    // The figures that the cost model reads have none of it.
    EXPECT_EQ(c.sharedRequests, 0u);
    EXPECT_EQ(c.sharedWays, 0u);
    EXPECT_EQ(c.sharedConflicts, 0u);
    EXPECT_EQ(c.globalRequests, 1u);
  }
  // Zeros are written as what was read is, lanes that do nothing write nothing.
  EXPECT_EQ(copy(16, 128, 3).copyWays, 32u);
  EXPECT_EQ(copy(16, 16, 0).copyRequests, 1u);
  EXPECT_EQ(copy(16, 16, 0).copyWays, 4u);
  EXPECT_EQ(copy(16, 16, 0).globalRequests, 0u);
  EXPECT_EQ(copy(16, 128, 32, 3).copyWays, 3u);
  EXPECT_EQ(copy(4, 128, 32, 9).copyConflicts, 8u);
}

// Matmul of Triton's, one block of 64 x 64, K = 128 in steps of 32.
TEST(SimCounters, Matmul) {
  Module module = loadFile("matmul_fp16.ptx");
  constexpr int32_t N = 64, K = 128;
  // Rows of 256 and 128 bytes, aligned: complete sectors and lines.
  alignas(128) static uint16_t a[N * K], b[K * N], c[N * N];
  Memory memory;
  memory.add("A", std::as_const(a), sizeof(a));
  memory.add("B", std::as_const(b), sizeof(b));
  memory.add("C", c, sizeof(c), true);
  Report report = module.launch("matmul", {1, 1, 1}, {128, 1, 1}, 16384,
                                {pointer(a), pointer(b), pointer(c), scalar(N),
                                 scalar(N), scalar(K), scalar(K), scalar(N),
                                 scalar(N), pointer(nullptr), pointer(nullptr)},
                                memory);
  report.throwIfBad();
  const Counters &count = report.counters;
  // 64 / 16 x 64 / 8 tiles, K / 16 products each.
  EXPECT_EQ(count.tensorInstructions, 4u * 8 * 8);
  // A and B are read once, in full sectors. C's mask lets a lane store 2 bytes
  // at a time; its 8 columns make 16 bytes, so that a warp's store meets 4 rows
  // of 128 bytes, 4 sectors of each.
  uint64_t loaded = 0, stored = 0, stores = 0;
  for (const InstructionCount &i : count.instructions) {
    loaded += i.kind == Class::AsyncCopy ? i.sectors : 0;
    stored += i.kind == Class::GlobalStore ? i.sectors : 0;
    stores += i.kind == Class::GlobalStore ? i.issues : 0;
  }
  EXPECT_EQ(loaded, (sizeof(a) + sizeof(b)) / 32);
  EXPECT_EQ(stores, N * N / 32u);
  EXPECT_EQ(stored, stores * 4 * 4);
  EXPECT_EQ(count.l2Lines, (sizeof(a) + sizeof(b) + sizeof(c)) / 128);
  EXPECT_EQ(count.byClass[static_cast<size_t>(Class::AsyncCopy)],
            // Each warp copies 16 bytes a lane: 16 KiB + 16 KiB in 512-byte
            // pieces, and two steps past the end that read nothing.
            (sizeof(a) + sizeof(b)) / 512 + 2 * 4 * 4u);
  EXPECT_EQ(count.asyncMaxGroups, 4u);
  // Swizzled: each copy of 32 times 16 bytes fills four rows of the banks.
  EXPECT_EQ(count.copyRequests,
            count.byClass[static_cast<size_t>(Class::AsyncCopy)]);
  EXPECT_EQ(count.copyWays, 4 * count.copyRequests);
  EXPECT_EQ(count.copyConflicts, 0u);
  uint64_t ldmatrix = 0, passes = 0, conflicts = 0;
  for (const InstructionCount &i : count.instructions)
    if (i.kind == Class::Matrix) {
      ldmatrix += i.issues;
      passes += i.ways;
      conflicts += i.ways - i.leastWays;
    }
  // Four warps; in a step each loads 4 fragments of A and 4 of B (x4).
  EXPECT_EQ(ldmatrix, 4u * 4 * 8);
  EXPECT_EQ(passes, ldmatrix * 4); // swizzled: no conflicts
  EXPECT_EQ(conflicts, 0u);

  Device device; // an A100, as far as this kernel needs it
  device.sms = 108;
  device.maxWarps = 64;
  device.maxBlocks = 32;
  device.sharedBytes = 164 << 10;
  device.clockMhz = 1410;
  device.tensorFma = 1024;
  device.issueWarps = 4;
  device.sharedBytesPerCycle = 128;
  device.l2BytesPerCycle = 5120;
  device.dramGbytes = 2039;
  Estimate e = estimate(count, device);
  EXPECT_EQ(e.blocksPerSm, 9u); // 17 KiB of 164 KiB
  for (const auto &[unit, cycles] : e.units)
    if (unit == "tensor") {
      EXPECT_DOUBLE_EQ(cycles, 64.0 * 64 * 128 / 1024);
    }
}

} // namespace
} // namespace tessera::sim
