// tests/unit/simulator/machine/ScheduleTest.cpp - random orders of blocks,
// warps and lanes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/simulator/machine/RunText.h"

#include <algorithm>
#include <set>

namespace tessera::sim {
namespace {

Options seeded(uint64_t seed) {
  Options options;
  options.serial = true;
  options.seed = seed;
  return options;
}

std::vector<uint32_t> wordsOf(const std::string &text, uint32_t threads,
                              Dim3 grid, uint64_t seed) {
  Ran run = runText(text, threads, grid, seeded(seed));
  run.report.throwIfBad();
  return run.y;
}

// The block's ticket goes to the word of its number.
constexpr const char *Tickets = R"(
  atom.global.add.u32 %r10, [%rd2+1020], 1;
  mov.u32 %r11, %ctaid.x;
  mul.wide.u32 %rd10, %r11, 4;
  add.s64 %rd10, %rd2, %rd10;
  st.global.u32 [%rd10], %r10;
  ret;
)";

TEST(SimSchedule, BlocksRunInAnyOrderEachOnce) {
  std::set<std::vector<uint32_t>> orders;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<uint32_t> y = wordsOf(Tickets, 1, {12, 1, 1}, seed);
    EXPECT_EQ(wordsOf(Tickets, 1, {12, 1, 1}, seed), y);
    std::vector<uint32_t> tickets(y.begin(), y.begin() + 12);
    if (seed == 0) {
      EXPECT_TRUE(std::is_sorted(tickets.begin(), tickets.end()));
    }
    orders.insert(tickets);
    std::sort(tickets.begin(), tickets.end());
    for (uint32_t i = 0; i < 12; ++i)
      EXPECT_EQ(tickets[i], i);
  }
  EXPECT_GE(orders.size(), 10u);
  // Of some blocks too.
  Options options = seeded(3);
  options.blocks = {2, 5, 7};
  Ran some = runText(Tickets, 1, {12, 1, 1}, options);
  EXPECT_EQ(some.y[255], 3u);
  EXPECT_EQ(some.y[2] + some.y[5] + some.y[7], 3u);
}

// Every warp takes eight tickets; in order of the turns a warp has eight in a
// row.
TEST(SimSchedule, WarpsTakeTurns) {
  const std::string text = R"(
    mov.u32 %r10, 0;
    mov.u32 %r12, %laneid;
    setp.eq.u32 %p1, %r12, 0;
    shr.u32 %r13, %r1, 5;
    shl.b32 %r13, %r13, 5;
    mul.wide.u32 %rd10, %r13, 1;
    add.s64 %rd10, %rd2, %rd10;
  $next:
    @%p1 atom.global.add.u32 %r11, [%rd2+1020], 1;
    @%p1 st.global.u32 [%rd10], %r11;
    add.s64 %rd10, %rd10, 4;
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p2, %r10, 8;
    @%p2 bra $next;
    ret;)";
  std::vector<uint32_t> inOrder = wordsOf(text, 128, {1, 1, 1}, 0);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(inOrder[i], i);
  uint32_t mixed = 0;
  for (uint64_t seed = 1; seed < 9; ++seed) {
    std::vector<uint32_t> y = wordsOf(text, 128, {1, 1, 1}, seed);
    mixed += y[7] - y[0] != 7;
    for (uint32_t warp = 0; warp < 4; ++warp)
      EXPECT_TRUE(std::is_sorted(&y[8 * warp], &y[8 * warp] + 8));
  }
  EXPECT_GE(mixed, 4u);
}

// Both sides of a branch take a ticket.
TEST(SimSchedule, EitherSideOfABranchMayBeFirst) {
  const std::string text = R"(
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra $low;
    atom.global.add.u32 %r11, [%rd2+1020], 1;
    bra.uni $join;
  $low:
    atom.global.add.u32 %r11, [%rd2+1020], 1;
  $join:
    st.global.u32 [%rd6], %r11;
    ret;)";
  std::set<bool> lowFirst;
  for (uint64_t seed = 1; seed < 20; ++seed) {
    std::vector<uint32_t> y = wordsOf(text, 32, {1, 1, 1}, seed);
    lowFirst.insert(y[0] < y[31]);
  }
  EXPECT_EQ(lowFirst.size(), 2u);
}

TEST(SimSchedule, CopiesReadAsLateAsTheyMay) {
  // Thread t copies word t of Y and stores there before the wait.
  const std::string text = R"(
    st.global.u32 [%rd6], 3;
    cp.async.ca.shared.global [%r2], [%rd6], 4;
    cp.async.commit_group;
    st.global.u32 [%rd6], 4;
    cp.async.wait_group 0;
    ld.shared.u32 %r10, [%r2];
    st.global.u32 [%rd6+256], %r10;
    ret;)";
  Options unchecked;
  unchecked.races = false;
  EXPECT_EQ(runText(text, 32, {1, 1, 1}, unchecked).y[64], 4u);
  unchecked.copiesReadAtIssue = true;
  EXPECT_EQ(runText(text, 32, {1, 1, 1}, unchecked).y[64], 3u);
}

} // namespace
} // namespace tessera::sim
