// tests/unit/simulator/machine/RacesTest.cpp - accesses that nothing orders are
// found whatever the schedule.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/simulator/machine/RunText.h"

#include <sched.h>

namespace tessera::sim {
namespace {

// Runs it in the order of the grid and in some others.
void expectInAnyOrder(const std::string &text, uint32_t threads, Dim3 grid,
                      Check check) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Options options;
    options.serial = true;
    options.seed = seed;
    Ran run = runText(text, threads, grid, options);
    ASSERT_EQ(run.report.findings.size(), 1u) << "seed " << seed;
    EXPECT_STREQ(checkName(run.report.findings[0].check), checkName(check))
        << run.report.findings[0].text();
  }
}

void expectNothing(const std::string &text, uint32_t threads = 64,
                   Dim3 grid = {1, 1, 1}) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Options options;
    options.seed = seed;
    runText(text, threads, grid, options).report.throwIfBad();
  }
}

// Block WRITER stores a new value to word t, the others load it.
constexpr const char *BetweenBlocks = R"(
  mov.u32 %r10, %ctaid.x;
  setp.eq.u32 %p1, %r10, WRITER;
  @%p1 bra $write;
  .loc 1 20 4
  ld.global.u32 %r11, [%rd6];
  .loc 1 21 4
  st.global.u32 [%rd6+512], 5;
  ret;
$write:
  .loc 1 22 4
  st.global.u32 [%rd6], VALUE;
  ret;
)";

TEST(SimRaces, ABlockReadsWhatAnotherWrites) {
  for (const char *writer : {"0", "1", "2"})
    expectInAnyOrder(
        replaced(replaced(BetweenBlocks, "WRITER", writer), "VALUE", "9"), 32,
        {3, 1, 1}, Check::GlobalConflict);
  // In the order of the grid both accesses are named, whichever came first.
  Options serial;
  serial.serial = true;
  Ran after =
      runText(replaced(replaced(BetweenBlocks, "WRITER", "0"), "VALUE", "9"),
              32, {2, 1, 1}, serial);
  expectFinding(after, Check::GlobalConflict, 20);
  EXPECT_NE(after.report.findings[0].history.find("kernel.py:22:4"),
            std::string::npos);
  Ran before =
      runText(replaced(replaced(BetweenBlocks, "WRITER", "2"), "VALUE", "9"),
              32, {3, 1, 1}, serial);
  expectFinding(before, Check::GlobalConflict, 22);
  EXPECT_NE(before.report.findings[0].history.find("read by"),
            std::string::npos);
  EXPECT_NE(before.report.findings[0].history.find("block (1, 0, 0)"),
            std::string::npos);
  // A store of the value that is there changes nothing for who reads.
  expectNothing(replaced(replaced(BetweenBlocks, "WRITER", "1"), "VALUE", "0"),
                32, {3, 1, 1});
}

// Warp WRITER stores to the words that the other one loads; what that one does
// with them is USE.
constexpr const char *BetweenWarps = R"(
  shr.u32 %r10, %r1, 5;
  and.b32 %r12, %r1, 31;
  mul.wide.u32 %rd10, %r12, 4;
  add.s64 %rd10, %rd2, %rd10;
  setp.eq.u32 %p1, %r10, WRITER;
  mov.u32 %r11, 0;
  .loc 1 20 4
  @%p1 BEFORE
  .loc 1 21 4
  @!%p1 ld.global.u32 %r11, [%rd10];
  bar.sync 0;
  @%p1 AFTER
  .loc 1 22 4
  USE
  ret;
)";

TEST(SimRaces, AWarpReadsWhatAnotherWrites) {
  const std::string store = "st.global.u32 [%rd10], 9;",
                    none = "mov.u32 %r20, 0;",
                    use = "@!%p1 st.global.u32 [%rd10+512], %r11;";
  for (const char *writer : {"0", "1"}) {
    std::string text = replaced(BetweenWarps, "WRITER", writer);
    const std::string early =
        replaced(replaced(text, "BEFORE", store), "AFTER", none);
    int found = 0;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      Options options;
      options.seed = seed;
      Ran run = runText(replaced(early, "USE", use), 64, {1, 1, 1}, options);
      if (run.report.ok())
        continue;
      ++found;
      expectFinding(run, Check::GlobalConflict, 22);
      const std::string &history = run.report.findings[0].history;
      EXPECT_NE(history.find("kernel.py:21:4"), std::string::npos) << history;
      EXPECT_NE(history.find("kernel.py:20:4"), std::string::npos) << history;
    }
    EXPECT_GE(found, 1);
    // No instruction uses the value.
    expectNothing(replaced(early, "USE", none));
    // After a barrier it is ordered.
    text = replaced(replaced(text, "BEFORE", none), "AFTER", store);
    expectNothing(replaced(text, "USE", use));
  }
}

