// tests/unit/simulator/machine/ChecksTest.cpp - every check fires where it
// should, and only there.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/simulator/machine/RunText.h"

#include "simulator/arith/Bits.h"

#include <functional>

namespace tessera::sim {
namespace {

// Thread t writes word t, reads word 63 - t.
constexpr const char *Exchange = R"(
  .loc 1 20 4
  ld.global.u32 %r10, [%rd5];
  st.shared.u32 [%r2], %r10;
  BARRIER
  .loc 1 21 4
  xor.b32 %r11, %r1, 63;
  shl.b32 %r11, %r11, 2;
  add.s32 %r11, %r3, %r11;
  ld.shared.u32 %r12, [%r11];
  .loc 1 22 4
  st.global.u32 [%rd6], %r12;
  ret;
)";

TEST(SimChecks, MissingBarrier) {
  Ran good = runText(replaced(Exchange, "BARRIER", "bar.sync 0;"));
  good.report.throwIfBad();
  for (uint32_t t = 0; t < 64; ++t)
    EXPECT_EQ(good.y[t], 1000 + 63 - t);
  Ran bad = runText(replaced(Exchange, "BARRIER", ""));
  // Warp 0 has read what warp 1 writes then.
  expectFinding(bad, Check::SharedRace, 20);
  const Finding &f = bad.report.findings[0];
  EXPECT_EQ(f.source, "kernel.py:20:4");
  EXPECT_EQ(f.place, "shared + 128");
  EXPECT_EQ(f.warp, 1u);
  EXPECT_NE(f.history.find("kernel.py:21:4"), std::string::npos) << f.history;
  EXPECT_NE(f.instruction.find("st.shared.u32"), std::string::npos);
}

TEST(SimChecks, LanesOfOneWarpNeedABarrierToo) {
  // Words 0 to 31 only: one warp.
  std::string text = replaced(Exchange, "63", "31");
  expectFinding(runText(replaced(text, "BARRIER", ""), 32), Check::SharedRace,
                21);
  runText(replaced(text, "BARRIER", "bar.warp.sync 0xffffffff;"), 32)
      .report.throwIfBad();
}

TEST(SimChecks, WriteAfterReadNeedsABarrier) {
  std::string text = R"(
    .loc 1 30 4
    st.shared.u32 [%r2], %r1;
    bar.sync 0;
    xor.b32 %r11, %r2, 128;
    .loc 1 31 4
    ld.shared.u32 %r12, [%r11];
    BARRIER
    .loc 1 32 4
    st.shared.u32 [%r2], %r12;
    ret;)";
  // Warp 0 ran first, and wrote what warp 1 reads.
  Ran bad = runText(replaced(text, "BARRIER", ""));
  expectFinding(bad, Check::SharedRace, 31);
  EXPECT_NE(bad.report.findings[0].history.find("kernel.py:32:4"),
            std::string::npos);
  runText(replaced(text, "BARRIER", "bar.sync 0;")).report.throwIfBad();
}

TEST(SimChecks, WritingTheSameValueIsNoRace) {
  std::string text = R"(
    .loc 1 30 4
    mov.u32 %r12, VALUE;
    st.shared.u32 [smem], %r12;
    bar.sync 0;
    ld.shared.u32 %r13, [smem];
    ret;)";
  runText(replaced(text, "VALUE", "7")).report.throwIfBad();
  expectFinding(runText(replaced(text, "VALUE", "%r1")), Check::SharedRace, 30);
}

TEST(SimChecks, NamedBarriersOrderTheirMembers) {
  // Warp 0 produces, warp 1 consumes; barrier 1 for 64 threads.
  std::string text = R"(
    setp.ge.u32 %p1, %r1, 32;
    .loc 1 40 4
    @%p1 bra $consume;
    st.shared.u32 [%r2], %r1;
    bar.arrive 1, 64;
    ret;
  $consume:
    SYNC
    .loc 1 41 4
    ld.shared.u32 %r12, [%r2+-128];
    st.global.u32 [%rd6], %r12;
    ret;)";
  Ran good = runText(replaced(text, "SYNC", "bar.sync 1, 64;"));
  good.report.throwIfBad();
  for (uint32_t t = 32; t < 64; ++t)
    EXPECT_EQ(good.y[t], t - 32);
  expectFinding(runText(replaced(text, "SYNC", "")), Check::SharedRace, 41);
}

