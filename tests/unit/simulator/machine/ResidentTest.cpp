// tests/unit/simulator/machine/ResidentTest.cpp - blocks that wait for one
// another, of which some run at a time.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/simulator/machine/RunText.h"

#include <set>

namespace tessera::sim {
namespace {

// Thread 0 of each block waits until word 255 of Y is the block's turn, adds 1
// to what the block before it wrote and lets the next one in. ORDER computes
// the turn, %r11. The result of turn i is word 100 + i. The other threads wait
// at the barrier.
constexpr const char *Chain = R"(
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra $wait;
    ORDER
    mul.wide.u32 %rd10, %r11, 4;
    add.s64 %rd10, %rd2, %rd10;
  $spin:
    .loc 1 20 4
    ld.acquire.gpu.global.u32 %r12, [%rd2+1020];
    .loc 1 21 4
    setp.ne.u32 %p2, %r12, %r11;
    @%p2 bra $spin;
    ld.global.u32 %r13, [%rd10+396];
    add.u32 %r13, %r13, 1;
    st.global.u32 [%rd10+400], %r13;
    add.u32 %r14, %r11, 1;
    .loc 1 30 4
    st.release.gpu.global.u32 [%rd2+1020], %r14;
  $wait:
    bar.sync 0;
    ret;)";

constexpr uint32_t Blocks = 40;
const char *const inGridOrder = "mov.u32 %r11, %ctaid.x;";
const char *const backwards = "mov.u32 %r10, %ctaid.x;\n"
                              "    sub.u32 %r11, 39, %r10;";
const char *const byTicket = "atom.relaxed.gpu.global.add.u32 %r11, "
                             "[%rd2+1016], 1;";

Ran runChain(const std::string &order, unsigned resident, uint64_t seed = 0) {
  Options options;
  options.resident = resident;
  options.seed = seed;
  return runText(replaced(Chain, "ORDER", order), 64, {Blocks, 1, 1}, options);
}

void expectAllTurns(const Ran &run) {
  ASSERT_TRUE(run.report.ok()) << run.report.text();
  for (uint32_t turn = 0; turn < Blocks; ++turn)
    ASSERT_EQ(run.y[100 + turn], turn + 1);
  EXPECT_EQ(run.y[255], Blocks);
}

TEST(SimResident, BlocksWaitForEarlierOnes) {
  for (unsigned resident : {1u, 2u, 8u, 39u, 40u, 108u, 132u})
    expectAllTurns(runChain(inGridOrder, resident));
}

TEST(SimResident, TicketsMakeEveryOrderOfBlocksGood) {
  for (unsigned resident : {1u, 2u, 8u, 108u})
    for (uint64_t seed = 1; seed <= 5; ++seed)
      expectAllTurns(runChain(byTicket, resident, seed));
}

// The block whose turn is the first starts last.
TEST(SimResident, WaitingForABlockThatHasNotStartedIsADeadlock) {
  expectAllTurns(runChain(backwards, Blocks));
  for (unsigned resident : {1u, 2u, 39u}) {
    Ran run = runChain(backwards, resident);
    ASSERT_EQ(run.report.findings.size(), 1u) << resident;
    const Finding &f = run.report.findings[0];
    EXPECT_STREQ(checkName(f.check), "deadlock") << f.text();
    EXPECT_TRUE(f.sourceLine == 20 || f.sourceLine == 21) << f.text();
    const std::string left = std::to_string(Blocks - resident);
    EXPECT_NE(f.message.find("the " + left + " that have not started"),
              std::string::npos)
        << f.message;
    EXPECT_NE(f.history.find("block 0,0,0 repeats"), std::string::npos)
        << f.history;
  }
}

// Each of two blocks waits for a word that the other one would write later.
TEST(SimResident, BlocksThatWaitForOneAnotherAreADeadlock) {
  const char *text = R"(
    mov.u32 %r10, %ctaid.x;
    mul.wide.u32 %rd10, %r10, 4;
    add.s64 %rd10, %rd2, %rd10;
    xor.b32 %r11, %r10, 1;
    mul.wide.u32 %rd11, %r11, 4;
    add.s64 %rd11, %rd2, %rd11;
  $spin:
    .loc 1 20 4
    atom.acq_rel.gpu.global.add.u32 %r12, [%rd11], 0;
    setp.eq.u32 %p2, %r12, 0;
    @%p2 bra $spin;
    st.release.gpu.global.u32 [%rd10], 1;
    ret;)";
  Options options;
  options.resident = 8;
  Ran run = runText(text, 1, {2, 1, 1}, options);
  ASSERT_EQ(run.report.findings.size(), 1u);
  EXPECT_STREQ(checkName(run.report.findings[0].check), "deadlock");
  EXPECT_EQ(run.report.findings[0].message,
            "the 2 blocks that run wait for one another");
}