// A thread's own load, and that of a lane of its warp whose value it has got.
TEST(SimRaces, ALoadOfTheSameWarpIsOver) {
  expectNothing("ld.global.u32 %r10, [%rd6]; add.u32 %r10, %r10, 1; "
                "st.global.u32 [%rd6], %r10; ret;");
  expectNothing(R"(
    ld.global.u32 %r10, [%rd6];
    shfl.sync.bfly.b32 %r11, %r10, 1, 31, 0xffffffff;
    xor.b32 %r12, %r1, 1;
    mul.wide.u32 %rd10, %r12, 4;
    add.s64 %rd10, %rd2, %rd10;
    add.u32 %r11, %r11, 3;
    st.global.u32 [%rd10], %r11;
    ret;)");
}

TEST(SimRaces, ACopyReadsItsSource) {
  // Warp 1 copies what warp 0 has written, without a barrier.
  const std::string text = R"(
    shr.u32 %r10, %r1, 5;
    and.b32 %r12, %r1, 31;
    mul.wide.u32 %rd10, %r12, 4;
    add.s64 %rd10, %rd2, %rd10;
    setp.eq.u32 %p1, %r10, 0;
    @%p1 st.global.u32 [%rd10], 9;
    BARRIER
    @!%p1 cp.async.ca.shared.global [%r2], [%rd10], 4;
    @%p1 st.shared.u32 [%r2], 0;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.u32 %r13, [%r2];
    .loc 1 23 4
    @!%p1 st.global.u32 [%rd10+512], %r13;
    ret;)";
  expectFinding(runText(replaced(text, "BARRIER", "")), Check::GlobalConflict,
                23);
  expectNothing(replaced(text, "BARRIER", "bar.sync 0;"));
}

TEST(SimRaces, AReleaseOrdersReadersToo) {
  // Block 0 reads word t and releases word 200; block 1 acquires it and writes.
  const std::string text = R"(
    mov.u32 %r10, %ctaid.x;
    setp.eq.u32 %p1, %r10, 1;
    @%p1 bra $write;
    ld.global.u32 %r11, [%rd6];
    bar.sync 0;
    setp.eq.u32 %p2, %r1, 0;
    @%p2 st.release.gpu.global.u32 [%rd2+800], 1;
    ret;
  $write:
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra $go;
  $wait:
    ld.acquire.gpu.global.u32 %r12, [%rd2+800];
    setp.eq.u32 %p3, %r12, 0;
    @%p3 bra $wait;
  $go:
    bar.sync 0;
    st.global.u32 [%rd6], 9;
    ret;)";
  Options serial;
  serial.serial = true;
  runText(text, 64, {2, 1, 1}, serial).report.throwIfBad();
  expectFinding(runText(replaced(text, "st.release.gpu.global", "st.global"),
                        64, {2, 1, 1}, serial),
                Check::GlobalConflict, 10);
}

// Block 2 loads what block 0 has changed, though block 1 has stored the same.
TEST(SimRaces, AnEqualStoreHidesNoChange) {
  Options serial;
  serial.serial = true;
  Ran bad = runText(R"(
    mov.u32 %r10, %ctaid.x;
    setp.eq.u32 %p1, %r10, 2;
    @%p1 bra $read;
    .loc 1 20 4
    st.global.u32 [%rd6], 9;
    ret;
  $read:
    .loc 1 21 4
    ld.global.u32 %r11, [%rd6];
    st.global.u32 [%rd6+512], %r11;
    ret;)",
                    32, {3, 1, 1}, serial);
  expectFinding(bad, Check::GlobalConflict, 21);
  EXPECT_NE(bad.report.findings[0].history.find("block (0, 0, 0)"),
            std::string::npos);
}

// Block 1 has loaded too, and has acquired what block 0 did before its load.
TEST(SimRaces, ALaterReaderHidesNoEarlierOne) {
  const std::string text = R"(
    mov.u32 %r10, %ctaid.x;
    setp.eq.u32 %p1, %r10, 1;
    @%p1 bra $write;
    st.release.gpu.global.u32 [%rd2+800], 1;
    .loc 1 20 4
    ld.global.u32 %r11, [%rd6];
    ret;
  $write:
    ld.acquire.gpu.global.u32 %r12, [%rd2+800];
    ld.global.u32 %r11, [%rd6];
    .loc 1 21 4
    st.global.u32 [%rd6], 9;
    ret;)";
  Options serial;
  serial.serial = true;
  Ran bad = runText(text, 32, {2, 1, 1}, serial);
  expectFinding(bad, Check::GlobalConflict, 21);
  EXPECT_NE(bad.report.findings[0].history.find("kernel.py:20:4"),
            std::string::npos);
}