constexpr const char *AsyncCopies = R"(
  .loc 1 50 4
  cp.async.ca.shared.global [%r2], [%rd5], 4;
  cp.async.commit_group;
  .loc 1 51 4
  cp.async.ca.shared.global [%r2+512], [%rd5], 4, SIZE;
  cp.async.commit_group;
  cp.async.wait_group WAIT;
  bar.sync 0;
  .loc 1 52 4
  ld.shared.u32 %r12, [%r2+READ];
  st.global.u32 [%rd6], %r12;
  ret;
)";

std::string copies(const char *size, const char *wait, const char *read) {
  return replaced(replaced(replaced(AsyncCopies, "SIZE", size), "WAIT", wait),
                  "READ", read);
}

TEST(SimChecks, AsyncCopyBeforeItsWait) {
  // One group may be in flight: the first is complete, the second is in flight.
  Ran first = runText(copies("4", "1", "0"));
  first.report.throwIfBad();
  EXPECT_EQ(first.y[5], 1005u);
  EXPECT_EQ(first.report.counters.asyncMaxGroups, 2u);
  Ran second = runText(copies("4", "1", "512"));
  expectFinding(second, Check::AsyncRead, 52);
  EXPECT_NE(second.report.findings[0].history.find("kernel.py:51:4"),
            std::string::npos);
  Ran waited = runText(copies("4", "0", "512"));
  waited.report.throwIfBad();
  EXPECT_EQ(waited.y[5], 1005u);
  Ran zero = runText(copies("0", "0", "512"));
  zero.report.throwIfBad();
  EXPECT_EQ(zero.y[5], 0u);
  std::string text = copies("4", "0", "512");
  expectFinding(runText(replaced(text, "cp.async.wait_group 0;", "")),
                Check::AsyncRead, 52);
}

// A GPU may read the source at any time until the wait.
TEST(SimChecks, SourcesOfCopiesAreNotWrittenBeforeTheWait) {
  const std::string text = R"(
  .loc 1 53 4
  cp.async.ca.shared.global [%r2], [%rd6], 4;
  cp.async.commit_group;
  EARLY
  .loc 1 54 4
  st.global.u32 [%rd6], VALUE;
  .loc 1 55 4
  cp.async.wait_group 0;
  ret;
)";
  const auto with = [&](const char *early, const char *value) {
    return runText(replaced(replaced(text, "EARLY", early), "VALUE", value));
  };
  const Ran bad = with("", "7");
  expectFinding(bad, Check::AsyncRead, 55);
  EXPECT_NE(bad.report.findings[0].history.find("kernel.py:53:4"),
            std::string::npos);
  EXPECT_NE(bad.report.findings[0].text().find("Y"), std::string::npos);
  with("cp.async.wait_group 0;", "7").report.throwIfBad();
  with("", "0").report.throwIfBad(); // what was there
  const Ran beside =
      runText(replaced(replaced(replaced(text, "EARLY", ""), "VALUE", "7"),
                       "st.global.u32 [%rd6]", "st.global.u32 [%rd6+256]"));
  beside.report.throwIfBad();
}

TEST(SimChecks, ReadingPastATensor) {
  std::string text = R"(
    .loc 1 60 4
    ld.global.u32 %r12, [%rd5+OFFSET];
    st.global.u32 [%rd6], %r12;
    ret;)";
  runText(replaced(text, "OFFSET", "768")).report.throwIfBad();
  Ran past = runText(replaced(text, "OFFSET", "772"));
  expectFinding(past, Check::OutOfBounds, 60);
  const Finding &f = past.report.findings[0];
  EXPECT_NE(f.message.find(", outside of every argument"), std::string::npos);
  EXPECT_EQ(f.warp, 1u);
  EXPECT_EQ(f.lane, 31u);
  EXPECT_EQ(f.place, "X + 1024, 1 beyond the last of its 1024 bytes");
  expectFinding(runText(replaced(text, "OFFSET", "2")), Check::Misaligned, 60);
  expectFinding(runText("st.global.u32 [%rd5], %r1; ret;"), Check::ReadOnly,
                10);
}

