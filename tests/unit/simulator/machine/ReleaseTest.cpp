// tests/unit/simulator/machine/ReleaseTest.cpp - what releases and acquires
// order.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/simulator/machine/RunText.h"

namespace tessera::sim {
namespace {

// Two blocks of 64 threads write words; the one that comes last to the counter
// reads what both have written, by other threads.
constexpr const char *LastBlock = R"(
    mov.u32 %r10, %ctaid.x;
    mad.lo.u32 %r11, %r10, 64, %r1;
    mul.wide.u32 %rd10, %r11, 4;
    add.s64 %rd10, %rd2, %rd10;
    .loc 1 20 4
    WRITE
    .loc 1 21 4
    BEFORE
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra $wait;
    atom.ORDER.global.add.u32 %r12, [%rd2+640], 1;
    st.shared.u32 [%r3], %r12;
  $wait:
    AFTER
    ld.shared.u32 %r12, [%r3];
    setp.ne.u32 %p2, %r12, 1;
    @%p2 bra $end;
    xor.b32 %r13, %r1, 63;
    mul.wide.u32 %rd11, %r13, 4;
    add.s64 %rd11, %rd2, %rd11;
    .loc 1 30 4
    ld.global.u32 %r14, [%rd11];
    ld.global.u32 %r15, [%rd11+256];
    add.u32 %r14, %r14, %r15;
    .loc 1 31 4
    st.global.u32 [%rd6+768], %r14;
  $end:
    ret;)";

struct LastBlockForm {
  std::string write = "st.global.u32 [%rd10], %r11;";
  std::string before = "bar.sync 0;", order = "acq_rel.gpu";
  std::string after = "bar.sync 0;";

  std::string text() const {
    std::string text = replaced(LastBlock, "WRITE", write);
    text = replaced(replaced(text, "BEFORE", before), "ORDER", order);
    return replaced(text, "AFTER", after);
  }
};

// Host threads run the blocks of the first one; the second runs the blocks in
// the order of the grid.
std::vector<Options> schedules() {
  std::vector<Options> all(2);
  all[1].serial = true;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Options options;
    options.seed = seed;
    options.lanesApart = seed % 2;
    all.push_back(options);
  }
  return all;
}

void expectGood(const LastBlockForm &form) {
  for (const Options &options : schedules()) {
    Ran run = runText(form.text(), 64, {2, 1, 1}, options);
    ASSERT_TRUE(run.report.ok()) << run.report.text() << form.text();
    for (uint32_t t = 0; t < 64; ++t)
      ASSERT_EQ(run.y[192 + t], run.y[63 - t] + run.y[127 - t]);
  }
}

// In every schedule. Whichever access comes second is reported, with the first
// as its history: the load where a block runs to its end before the next one,
// else also the store of a warp that is late.
void expectConflict(const LastBlockForm &form) {
  for (const Options &options : schedules()) {
    Ran run = runText(form.text(), 64, {2, 1, 1}, options);
    ASSERT_FALSE(run.report.ok()) << "seed " << options.seed << form.text();
    const Finding &finding = run.report.findings[0];
    EXPECT_STREQ(checkName(finding.check), "global-conflict");
    const uint32_t second = finding.sourceLine;
    EXPECT_TRUE(second == 30 || (second == 20 && !options.serial))
        << "seed " << options.seed << " line " << second;
    const std::string first = second == 30 ? "kernel.py:20:" : "kernel.py:30:";
    EXPECT_NE(finding.history.find(first), std::string::npos)
        << finding.history;
  }
}

TEST(SimReleases, ABarrierPutsOtherThreadsStoresBeforeARelease) {
  expectGood({});
  expectGood({.order = "acq_rel.sys"});
  expectConflict({.before = ""});
  // Threads of one warp wait for each other, the other warp's do not.
  expectConflict({.before = "bar.warp.sync 0xffffffff;"});
}

TEST(SimReleases, SoDoesOneForAtomics) {
  LastBlockForm form{.write = "red.relaxed.gpu.global.add.u32 [%rd10], %r11;"};
  expectGood(form);
  form.before = "";
  expectConflict(form);
  // Both blocks add to the same words.
  form.write = "red.relaxed.gpu.global.add.u32 [%rd6], 3;";
  expectConflict(form);
  form.before = "bar.sync 0;";
  expectGood(form);
}

TEST(SimReleases, OnlyWhatReleasesAndAcquiresOrders) {
  for (const char *order : {"relaxed.gpu", "release.gpu", "acquire.gpu"})
    expectConflict({.order = order});
}