// Adds 1 to a register or a memory location until it is `rounds`. If it is in
// memory, registers are equal in every round; a pause makes a round longer than
// a turn of the scheduler.
Ran runLoop(const std::string &step, uint32_t rounds) {
  Options options;
  options.resident = 2;
  options.maxInstructions = 10'000'000;
  const char *reset = step.rfind("add", 0) == 0 ? "" : "mov.u32 %r10, 0;";
  return runText("mov.u32 %r10, 0;\nst.shared.u32 [%r2], %r10;\n$loop:\n" +
                     step + "\nsetp.ne.u32 %p1, %r10, " +
                     std::to_string(rounds) +
                     ";\nmov.u32 %r11, 700;\n$pause:\n"
                     "sub.u32 %r11, %r11, 1;\nsetp.ne.u32 %p2, %r11, 0;\n"
                     "@%p2 bra $pause;\n" +
                     reset + "\n@%p1 bra $loop;\nret;",
                 1, {1, 1, 1}, options);
}

// What changes a register or memory is not a deadlock, however long it takes.
TEST(SimResident, ALongLoopIsNoDeadlock) {
  const std::string inRegister = "add.u32 %r10, %r10, 1;";
  const std::string inShared = "ld.shared.u32 %r10, [%r2];\n"
                               "add.u32 %r10, %r10, 1;\n"
                               "st.shared.u32 [%r2], %r10;";
  const std::string inGlobal = "ld.global.u32 %r10, [%rd6];\n"
                               "add.u32 %r10, %r10, 1;\n"
                               "st.global.u32 [%rd6], %r10;";
  const std::string byAtomic = "atom.relaxed.gpu.global.add.u32 %r10, "
                               "[%rd6], 1;\nadd.u32 %r10, %r10, 1;";
  for (const std::string &step : {inRegister, inShared, inGlobal, byAtomic}) {
    Ran run = runLoop(step, 600);
    EXPECT_TRUE(run.report.ok()) << run.report.text() << step;
  }
}

TEST(SimResident, ASeedGivesOneScheduleOfMany) {
  const char *tickets = R"(
    mov.u32 %r11, %ctaid.x;
    mov.u32 %r12, 0;
  $loop:
    add.u32 %r12, %r12, 1;
    setp.ne.u32 %p1, %r12, 500;
    @%p1 bra $loop;
    atom.relaxed.gpu.global.add.u32 %r10, [%rd2+1020], 1;
    mul.wide.u32 %rd10, %r11, 4;
    add.s64 %rd10, %rd2, %rd10;
    st.global.u32 [%rd10], %r10;
    ret;)";
  std::set<std::vector<uint32_t>> orders;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Options options;
    options.resident = 4;
    options.seed = seed;
    Ran run = runText(tickets, 1, {12, 1, 1}, options);
    ASSERT_TRUE(run.report.ok()) << run.report.text();
    EXPECT_EQ(runText(tickets, 1, {12, 1, 1}, options).y, run.y);
    orders.insert(run.y);
  }
  EXPECT_GE(orders.size(), 8u);
}

} // namespace
} // namespace tessera::sim