TEST(SimChecks, SharedAndLocalBounds) {
  expectFinding(runText("ld.shared.u32 %r12, [%r2+1000]; ret;"),
                Check::OutOfBounds, 10);
  expectFinding(runText("st.shared.v4.b32 [%r2], {%r1,%r1,%r1,%r1}; ret;"),
                Check::Misaligned, 10);
  expectFinding(
      runText(
          ".local .align 8 .b8 here[16]; st.local.u32 [here+16], %r1; ret;"),
      Check::OutOfBounds, 10);
}

TEST(SimChecks, Uninitialized) {
  // A register; it may be moved, but not stored, not used as an address.
  runText("mov.b32 %r20, %r21; add.s32 %r22, %r20, 1; ret;")
      .report.throwIfBad();
  expectFinding(runText("add.s32 %r22, %r20, 1; st.global.u32 [%rd6], %r22; "
                        "ret;"),
                Check::Uninitialized, 10);
  const Ran unknown = runText("ld.global.u32 %r22, [%rd10]; ret;");
  expectFinding(unknown, Check::Uninitialized, 10);
  EXPECT_EQ(unknown.report.findings[0].message,
            "the address depends on an uninitialized value");
  expectFinding(runText("setp.eq.u32 %p1, %r20, 0; @%p1 bra $e; $e: ret;"),
                Check::Uninitialized, 10);
  // Shared memory that no thread has written, and global memory.
  expectFinding(runText("ld.shared.u32 %r22, [%r2]; st.global.u32 [%rd6], %r22;"
                        " ret;"),
                Check::Uninitialized, 10);
  std::string copy = "ld.global.u32 %r22, [%rd6]; st.global.u32 [%rd6], %r22; "
                     "ret;";
  runText(copy).report.throwIfBad();
  expectFinding(runText(copy, 64, {1, 1, 1}, {}, false), Check::Uninitialized,
                10);
  // Only lane 0 of the register is written; only lane 0 stores it.
  std::string some = "setp.eq.u32 %p1, %r1, 0; @%p1 mov.u32 %r20, 5; "
                     "PRED st.global.u32 [%rd6], %r20; ret;";
  runText(replaced(some, "PRED", "@%p1")).report.throwIfBad();
  expectFinding(runText(replaced(some, "PRED", "")), Check::Uninitialized, 10);
  // A selection takes the mark of the side it chooses.
  runText("setp.eq.u32 %p1, %r1, %r1; selp.b32 %r22, %r1, %r20, %p1; "
          "st.global.u32 [%rd6], %r22; ret;")
      .report.throwIfBad();
  // One half of a register is undefined: the other half may be extracted and
  // stored, but neither the undefined half nor the complete register; and only
  // until another instruction writes the register.
  std::string halves = "mov.b32 %r22, {%rs1, %rs9}; CHANGE mov.b32 {%rs3, "
                       "%rs4}, %r22; st.global.u16 [%rd6], WHICH; ret;";
  auto half = [&](const char *which, const char *change = "") {
    return runText(
        "cvt.u16.u32 %rs1, %r1; " +
        replaced(replaced(halves, "WHICH", which), "CHANGE", change));
  };
  half("%rs3").report.throwIfBad();
  expectFinding(half("%rs4"), Check::Uninitialized, 10);
  expectFinding(half("%r22"), Check::Uninitialized, 10);
  expectFinding(half("%rs3", "add.s32 %r22, %r20, 1;"), Check::Uninitialized,
                10);
  // Bytes, by prmt: a register of four is put together of two, each with
  // undefined ones; %r20 and %r21 have never been written.
  std::string bytes = "prmt.b32 %r22, %r1, %r20, 0x7610; "
                      "prmt.b32 %r23, %r21, %r1, 0x5410; mov.b32 %r24, %r22; "
                      "prmt.b32 %r25, %r24, %r23, SELECT; "
                      "st.global.u32 [%rd6], %r25; ret;";
  runText(replaced(bytes, "SELECT", "0x7610")).report.throwIfBad();
  expectFinding(runText(replaced(bytes, "SELECT", "0x7620")),
                Check::Uninitialized, 10);
  expectFinding(runText(replaced(bytes, "SELECT", "0x5610")),
                Check::Uninitialized, 10);
  expectFinding(runText(replaced(bytes, "SELECT", "%r20")),
                Check::Uninitialized, 10);
  // selp and shfl keep what is known of each byte: %r22 has two bytes of %r1
  // and two uninitialized ones.
  std::string carried = "prmt.b32 %r22, %r1, %r20, 0x7610; "
                        "setp.lt.u32 %p1, %r1, 16; and.b32 %r26, %r1, 0; "
                        "CARRY prmt.b32 %r25, %r23, %r26, SELECT; "
                        "st.global.u32 [%rd6], %r25; ret;";
  for (const char *carry :
       {"selp.b32 %r23, %r22, %r1, %p1;", "selp.b32 %r23, %r1, %r22, %p1;",
        "shfl.sync.bfly.b32 %r23, %r22, 1, 31, -1;",
        "shfl.sync.idx.b32 %r23, %r22, 0, 31, -1;"}) {
    SCOPED_TRACE(carry);
    const std::string text = replaced(carried, "CARRY", carry);
    runText(replaced(text, "SELECT", "0x4410")).report.throwIfBad();
    expectFinding(runText(replaced(text, "SELECT", "0x4420")),
                  Check::Uninitialized, 10);
    expectFinding(runText(replaced(text, "SELECT", "0x3410")),
                  Check::Uninitialized, 10);
  }
  // Each lane has the bytes of the side that it chooses, or of the lane that it
  // reads. Only the first half of the warp has uninitialized bytes in %r22.
  for (const char *half :
       {"selp.b32 %r23, %r22, %r1, %p1; prmt.b32 %r25, %r23, %r26, 0x4420; "
        "PRED st.global.u32 [%rd6], %r25; ret;",
        "@!%p1 mov.u32 %r22, %r1; shfl.sync.bfly.b32 %r23, %r22, 16, 31, -1; "
        "prmt.b32 %r25, %r23, %r26, 0x4420; not.pred %p1, %p1; "
        "PRED st.global.u32 [%rd6], %r25; ret;"}) {
    SCOPED_TRACE(half);
    const std::string text =
        std::string("prmt.b32 %r22, %r1, %r20, 0x7610; "
                    "setp.lt.u32 %p1, %r1, 16; and.b32 %r26, %r1, 0; ") +
        half;
    runText(replaced(text, "PRED", "@!%p1"), 32).report.throwIfBad();
    expectFinding(runText(replaced(text, "PRED", "@%p1"), 32),
                  Check::Uninitialized, 10);
  }
  // Logic, shifts and bfi: a byte of the result is known if it does not depend
  // on an uninitialized byte.
  struct Step {
    const char *step, *known, *unknown; // selectors of prmt for %r23, %r26
  };
  for (const Step &s :
       {Step{"and.b32 %r23, %r22, 0xffff;", "0x3210", nullptr},
        Step{"and.b32 %r23, %r22, 0xffffff;", "0x3410", "0x4420"},
        Step{"or.b32 %r23, %r22, 0xffff0000;", "0x3210", nullptr},
        Step{"xor.b32 %r23, %r22, %r22;", "0x4410", "0x4430"},
        Step{"shl.b32 %r23, %r22, 16;", "0x3210", nullptr},
        Step{"shl.b32 %r23, %r22, 4;", "0x4410", "0x4420"},
        Step{"shr.u32 %r23, %r22, 8;", "0x4440", "0x4414"},
        Step{"bfi.b32 %r23, %r22, %r1, 8, 16;", "0x3210", nullptr},
        Step{"bfi.b32 %r23, %r1, %r22, 16, 8;", "0x4210", "0x3444"},
        Step{"bfi.b32 %r23, %r22, %r1, 0, 24;", "0x3410", "0x4442"}}) {
    SCOPED_TRACE(s.step);
    const std::string text = replaced(carried, "CARRY", s.step);
    runText(replaced(text, "SELECT", s.known)).report.throwIfBad();
    if (s.unknown)
      expectFinding(runText(replaced(text, "SELECT", s.unknown)),
                    Check::Uninitialized, 10);
  }
  // Logic marks its result where a source is uninitialized as a unit. %r0,
  // which is not a source, has uninitialized bytes.
  for (const char *step :
       {"and.b32 %r23, %r20, 0;", "and.b32 %r23, %r1, %r20;",
        "or.b32 %r23, %r20, -1;", "xor.b32 %r23, %r20, %r20;"}) {
    SCOPED_TRACE(step);
    expectFinding(runText("prmt.b32 %r0, %r1, %r20, 0x7610; " +
                          std::string(step) +
                          " st.global.u32 [%rd6], %r23; ret;"),
                  Check::Uninitialized, 10);
  }
  // An uninitialized position makes all bytes of the result unknown.
  expectFinding(
      runText(replaced(replaced(carried, "CARRY", "shl.b32 %r23, %r22, %r20;"),
                       "SELECT", "0x4440")),
      Check::Uninitialized, 10);
  // A lane that reads a lane outside of the instruction gets no byte.
  expectFinding(runText("prmt.b32 %r22, %r1, %r20, 0x7610; "
                        "and.b32 %r26, %r1, 0; mov.u32 %r23, 0; "
                        "setp.lt.u32 %p1, %r1, 16; "
                        "@%p1 shfl.sync.idx.b32 %r23, %r22, 20, 31, 0xffff; "
                        "prmt.b32 %r25, %r23, %r26, 0x4410; "
                        "st.global.u32 [%rd6], %r25; ret;"),
                Check::Uninitialized, 10);
  // Each half of the warp puts its own byte in.
  runText("setp.lt.u32 %p1, %r1, 16; @%p1 prmt.b32 %r22, %r1, %r20, 0x7650; "
          "@!%p1 prmt.b32 %r22, %r3, %r20, 0x7650; "
          "and.b32 %r26, %r1, 0; "
          "prmt.b32 %r25, %r22, %r26, 0x4440; st.global.u32 [%rd6], %r25; ret;")
      .report.throwIfBad();
  Options off;
  off.uninitialized = false;
  runText("st.global.u32 [%rd6], %r20; ret;", 64, {1, 1, 1}, off)
      .report.throwIfBad();
}

