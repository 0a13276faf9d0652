// tests/unit/simulator/machine/LanesApartTest.cpp - lanes of a warp that run
// apart: right PTX gives the same in every order, wrong PTX is found.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/simulator/machine/RunText.h"

#include <set>

namespace tessera::sim {
namespace {

constexpr uint64_t Seeds = 30;

Options apart(uint64_t seed) {
  Options options;
  options.serial = true;
  options.lanesApart = true;
  options.seed = seed;
  return options;
}

Ran runApart(const std::string &text, uint64_t seed, uint32_t threads = 64) {
  return runText(text, threads, {1, 1, 1}, apart(seed));
}

// As in lockstep, in every order.
void expectSameInAnyOrder(const std::string &text, uint32_t threads = 64) {
  Ran lockstep = runText(text, threads);
  lockstep.report.throwIfBad();
  for (uint64_t seed = 0; seed < Seeds; ++seed) {
    Ran run = runApart(text, seed, threads);
    run.report.throwIfBad();
    EXPECT_EQ(run.y, lockstep.y) << "seed " << seed;
  }
}

// In how many orders the check fires; no other does.
uint64_t timesFound(const std::string &text, Check check, uint32_t line,
                    uint32_t threads = 64) {
  uint64_t found = 0;
  for (uint64_t seed = 0; seed < Seeds; ++seed) {
    Ran run = runApart(text, seed, threads);
    if (run.report.ok())
      continue;
    ++found;
    expectFinding(run, check, line);
  }
  return found;
}

// Lanes take branches and turns of a loop of their own, then lane t reads what
// its neighbour t ^ 1 has stored to shared memory.
constexpr const char *ApartExchange = R"(
  and.b32 %r10, %r1, 7;
  mov.u32 %r11, 0;
$turn:
  mad.lo.u32 %r11, %r11, 5, %r1;
  add.u32 %r10, %r10, 1;
  setp.lt.u32 %p1, %r10, 9;
  @%p1 bra $turn;
  setp.lt.u32 %p2, %r11, 40;
  @%p2 bra $small;
  xor.b32 %r11, %r11, 77;
$small:
  .loc 1 20 4
  st.shared.u32 [%r2], %r11;
  SYNC
  xor.b32 %r12, %r2, 4;
  .loc 1 21 4
  ld.shared.u32 %r13, [%r12];
  st.global.u32 [%rd6], %r13;
  ret;
)";

TEST(SimLanesApart, SynchronizedExchangesAreTheSame) {
  for (const char *sync :
       {"bar.warp.sync -1;", "bar.warp.sync 0xffffffff;", "bar.sync 0;",
        "barrier.sync 0;",
        // Pairs of lanes alone.
        "and.b32 %r20, %r1, 30; shl.b32 %r21, 3, %r20; bar.warp.sync %r21;"})
    expectSameInAnyOrder(replaced(ApartExchange, "SYNC", sync));
  // 20 lanes in the second warp; those that have left are not waited for.
  expectSameInAnyOrder(replaced(ApartExchange, "SYNC", "bar.warp.sync -1;"),
                       52);
}

TEST(SimLanesApart, AnExchangeWithoutSynchronizationIsFound) {
  // A shuffle lets the lanes meet, but orders no memory.
  for (const char *sync : {"", "shfl.sync.idx.b32 %r20, %r1, 0, 31, -1;"}) {
    const std::string text = replaced(ApartExchange, "SYNC", sync);
    uint64_t found = 0;
    for (uint64_t seed = 0; seed < Seeds; ++seed) {
      Ran run = runApart(text, seed);
      found += !run.report.ok();
      if (run.report.ok())
        continue;
      // A lane that is ahead of its neighbour finds nothing stored there.
      const Check check = run.report.findings[0].check;
      EXPECT_TRUE(check == Check::SharedRace || check == Check::Uninitialized)
          << run.report.text();
    }
    EXPECT_EQ(found, Seeds) << sync;
  }
}

// Sums over 8 lanes by shuffles inside of a branch that half of them take.
TEST(SimLanesApart, InstructionsWithAMaskWaitForItsLanes) {
  expectSameInAnyOrder(R"(
    and.b32 %r10, %r1, 8;
    setp.eq.u32 %p1, %r10, 0;
    mov.u32 %r11, %r1;
    @!%p1 bra $other;
    shfl.sync.bfly.b32 %r12, %r11, 1, 31, 0x00ff00ff;
    add.u32 %r11, %r11, %r12;
    shfl.sync.bfly.b32 %r12, %r11, 4, 31, 0x00ff00ff;
    add.u32 %r11, %r11, %r12;
    vote.sync.ballot.b32 %r13, %p1, 0x00ff00ff;
    xor.b32 %r11, %r11, %r13;
    bra.uni $join;
  $other:
    redux.sync.max.u32 %r12, %r11, 0xff00ff00;
    match.any.sync.b32 %r13, %r10, 0xff00ff00;
    add.u32 %r11, %r13, %r12;
  $join:
    setp.gt.u32 %p2, %r11, 100;
    vote.sync.any.pred %p3, %p2, -1;
    selp.u32 %r14, 1000, 0, %p3;
    add.u32 %r11, %r11, %r14;
    st.global.u32 [%rd6], %r11;
    ret;)");
  // Lanes with masks of their own at one instruction, and a predicate that
  // keeps some away.
  expectSameInAnyOrder(R"(
    shr.u32 %r10, %r1, 2;
    and.b32 %r10, %r10, 7;
    shl.b32 %r11, %r10, 2;
    shl.b32 %r12, 15, %r11;
    redux.sync.add.u32 %r13, %r1, %r12;
    setp.lt.u32 %p1, %r10, 4;
    @%p1 shfl.sync.up.b32 %r13, %r13, 3, 0, 0x0000ffff;
    bar.red.popc.u32 %r14, 0, %p1;
    add.u32 %r13, %r13, %r14;
    st.global.u32 [%rd6], %r13;
    ret;)");
}

// Both sides have a bar.warp.sync; lanes with the same mask meet at either.
TEST(SimLanesApart, ABarrierOfTheWarpMayHaveTwoLocations) {
  const std::string text = R"(
    and.b32 %r10, %r1, 1;
    setp.eq.u32 %p1, %r10, 0;
    st.shared.u32 [%r2], %r1;
    @%p1 bra $even;
    bar.warp.sync -1;
    bra.uni $join;
  $even:
    bar.warp.sync -1;
  $join:
    xor.b32 %r12, %r2, 4;
    ld.shared.u32 %r13, [%r12];
    st.global.u32 [%rd6], %r13;
    ret;)";
  for (uint64_t seed = 0; seed < Seeds; ++seed) {
    Ran run = runApart(text, seed);
    run.report.throwIfBad();
    for (uint32_t t = 0; t < 64; ++t)
      EXPECT_EQ(run.y[t], t ^ 1);
  }
}

