// tests/unit/simulator/machine/WarpTest.cpp - instructions between lanes and
// warps against the formulas of the PTX ISA.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/simulator/machine/Threads.h"

#include <algorithm>
#include <bit>

namespace tessera::sim {
namespace {

constexpr int Rounds = 20;

// Random words: the lanes of each warp share a random mask (word 3), word 2
// takes only five values, and a1 is 1 for the lanes in the mask.
std::vector<Words> inMasks(uint64_t seed, size_t threads = 64) {
  std::vector<Words> in = randomWords(threads, seed);
  for (size_t t = 0; t < threads; ++t) {
    uint32_t mask = in[t / 32 * 32][3];
    in[t][3] = mask ? mask : 1;
    in[t][1] = in[t][3] >> (t % 32) & 1;
    in[t][2] %= 5;
  }
  return in;
}

// Only the lanes of the mask execute what follows %p0.
constexpr const char *Members = "setp.ne.u32 %p0, %a1, 0;\n";

struct Warp32 {
  size_t first; // thread
  uint32_t mask;
  std::vector<uint32_t> lanes;
};
template <class F>
void eachWarp(const std::vector<Words> &in, F f) {
  for (size_t first = 0; first < in.size(); first += 32) {
    Warp32 warp{first, in[first][3], {}};
    for (uint32_t l = 0; l < 32; ++l)
      if (warp.mask >> l & 1)
        warp.lanes.push_back(l);
    f(warp);
  }
}

TEST(SimWarp, Redux) {
  struct {
    const char *name;
    uint32_t (*combine)(uint32_t, uint32_t);
  } operations[] = {
      {"add.u32", [](uint32_t a, uint32_t b) { return a + b; }},
      {"add.s32", [](uint32_t a, uint32_t b) { return a + b; }},
      {"min.u32", [](uint32_t a, uint32_t b) { return std::min(a, b); }},
      {"max.u32", [](uint32_t a, uint32_t b) { return std::max(a, b); }},
      {"min.s32",
       [](uint32_t a, uint32_t b) {
         return static_cast<uint32_t>(
             std::min(static_cast<int32_t>(a), static_cast<int32_t>(b)));
       }},
      {"max.s32",
       [](uint32_t a, uint32_t b) {
         return static_cast<uint32_t>(
             std::max(static_cast<int32_t>(a), static_cast<int32_t>(b)));
       }},
      {"and.b32", [](uint32_t a, uint32_t b) { return a & b; }},
      {"or.b32", [](uint32_t a, uint32_t b) { return a | b; }},
      {"xor.b32", [](uint32_t a, uint32_t b) { return a ^ b; }},
  };
  for (const auto &operation : operations)
    for (int round = 0; round < Rounds; ++round) {
      std::vector<Words> in = inMasks(100 + static_cast<uint64_t>(round));
      std::vector<Words> out =
          onThreads(std::string(Members) + "@%p0 redux.sync." + operation.name +
                        " %d0, %a0, %a3;",
                    in, "sm_80");
      eachWarp(in, [&](const Warp32 &warp) {
        uint32_t want = in[warp.first + warp.lanes[0]][0];
        for (size_t k = 1; k < warp.lanes.size(); ++k)
          want = operation.combine(want, in[warp.first + warp.lanes[k]][0]);
        for (uint32_t l : warp.lanes)
          EXPECT_EQ(out[warp.first + l][0], want) << operation.name;
      });
    }
}

TEST(SimWarp, Match) {
  for (int round = 0; round < Rounds; ++round) {
    std::vector<Words> in = inMasks(200 + static_cast<uint64_t>(round));
    // Now and then all are alike, or differ in the upper half only.
    if (round % 4 == 0)
      for (Words &words : in)
        words[2] = 3;
    std::vector<Words> out = onThreads(std::string(Members) + R"(
      mov.b64 %q0, {%a0, %a2};
      and.b64 %q1, %q0, 0xffffffff00000001;
      @%p0 match.any.sync.b32 %d0, %a2, %a3;
      @%p0 match.any.sync.b64 %d1, %q1, %a3;
      mov.pred %p1, 0;
      @%p0 match.all.sync.b32 %d2|%p1, %a2, %a3;
      selp.b32 %d3, 1, 0, %p1;
    )",
                                       in, "sm_80");
    eachWarp(in, [&](const Warp32 &warp) {
      auto value = [&](uint32_t l) { return in[warp.first + l][2]; };
      auto wide = [&](uint32_t l) {
        return value(l) * 2 + (in[warp.first + l][0] & 1);
      };
      bool all = true;
      for (uint32_t l : warp.lanes)
        all &= value(l) == value(warp.lanes[0]);
      for (uint32_t l : warp.lanes) {
        uint32_t same = 0, sameWide = 0;
        for (uint32_t k : warp.lanes) {
          same |= uint32_t{value(k) == value(l)} << k;
          sameWide |= uint32_t{wide(k) == wide(l)} << k;
        }
        const Words &got = out[warp.first + l];
        EXPECT_EQ(got[0], same);
        EXPECT_EQ(got[1], sameWide);
        EXPECT_EQ(got[2], all ? warp.mask : 0);
        EXPECT_EQ(got[3], uint32_t{all});
      }
    });
  }
}

TEST(SimWarp, ElectActivemaskAndVotes) {
  for (int round = 0; round < Rounds; ++round) {
    std::vector<Words> in = inMasks(300 + static_cast<uint64_t>(round));
    std::vector<Words> out = onThreads(std::string(Members) + R"(
      mov.pred %p1, 0;
      @%p0 elect.sync %d0|%p1, %a3;
      selp.b32 %d1, 1, 0, %p1;
      @%p0 activemask.b32 %d2;
      setp.lt.u32 %p2, %a2, 2;
      @%p0 vote.sync.ballot.b32 %d3, %p2, %a3;
      mov.pred %p3, 0;
      mov.pred %p4, 0;
      mov.pred %p5, 0;
      mov.pred %p6, 0;
      @%p0 vote.sync.all.pred %p3, %p2, %a3;
      @%p0 vote.sync.any.pred %p4, !%p2, %a3;
      @%p0 vote.sync.uni.pred %p5, %p2, %a3;
      selp.b32 %r0, 2, 0, %p3;
      selp.b32 %r1, 4, 0, %p4;
      selp.b32 %r2, 8, 0, %p5;
      or.b32 %d1, %d1, %r0;
      or.b32 %d1, %d1, %r1;
      or.b32 %d1, %d1, %r2;
    )",
                                       in);
    eachWarp(in, [&](const Warp32 &warp) {
      uint32_t ballot = 0, leaders = 0;
      for (uint32_t l : warp.lanes) {
        ballot |= uint32_t{in[warp.first + l][2] < 2} << l;
        leaders |= (out[warp.first + l][1] & 1) << l;
      }
      // Which lane is elected the ISA leaves open: one of the mask, of which
      // all of them know.
      ASSERT_EQ(std::popcount(leaders), 1);
      EXPECT_EQ(leaders & ~warp.mask, 0u);
      for (uint32_t l : warp.lanes) {
        const Words &got = out[warp.first + l];
        EXPECT_EQ(1u << got[0], leaders);
        EXPECT_EQ(got[2], warp.mask);
        EXPECT_EQ(got[3], ballot);
        EXPECT_EQ(got[1] >> 1 & 1, uint32_t{ballot == warp.mask});
        EXPECT_EQ(got[1] >> 2 & 1, uint32_t{ballot != warp.mask});
        EXPECT_EQ(got[1] >> 3 & 1,
                  uint32_t{ballot == warp.mask || ballot == 0});
      }
    });
  }
}