// Whoever divides by zero may keep what it gives, but not use it; lanes whose
// divisor is another number have a result.
TEST(SimChecks, DivisionByZero) {
  struct Width {
    const char *bits, *before, *divisor, *result, *after;
  };
  for (const Width &w :
       {Width{"16", "cvt.u16.u32 %rs1, %r1;", "%rs1", "%rs2",
              "cvt.u32.u16 %r21, %rs2;"},
        Width{"32", "", "%r1", "%r20", "add.s32 %r21, %r20, 1;"},
        Width{"64", "cvt.u64.u32 %rd18, %r1;", "%rd18", "%rd19",
              "cvt.u32.u64 %r21, %rd19;"}})
    for (const char *op : {"div.s", "div.u", "rem.s", "rem.u"}) {
      SCOPED_TRACE(std::string(op) + w.bits);
      const std::string divide = std::string(w.before) + op + w.bits + " " +
                                 w.result + ", " + w.divisor + ", " +
                                 w.divisor + "; " + w.after +
                                 "setp.ne.u32 %p1, %r1, 0; ";
      runText(divide + "ret;").report.throwIfBad();
      const Ran bad = runText(divide + "st.global.u32 [%rd6], %r21; ret;");
      expectFinding(bad, Check::DivisionByZero, 10);
      runText(divide + "@%p1 st.global.u32 [%rd6], %r21; ret;")
          .report.throwIfBad();
      runText(divide + "selp.b32 %r22, %r21, %r1, %p1; "
                       "st.global.u32 [%rd6], %r22; ret;")
          .report.throwIfBad();
      Options off;
      off.uninitialized = false;
      runText(divide + "st.global.u32 [%rd6], %r21; ret;", 64, {1, 1, 1}, off)
          .report.throwIfBad();
    }
  // A divisor that no thread has written may be any number; a division of
  // another block is not this one's.
  expectFinding(runText("div.s32 %r21, %r1, %r20; st.global.u32 [%rd6], %r21;"
                        " ret;"),
                Check::Uninitialized, 10);
  Options serial;
  serial.serial = true;
  expectFinding(
      runText("mov.u32 %r22, %ctaid.x; div.s32 %r21, %r1, %r22; "
              "setp.eq.u32 %p1, %r22, 0; @%p1 ret; "
              "add.s32 %r23, %r20, 1; st.global.u32 [%rd6], %r23; ret;",
              64, {2, 1, 1}, serial),
      Check::Uninitialized, 10);
}