// In lockstep every lane loads before any stores; on a GPU it need not.
TEST(SimLanesApart, AShiftInPlaceIsFound) {
  const std::string text = R"(
    setp.lt.u32 %p1, %r1, 31;
    .loc 1 20 4
    @%p1 ld.global.u32 %r10, [%rd6+4];
    SYNC
    .loc 1 21 4
    @%p1 add.u32 %r10, %r10, %r1;
    @%p1 add.u32 %r10, %r10, 1;
    @%p1 st.global.u32 [%rd6], %r10;
    ret;)";
  runText(replaced(text, "SYNC", ""), 32).report.throwIfBad();
  EXPECT_GE(
      timesFound(replaced(text, "SYNC", ""), Check::GlobalConflict, 21, 32),
      Seeds / 2);
  expectSameInAnyOrder(replaced(text, "SYNC", "bar.warp.sync -1;"), 32);
}

// Volatile accesses may meet, but nothing makes the lanes meet: results show
// it.
TEST(SimLanesApart, ImplicitConvergenceIsNotKept) {
  const std::string text = R"(
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra $low;
    add.u32 %r10, %r1, 1;
    bra.uni $join;
  $low:
    add.u32 %r10, %r1, 2;
  $join:
    SYNC
    USE
    ret;)";
  const std::string who =
      replaced(text, "USE", "activemask.b32 %r11; st.global.u32 [%rd6], %r11;");
  const std::string exchange = replaced(text, "USE",
                                        R"(st.volatile.global.u32 [%rd6], %r10;
    xor.b32 %r12, %r1, 16;
    mul.wide.u32 %rd10, %r12, 4;
    add.s64 %rd10, %rd2, %rd10;
    SYNC
    ld.volatile.global.u32 %r13, [%rd10];
    st.global.u32 [%rd6+512], %r13;)");
  for (const std::string &kernel : {who, exchange}) {
    std::string right = kernel, wrong = kernel;
    for (size_t at; (at = wrong.find("SYNC")) != std::string::npos;)
      wrong.erase(at, 4);
    for (size_t at; (at = right.find("SYNC")) != std::string::npos;)
      right.replace(at, 4, "bar.warp.sync -1;");
    std::set<std::vector<uint32_t>> results;
    results.insert(runText(wrong, 32).y);
    EXPECT_EQ(results.size(), 1u);
    for (uint64_t seed = 0; seed < Seeds; ++seed) {
      Ran run = runApart(wrong, seed, 32);
      run.report.throwIfBad();
      results.insert(run.y);
      EXPECT_EQ(runApart(wrong, seed, 32).y, run.y) << "not repeatable";
    }
    EXPECT_GE(results.size(), 3u);
    if (kernel == exchange)
      expectSameInAnyOrder(right, 32);
  }
}