// The pseudo-code of shfl.sync.
TEST(SimWarp, Shuffles) {
  for (int round = 0; round < Rounds; ++round)
    for (std::string mode : {"up", "down", "bfly", "idx"}) {
      std::vector<Words> in =
          randomWords(32, 400 + static_cast<uint64_t>(round));
      static const uint32_t Segments[] = {0, 16, 24, 28, 30, 31};
      for (uint32_t l = 0; l < 32; ++l) {
        uint32_t segment = Segments[in[0][3] % 6];
        in[l][2] = segment << 8 | (mode == "up" ? 0 : 31);
        in[l][1] = (mode == "idx" ? in[l][1] : in[0][1]) % 32;
      }
      std::vector<Words> out =
          onThreads("shfl.sync." + mode +
                        ".b32 %d0|%p1, %a0, %a1, %a2, 0xffffffff;\n"
                        "selp.b32 %d1, 1, 0, %p1;",
                    in, "sm_80");
      for (int lane = 0; lane < 32; ++lane) {
        const Words &mine = in[static_cast<size_t>(lane)];
        int b = static_cast<int>(mine[1]), c = static_cast<int>(mine[2] & 31);
        int segment = static_cast<int>(mine[2] >> 8 & 31);
        int most = (lane & segment) | (c & ~segment), least = lane & segment;
        int j;
        bool inside;
        if (mode == "up") {
          j = lane - b;
          inside = j >= most;
        } else if (mode == "down") {
          j = lane + b;
          inside = j <= most;
        } else if (mode == "bfly") {
          j = lane ^ b;
          inside = j <= most;
        } else {
          j = least | (b & ~segment);
          inside = j <= most;
        }
        if (!inside)
          j = lane;
        const Words &got = out[static_cast<size_t>(lane)];
        EXPECT_EQ(got[0], in[static_cast<size_t>(j)][0]) << mode << lane;
        EXPECT_EQ(got[1], uint32_t{inside}) << mode << lane;
      }
    }
}

// Over all threads of the block, and over two warps of three.
TEST(SimWarp, BarrierReductions) {
  for (int round = 0; round < Rounds; ++round) {
    std::vector<Words> in = randomWords(96, 500 + static_cast<uint64_t>(round));
    for (Words &words : in)
      words[0] %= round % 3 == 0 ? 1 : round % 3 == 1 ? 2 : 40;
    std::vector<Words> out = onThreads(R"(
      setp.eq.u32 %p0, %a0, 0;
      bar.red.popc.u32 %d0, 0, %p0;
      bar.red.and.pred %p1, 0, %p0;
      barrier.cta.red.or.aligned.pred %p2, 1, !%p0;
      selp.b32 %d1, 1, 0, %p1;
      selp.b32 %r0, 2, 0, %p2;
      or.b32 %d1, %d1, %r0;
      setp.ge.u32 %p3, %t, 64;
      @%p3 bra $done;
      bar.red.popc.u32 %d2, 2, 64, %p0;
      bar.red.or.pred %p4, 3, 64, %p0;
      selp.b32 %d3, 1, 0, %p4;
    $done:
    )",
                                       in, "sm_80");
    uint32_t zeros = 0, early = 0;
    for (size_t t = 0; t < 96; ++t) {
      zeros += in[t][0] == 0;
      early += t < 64 && in[t][0] == 0;
    }
    for (size_t t = 0; t < 96; ++t) {
      EXPECT_EQ(out[t][0], zeros);
      EXPECT_EQ(out[t][1] & 1, uint32_t{zeros == 96});
      EXPECT_EQ(out[t][1] >> 1, uint32_t{zeros != 96});
      EXPECT_EQ(out[t][2], t < 64 ? early : 0);
      EXPECT_EQ(out[t][3], t < 64 ? uint32_t{early > 0} : 0);
    }
  }
}

} // namespace
} // namespace tessera::sim