TEST(SimChecks, Barriers) {
  std::string some = "setp.lt.u32 %p1, %r1, 40; @%p1 bra $in; bra $out; $in: "
                     ".loc 1 70 4\n bar.sync 0; $out: ret;";
  Ran divergent = runText(some);
  expectFinding(divergent, Check::DivergentBarrier, 70);
  EXPECT_NE(divergent.report.findings[0].message.find("8 of 32"),
            std::string::npos)
      << divergent.report.findings[0].message;
  // Two warps wait at different barriers.
  Ran dead = runText("setp.lt.u32 %p1, %r1, 32; @%p1 bra $in; .loc 1 71 4\n "
                     "bar.sync 1; ret; $in: bar.sync 2; ret;");
  expectFinding(dead, Check::Deadlock, 71);
  EXPECT_NE(dead.report.findings[0].history.find("barrier 2"),
            std::string::npos);
  expectFinding(runText(".loc 1 72 4\n $l: bra $l;"), Check::EndlessLoop, 72);
}

TEST(SimChecks, BlocksThatDisagree) {
  std::string text = "mov.u32 %r10, %ctaid.x; .loc 1 80 4\n "
                     "st.global.u32 [%rd6], VALUE; ret;";
  Options serial;
  serial.serial = true;
  for (const Options &options : {serial, Options{}}) {
    Ran bad = runText(replaced(text, "VALUE", "%r10"), 64, {4, 1, 1}, options);
    expectFinding(bad, Check::GlobalConflict, 80);
  }
  Ran same = runText(replaced(text, "VALUE", "%r1"), 64, {4, 1, 1}, serial);
  same.report.throwIfBad();
  serial.conflicts = GlobalConflicts::All;
  expectFinding(runText(replaced(text, "VALUE", "%r1"), 64, {4, 1, 1}, serial),
                Check::GlobalConflict, 80);
  Ran atomics = runText("red.global.add.u32 [%rd6], 3; ret;", 64, {4, 1, 1});
  atomics.report.throwIfBad();
  EXPECT_EQ(atomics.y[9], 12u);
}