// What no order of the lanes can complete.
TEST(SimLanesApart, LanesThatNeverMeetAreFound) {
  const std::string text = R"(
    setp.lt.u32 %p1, %r1, 16;
    .loc 1 20 4
    @%p1 FIRST
    .loc 1 20 4
    @!%p1 SECOND
    ret;)";
  const auto found = [&](const char *first, const char *second, Check check) {
    return timesFound(
        replaced(replaced(text, "FIRST", first), "SECOND", second), check, 20,
        32);
  };
  EXPECT_EQ(found("bar.sync 0;", "bar.sync 1;", Check::DivergentBarrier),
            Seeds);
  EXPECT_EQ(found("shfl.sync.idx.b32 %r10, %r1, 0, 31, -1;",
                  "vote.sync.ballot.b32 %r11, %p1, -1;", Check::DivergentWarp),
            Seeds);
  // A lane that its own mask does not name.
  EXPECT_EQ(found("bar.warp.sync 0xfffe;", "bar.warp.sync 0xffff0000;",
                  Check::DivergentWarp),
            Seeds);
  EXPECT_EQ(found("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r3];",
                  "bar.warp.sync 0xffff0000;", Check::DivergentWarp),
            Seeds);
  // The other half has left: no lane waits for it, but all 32 lanes are needed.
  EXPECT_EQ(found("shfl.sync.idx.b32 %r10, %r1, 0, 31, -1;", "exit;",
                  Check::DivergentWarp),
            0u);
  EXPECT_EQ(found("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r3];",
                  "exit;", Check::DivergentWarp),
            Seeds);
}

// Lane 0 gives a number that the others spin on: in lockstep it never comes.
TEST(SimLanesApart, LanesMaySpinOnOneAnother) {
  const std::string text = R"(
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra $give;
  $spin:
    ld.volatile.global.u32 %r10, [%rd2+1020];
    setp.eq.u32 %p2, %r10, 0;
    @%p2 bra $spin;
    st.global.u32 [%rd6], %r10;
    ret;
  $give:
    st.volatile.global.u32 [%rd2+1020], 9;
    st.global.u32 [%rd6], 9;
    ret;)";
  for (uint64_t seed = 0; seed < Seeds; ++seed) {
    Ran run = runApart(text, seed, 32);
    run.report.throwIfBad();
    for (uint32_t t = 0; t < 32; ++t)
      EXPECT_EQ(run.y[t], 9u);
  }
}

// Triton's matmul: copies, barriers, ldmatrix and mma.
TEST(SimLanesApart, MatmulIsTheSame) {
  Module module = loadFile("matmul_fp16.ptx");
  constexpr int32_t N = 64, K = 64;
  alignas(128) static uint16_t a[N * K], b[K * N], c[N * N];
  for (int32_t i = 0; i < N * K; ++i) {
    a[i] = static_cast<uint16_t>(0x3c00 + i % 7 * 64);
    b[i] = static_cast<uint16_t>(0x3800 + i % 11 * 32);
  }
  const auto run = [&](const Options &options) {
    std::fill_n(c, N * N, uint16_t{0});
    Memory memory;
    memory.add("A", std::as_const(a), sizeof(a));
    memory.add("B", std::as_const(b), sizeof(b));
    memory.add("C", c, sizeof(c), true);
    module
        .launch("matmul", {1, 1, 1}, {128, 1, 1}, 16384,
                {pointer(a), pointer(b), pointer(c), scalar(N), scalar(N),
                 scalar(K), scalar(K), scalar(N), scalar(N), pointer(nullptr),
                 pointer(nullptr)},
                memory, options)
        .throwIfBad();
    return std::vector<uint16_t>(c, c + N * N);
  };
  const std::vector<uint16_t> want = run({});
  for (uint64_t seed = 0; seed < 8; ++seed)
    EXPECT_EQ(run(apart(seed)), want) << "seed " << seed;
}

} // namespace
} // namespace tessera::sim