// Block 0 waits forever for a store that block 1 never makes. The error of
// block 1 is reported, although it comes later. With the thread sanitizer block
// 1 runs so slowly that block 0 ends its last wait first.
#ifndef __SANITIZE_THREAD__
TEST(SimRaces, WhoWaitsForEverIsNotReportedFirst) {
  const std::string text = R"(
    mov.u32 %r10, %ctaid.x;
    setp.eq.u32 %p1, %r10, 1;
    @%p1 bra $other;
    setp.gt.u32 %p4, %r1, 31; // one warp of 32: it gives up soon
    @%p4 ret;
  $wait:
    ld.volatile.global.u32 %r11, [%rd2+800];
    setp.eq.u32 %p2, %r11, 0;
    @%p2 bra $wait;
    ret;
  $other:
    mov.u32 %r12, 0;
  $work:
    add.u32 %r12, %r12, 1;
    setp.lt.u32 %p3, %r12, 30000;
    @%p3 bra $work;
    bar.sync 0;
    .loc 1 25 4
    ld.global.u32 %r13, [%rd2+4096];
    ret;)";
  Options options;
  options.threads = 2;
  options.maxInstructions = 100'000;
  // On one processor block 0 often gives up before the thread of block 1 runs.
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before))
      CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  options.maxInstructions = 1000;
  const std::string shorter = replaced(text, "30000", "3");
  for (int i = 0; i < 1000 && !testing::Test::HasFailure(); ++i)
    expectFinding(runText(shorter, 64, {2, 1, 1}, options), Check::OutOfBounds,
                  25);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}
#endif

// Warp 0 reads, warp 1 stores the value that is there, and warp 2, which has
// met warp 1 alone, stores another one.
TEST(SimRaces, AnEqualStoreHidesNoReader) {
  const std::string text = R"(
    shr.u32 %r10, %r1, 5;
    mov.u32 %r13, 0;
    setp.lt.u32 %p4, %r1, 1;
    @%p4 st.shared.u32 [smem], %r13;
    bar.sync 0;
    setp.eq.u32 %p0, %r10, 0;
    setp.eq.u32 %p1, %r10, 1;
    setp.eq.u32 %p2, %r10, 2;
    .loc 1 30 4
    @%p0 FIRST
    @%p0 bra $end;
    @!%p1 bra $meet;
    .loc 1 31 4
    st.shared.u32 [smem], %r13;
  $meet:
    bar.sync 1, 64;
    setp.eq.u32 %p3, %r1, 64;
    .loc 1 32 4
    @%p3 st.shared.u32 [smem], 8;
  $end:
    ret;)";
  for (const char *first :
       {"ld.shared.u32 %r11, [smem];", "st.shared.u32 [smem], %r13;"}) {
    Ran bad = runText(replaced(text, "FIRST", first), 96);
    expectFinding(bad, Check::SharedRace, 32);
    EXPECT_NE(bad.report.findings[0].history.find("kernel.py:30:4"),
              std::string::npos)
        << bad.report.findings[0].history;
    EXPECT_EQ(bad.report.findings[0].history.substr(0, 4),
              std::string(first).substr(0, 2) == "ld" ? "read" : "writ");
  }
  expectNothing(replaced(text, "FIRST", "mov.u32 %r11, 0;"), 96);
}

// ld.global.nc reads memory that no thread writes while the kernel runs:
// barriers and the order of the grid do not help.
TEST(SimRaces, NonCoherentLoadsOfMemoryThatTheKernelWrites) {
  Options serial;
  serial.serial = true;
  const std::string own = R"(
    .loc 1 20 4
    st.global.u32 [%rd6], 5;
    bar.sync 0;
    .loc 1 21 4
    LOAD
    st.global.u32 [%rd6+512], %r11;
    ret;)";
  expectFinding(
      runText(replaced(own, "LOAD", "ld.global.nc.u32 %r11, [%rd6];")),
      Check::GlobalConflict, 21);
  expectNothing(replaced(own, "LOAD", "ld.global.u32 %r11, [%rd6];"));
  // Memory that is read only.
  expectNothing(replaced(own, "LOAD", "ld.global.nc.u32 %r11, [%rd5];"));

  const std::string before = R"(
    .loc 1 22 4
    ld.global.nc.u32 %r11, [%rd6];
    bar.sync 0;
    .loc 1 23 4
    STORE
    ret;)";
  for (const char *store : {"st.global.u32 [%rd6], 9;",
                            "st.global.u32 [%rd6], %r11;", // the same value
                            "red.relaxed.gpu.global.add.u32 [%rd6], 1;"}) {
    Ran run = runText(replaced(before, "STORE", store));
    expectFinding(run, Check::GlobalConflict, 23);
    ASSERT_FALSE(run.report.findings.empty());
    EXPECT_NE(run.report.findings[0].history.find("kernel.py:22:4"),
              std::string::npos);
  }

  // Block 1 reads what block 0 has written, after a release and an acquire.
  const std::string blocks = R"(
    mov.u32 %r10, %ctaid.x;
    setp.eq.u32 %p1, %r10, 1;
    @%p1 bra $read;
    st.global.u32 [%rd6], 7;
    bar.sync 0;
    setp.eq.u32 %p2, %r1, 0;
    @%p2 st.release.gpu.global.u32 [%rd2+1000], 1;
    ret;
  $read:
    ld.acquire.gpu.global.u32 %r12, [%rd2+1000];
    bar.sync 0;
    .loc 1 24 4
    ld.global.nc.u32 %r11, [%rd6];
    ret;)";
  expectFinding(runText(blocks, 64, {2, 1, 1}, serial), Check::GlobalConflict,
                24);
}

} // namespace
} // namespace tessera::sim