// Threads of one block that store to one address.
TEST(SimChecks, ThreadsThatDisagree) {
  // Lanes of one instruction.
  std::string text = ".loc 1 82 4\n st.global.u32 [%rd2], VALUE; ret;";
  Ran bad = runText(replaced(text, "VALUE", "%r1"));
  expectFinding(bad, Check::GlobalConflict, 82);
  EXPECT_EQ(bad.report.findings[0].lane, 1u);
  EXPECT_NE(bad.report.findings[0].history.find("warp 0 lane 0"),
            std::string::npos);
  runText(replaced(text, "VALUE", "7")).report.throwIfBad();
  Options off;
  off.conflicts = GlobalConflicts::Off;
  runText(replaced(text, "VALUE", "%r1"), 64, {1, 1, 1}, off)
      .report.throwIfBad();
  // Thread 63 - t stores another value to where thread t has stored: within a
  // warp and between warps.
  for (const char *last : {"31", "63"}) {
    std::string order = replaced(R"(
      .loc 1 83 4
      st.global.u32 [%rd6], %r1;
      BARRIER
      xor.b32 %r11, %r1, LAST;
      mul.wide.u32 %rd10, %r11, 4;
      add.s64 %rd10, %rd2, %rd10;
      .loc 1 84 4
      st.global.u32 [%rd10], %r1;
      ret;)",
                                 "LAST", last);
    uint32_t threads = static_cast<uint32_t>(std::stoi(last)) + 1;
    // Warp 0 is through before warp 1 begins.
    expectFinding(runText(replaced(order, "BARRIER", ""), threads),
                  Check::GlobalConflict, threads == 32 ? 84 : 83);
    Ran good = runText(replaced(order, "BARRIER", "bar.sync 0;"), threads);
    good.report.throwIfBad();
    EXPECT_EQ(good.y[0], threads - 1);
  }
  // A thread may change its mind, and strong stores may meet.
  runText("st.global.u32 [%rd6], %r1; st.global.u32 [%rd6], %r2; ret;")
      .report.throwIfBad();
  runText("st.relaxed.gpu.global.u32 [%rd2], %r1; ret;").report.throwIfBad();
}