// Programs are blocks: among them `.cta` orders nothing.
TEST(SimReleases, TheScopeOfABlockOrdersNoOtherBlock) {
  expectConflict({.order = "acq_rel.cta"});
  expectConflict({.before = "bar.sync 0;\n    fence.acq_rel.cta;",
                  .order = "relaxed.gpu"});
  expectGood({.before = "bar.sync 0;\n    fence.acq_rel.gpu;",
              .order = "relaxed.gpu",
              .after = "fence.acq_rel.gpu;\n    bar.sync 0;"});
}

// Thread 32 stores and releases with the scope of the block, thread 0 acquires.
TEST(SimReleases, TheScopeOfABlockOrdersItsThreads) {
  const std::string text = R"(
    setp.eq.u32 %p1, %r1, 32;
    @!%p1 bra $other;
    st.global.u32 [%rd2], 7;
    st.GIVE.global.u32 [%rd2+800], 1;
    ret;
  $other:
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra $end;
  $spin:
    ld.TAKE.global.u32 %r12, [%rd2+800];
    setp.eq.u32 %p3, %r12, 0;
    @%p3 bra $spin;
    ld.global.u32 %r13, [%rd2];
    .loc 1 41 4
    st.global.u32 [%rd2+400], %r13;
  $end:
    ret;)";
  struct Pair {
    const char *give, *take;
    bool good;
  };
  for (Pair pair : {Pair{"release.cta", "acquire.cta", true},
                    Pair{"release.gpu", "acquire.cta", true},
                    Pair{"release.cta", "acquire.gpu", true},
                    Pair{"relaxed.cta", "acquire.cta", false},
                    Pair{"release.cta", "relaxed.cta", false}}) {
    Options options;
    options.seed = 3;
    Ran run =
        runText(replaced(replaced(text, "GIVE", pair.give), "TAKE", pair.take),
                64, {1, 1, 1}, options);
    if (pair.good)
      EXPECT_TRUE(run.report.ok()) << pair.give << run.report.text();
    else
      expectFinding(run, Check::GlobalConflict, 41);
  }
}

// Lane 0 acquires what the other block has released; all lanes read.
TEST(SimReleases, AShuffleHandsOnNoOrder) {
  const std::string text = R"(
    mov.u32 %r10, %ctaid.x;
    setp.eq.u32 %p1, %r10, 1;
    @%p1 bra $take;
    st.global.u32 [%rd6], %r1;
    GIVE
    setp.ne.u32 %p2, %r1, 0;
    @%p2 bra $end;
    st.release.gpu.global.u32 [%rd2+800], 1;
    ret;
  $take:
    setp.ne.u32 %p2, %r1, 0;
    mov.u32 %r12, 0;
    @!%p2 ld.acquire.gpu.global.u32 %r12, [%rd2+800];
    shfl.sync.idx.b32 %r12, %r12, 0, 31, 0xffffffff;
    setp.eq.u32 %p3, %r12, 0;
    @%p3 bra $take;
    TAKE
    .loc 1 51 4
    ld.global.u32 %r13, [%rd6];
    st.global.u32 [%rd6+128], %r13;
  $end:
    ret;)";
  const char *sync = "bar.warp.sync 0xffffffff;";
  for (const char *give : {"", sync})
    for (const char *take : {"", sync}) {
      Options options;
      options.serial = true; // block 1 finds the flag set
      Ran run = runText(replaced(replaced(text, "GIVE", give), "TAKE", take),
                        32, {2, 1, 1}, options);
      if (*give && *take)
        EXPECT_TRUE(run.report.ok()) << run.report.text();
      else
        expectFinding(run, Check::GlobalConflict, 51);
    }
}

// An atomic meets no plain store of another block.
TEST(SimReleases, AtomicsAndPlainStoresConflict) {
  const std::string text = R"(
    mov.u32 %r10, %ctaid.x;
    setp.eq.u32 %p1, %r10, 1;
    @%p1 bra $add;
    .loc 1 60 4
    st.global.u32 [%rd6], 5;
    ret;
  $add:
    .loc 1 61 4
    red.relaxed.gpu.global.add.u32 [%rd6], 1;
    ret;)";
  Options options;
  options.serial = true;
  expectFinding(runText(text, 64, {2, 1, 1}, options), Check::GlobalConflict,
                61);
  expectFinding(
      runText(replaced(text, "%r10, 1", "%r10, 0"), 64, {2, 1, 1}, options),
      Check::GlobalConflict, 60);
}

} // namespace
} // namespace tessera::sim