// Blocks add to word 1 while they hold the lock in word 0.
constexpr const char *Lock = R"(
    setp.ne.u32 %p1, %r1, 0;
    @%p1 ret;
    mov.u32 %r10, 0;
    mov.u32 %r11, 1;
  $take:
    atom.global.TAKE.cas.b32 %r12, [%rd2], %r10, %r11;
    setp.ne.u32 %p2, %r12, 0;
    @%p2 bra $take;
    AFTER
    .loc 1 85 4
    ld.global.u32 %r13, [%rd2+4];
    add.u32 %r13, %r13, 1;
    .loc 1 86 4
    st.global.u32 [%rd2+4], %r13;
    BEFORE
    GIVE
    ret;)";

TEST(SimChecks, ALockOrdersBlocks) {
  struct Form {
    const char *take, *after, *before, *give;
    bool good;
  } forms[] = {
      // Triton's words for cas and exch, and the ISA's order of them.
      {"acq_rel.gpu", "", "",
       "atom.global.gpu.acq_rel.exch.b32 %r14, [%rd2], %r10;", true},
      {"gpu.acquire", "", "", "st.release.gpu.global.u32 [%rd2], %r10;", true},
      {"acquire.sys", "", "", "red.release.gpu.global.and.b32 [%rd2], 0;",
       true},
      {"relaxed.gpu", "fence.acq_rel.gpu;", "membar.gl;",
       "st.volatile.global.u32 [%rd2], %r10;", true},
      // Nothing orders.
      {"relaxed.gpu", "", "", "st.relaxed.gpu.global.u32 [%rd2], %r10;", false},
      {"acquire.gpu", "", "", "st.relaxed.gpu.global.u32 [%rd2], %r10;", false},
      {"relaxed.gpu", "", "", "st.release.gpu.global.u32 [%rd2], %r10;", false},
      {"relaxed.gpu", "fence.acq_rel.cta;", "membar.cta;",
       "st.volatile.global.u32 [%rd2], %r10;", false},
  };
  for (const Form &form : forms)
    for (bool serial : {false, true}) {
      std::string text =
          replaced(replaced(Lock, "TAKE", form.take), "AFTER", form.after);
      text = replaced(replaced(text, "BEFORE", form.before), "GIVE", form.give);
      Options options;
      options.serial = serial;
      Ran run = runText(text, 64, {6, 1, 1}, options);
      if (form.good) {
        EXPECT_TRUE(run.report.ok()) << text << run.report.text();
        EXPECT_EQ(run.y[1], 6u);
        EXPECT_EQ(run.y[0], 0u);
      } else {
        // The load of what the lock guards is the first that goes wrong.
        expectFinding(run, Check::GlobalConflict, 85);
      }
    }
  // A store after the release is not covered by it.
  std::string late = "atom.global.acq_rel.gpu.add.u32 %r10, [%rd6+512], 1; "
                     "mov.u32 %r11, %ctaid.x; "
                     ".loc 1 87 4\n st.global.u32 [%rd6], %r11; ret;";
  Options serial;
  serial.serial = true;
  expectFinding(runText(late, 64, {2, 1, 1}, serial), Check::GlobalConflict,
                87);
}

// Every order of words that the ISA, Triton and NVRTC use; no word twice.
TEST(SimChecks, WordsOfAtomics) {
  for (const char *words :
       {"global.", "global.acq_rel.gpu.", "global.gpu.acq_rel.",
        "acq_rel.gpu.global.", "relaxed.sys.global.", "global.relaxed.cta.",
        "global.cta.release.", "gpu.global.", ""}) {
    std::string text = std::string("atom.") + words +
                       "cas.b32 %r10, [%rd6], 0, %r1; atom." + words +
                       "add.u32 %r10, [%rd6], 1; red." + words +
                       "max.s32 [%rd6], 5; ret;";
    Ran run = runText(text);
    run.report.throwIfBad();
    EXPECT_EQ(run.y[9], 10u) << words;
    EXPECT_EQ(run.y[2], 5u) << words;
  }
  for (const char *words : {"global.acq_rel.gpu.acquire.", "gpu.global.gpu.",
                            "relaxed.global.relaxed.", "weak.global."})
    EXPECT_THROW(runText(std::string("atom.") + words +
                         "cas.b32 %r10, [%rd6], 0, %r1; ret;"),
                 Error)
        << words;
}

TEST(SimChecks, OverflowInAnAddress) {
  std::string text = R"(
    .loc 1 90 4
    mov.u32 %r10, 65536;
    mad.lo.s32 %r11, %r10, FACTOR, %r1;
    USE
    cvt.s64.s32 %rd10, %r11;
    shl.b64 %rd10, %rd10, 2;
    add.s64 %rd11, %rd2, %rd10;
    .loc 1 91 4
    st.global.u32 [%rd11], %r1;
    ret;)";
  Ran bad = runText(replaced(replaced(text, "FACTOR", "65536"), "USE", ""));
  expectFinding(bad, Check::AddressOverflow, 91);
  EXPECT_EQ(bad.report.findings[0].message,
            "the address was computed with a signed 32-bit overflow");
  runText(replaced(replaced(text, "FACTOR", "0"), "USE", ""))
      .report.throwIfBad();
  // Masked on purpose.
  runText(replaced(replaced(text, "FACTOR", "65536"), "USE",
                   "and.b32 %r11, %r11, 63;"))
      .report.throwIfBad();
}

TEST(SimChecks, DivergentWarpInstructions) {
  expectFinding(runText("setp.lt.u32 %p1, %r1, 7; @%p1 bra $in; ret; $in: "
                        "shfl.sync.bfly.b32 %r10, %r1, 1, 31, -1; "
                        "st.global.u32 [%rd6], %r10; ret;"),
                Check::Uninitialized, 10);
  expectFinding(runText("setp.lt.u32 %p1, %r1, 7; .loc 1 95 4\n @%p1 "
                        "shfl.sync.bfly.b32 %r10, %r1, 1, 31, -1; ret;"),
                Check::DivergentWarp, 95);
}

TEST(SimChecks, TheFirstBlockIsReported) {
  std::string text = "mov.u32 %r10, %ctaid.x; setp.lt.u32 %p1, %r10, 3; "
                     "@%p1 ret; trap;";
  for (int i = 0; i < 5; ++i) {
    Ran run = runText(text, 64, {20, 1, 1});
    expectFinding(run, Check::Trap, 10);
    EXPECT_EQ(run.report.findings[0].block[0], 3u);
  }
}

// The same on real PTX of Triton's: matmul with one line taken out.
TEST(SimChecks, MatmulWithoutItsBarrierOrWait) {
  std::string text =
      readFile(std::string(TESSERA_SIM_PTX) + "/matmul_fp16.ptx");
  auto launch = [&](const std::string &ptx) {
    constexpr int32_t N = 64, K = 128;
    std::vector<uint16_t> a(N * K), b(K * N), c(N * N);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = floatToF16(static_cast<float>(i % 17));
      b[i] = floatToF16(static_cast<float>(i % 13));
    }
    Memory memory;
    memory.add("A", std::as_const(a).data(), a.size() * 2);
    memory.add("B", std::as_const(b).data(), b.size() * 2);
    memory.add("C", c.data(), c.size() * 2, true, false);
    Ran run;
    run.report =
        Module::load(ptx, "matmul.ptx")
            .launch("matmul", {1, 1, 1}, {128, 1, 1}, 16384,
                    {pointer(a.data()), pointer(b.data()), pointer(c.data()),
                     scalar(N), scalar(N), scalar(K), scalar(K), scalar(N),
                     scalar(N), pointer(nullptr), pointer(nullptr)},
                    memory);
    return run;
  };
  launch(text).report.throwIfBad();
  // Line 28 of the kernel is its first tl.load, which the pipeline replaced by
  // copies that complete before the ldmatrix of the same line.
  Ran unwaited = launch(replaced(text, "cp.async.wait_group \t2;", ""));
  expectFinding(unwaited, Check::AsyncRead, 28);
  // The barrier after that wait: warp 3 continues while warp 2 has not even
  // waited for its copies, which line 28 issued as well.
  Ran unsynced = launch(
      replaced(text, "wait_group \t2;\n\tbar.sync \t0;", "wait_group \t2;"));
  expectFinding(unsynced, Check::AsyncRead, 28);
  EXPECT_NE(unsynced.report.findings[0].history.find("kernels.py:28"),
            std::string::npos);
  // A wait that leaves one group too many in flight: that of the second load.
  Ran early = launch(
      replaced(text, "cp.async.wait_group \t2;", "cp.async.wait_group \t3;"));
  expectFinding(early, Check::AsyncRead, 29);
}

} // namespace
} // namespace tessera::sim
