// tests/unit/simulator/machine/OperationsTest.cpp - decoded instructions
// against formulas: byte permutation, fp8, matrices in shared memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/simulator/machine/Threads.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace tessera::sim {
namespace {

TEST(SimOperations, BytePermutation) {
  std::vector<Words> in = randomWords(1024, 1);
  auto byte = [](const Words &w, uint32_t k) {
    uint64_t both = uint64_t{w[1]} << 32 | w[0];
    return static_cast<uint32_t>(both >> (8 * (k & 7)) & 0xff);
  };
  struct {
    const char *mode;
    uint32_t (*from)(uint32_t selector, uint32_t position);
  } modes[] = {
      {".f4e", [](uint32_t s, uint32_t i) { return s + i; }},
      {".b4e", [](uint32_t s, uint32_t i) { return s - i; }},
      {".rc8", [](uint32_t s, uint32_t) { return s; }},
      {".ecl", [](uint32_t s, uint32_t i) { return std::max(s, i); }},
      {".ecr", [](uint32_t s, uint32_t i) { return std::min(s, i); }},
      {".rc16", [](uint32_t s, uint32_t i) { return 2 * (s & 1) + (i & 1); }},
  };
  for (const auto &mode : modes) {
    std::vector<Words> out =
        onThreads(std::string("prmt.b32") + mode.mode + " %d0, %a0, %a1, %a2;",
                  in, "sm_80");
    for (size_t t = 0; t < in.size(); ++t) {
      uint32_t want = 0;
      for (uint32_t i = 0; i < 4; ++i)
        want |= byte(in[t], mode.from(in[t][2] & 3, i)) << (8 * i);
      ASSERT_EQ(out[t][0], want) << mode.mode;
    }
  }
  std::vector<Words> out =
      onThreads("prmt.b32 %d0, %a0, %a1, %a2;", in, "sm_80");
  for (size_t t = 0; t < in.size(); ++t) {
    uint32_t want = 0;
    for (uint32_t i = 0; i < 4; ++i) {
      uint32_t nibble = in[t][2] >> (4 * i) & 15;
      uint32_t b = byte(in[t], nibble & 7);
      if (nibble & 8)
        b = b & 0x80 ? 0xff : 0;
      want |= b << (8 * i);
    }
    ASSERT_EQ(out[t][0], want);
  }
}

// A generic address is in exactly one window; cvta converts in both directions.
TEST(SimOperations, WindowsOfAddresses) {
  std::vector<Words> in = randomWords(64, 3);
  std::vector<Words> out = onThreads(R"(
  cvt.u64.u32 %q0, %s;
  cvta.shared.u64 %q1, %q0;
  cvta.to.shared.u64 %q2, %q1;
  setp.eq.u64 %p0, %q2, %q0;
  selp.b32 %d0, 1, 0, %p0;
  isspacep.shared %p1, %q1;
  isspacep.global %p2, %q1;
  isspacep.local %p3, %q1;
  selp.b32 %r0, 1, 0, %p1;
  selp.b32 %r1, 2, 0, %p2;
  selp.b32 %r2, 4, 0, %p3;
  or.b32 %d1, %r0, %r1;
  or.b32 %d1, %d1, %r2;
  isspacep.shared %p1, %x;
  isspacep.global %p2, %x;
  isspacep.const %p3, %x;
  selp.b32 %r0, 1, 0, %p1;
  selp.b32 %r1, 2, 0, %p2;
  selp.b32 %r2, 4, 0, %p3;
  or.b32 %d2, %r0, %r1;
  or.b32 %d2, %d2, %r2;)",
                                     in);
  for (const Words &thread : out) {
    EXPECT_EQ(thread[0], 1u);
    EXPECT_EQ(thread[1], 1u); // shared alone
    EXPECT_EQ(thread[2], 2u); // global alone
  }
}

// Two destinations: a comparison and its negation; of packed halves that of
// the lower and that of the upper.
TEST(SimOperations, ComparisonsWithTwoDestinations) {
  std::vector<Words> in = randomWords(256, 5);
  for (size_t t = 0; t < in.size(); ++t) {
    in[t][0] = uint32_t(t % 4) << 14 | uint32_t(t / 4 % 4) << 30;
    in[t][1] = uint32_t(t / 16 % 4) << 14 | uint32_t(t / 64 % 4) << 30;
  }
  const std::string bits = "selp.b32 %r0, 1, 0, %p0; selp.b32 %r1, 2, 0, %p1; "
                           "or.b32 %d0, %r0, %r1;";
  std::vector<Words> whole =
      onThreads("setp.lt.u32 %p0|%p1, %a0, %a1;" + bits, in);
  std::vector<Words> joined = onThreads(
      "setp.eq.u32 %p2, %a0, %a0; setp.lt.and.u32 %p0|%p1, %a0, %a1, !%p2;" +
          bits,
      in);
  std::vector<Words> halves =
      onThreads("setp.lt.f16x2 %p0|%p1, %a0, %a1;" + bits, in);
  auto half = [](uint32_t word) { // 0, 2, -0, -2
    return (word & 0x8000 ? -1 : 1) * (word & 0x4000 ? 2.0 : 0.0);
  };
  for (size_t t = 0; t < in.size(); ++t) {
    const uint32_t a = in[t][0], b = in[t][1];
    EXPECT_EQ(whole[t][0], a < b ? 1u : 2u);
    EXPECT_EQ(joined[t][0], 0u);
    EXPECT_EQ(halves[t][0], (half(a) < half(b) ? 1u : 0u) |
                                (half(a >> 16) < half(b >> 16) ? 2u : 0u))
        << t;
  }
}

// --- fp8: all values of a format are listed, the nearest is searched ---------

struct Format8 {
  const char *name;
  int fraction, bias;
  uint32_t largest; // finite
};
constexpr Format8 E4m3{"e4m3x2", 3, 7, 0x7e}, E5m2{"e5m2x2", 2, 15, 0x7b};

double valueOf(const Format8 &f, uint32_t bits) {
  auto field = static_cast<int>((bits & 0x7f) >> f.fraction);
  auto part = static_cast<double>(bits & ((1u << f.fraction) - 1));
  double scaled = part / (1 << f.fraction);
  double size = field ? std::ldexp(1 + scaled, field - f.bias)
                      : std::ldexp(scaled, 1 - f.bias);
  return bits & 0x80 ? -size : size;
}

uint32_t nearest(const Format8 &f, double value, bool relu) {
  if (std::isnan(value))
    return 0x7f;
  if (relu && value < 0)
    return 0;
  uint32_t sign = std::signbit(value) && !relu ? 0x80 : 0;
  double size = std::fabs(value);
  if (std::isinf(size)) // saturates, as everything beyond the largest does
    return sign | f.largest;
  uint32_t best = 0;
  for (uint32_t bits = 1; bits <= f.largest; ++bits) {
    double there = std::fabs(valueOf(f, bits) - size);
    double here = std::fabs(valueOf(f, best) - size);
    if (there < here || (there == here && !(bits & 1)))
      best = bits;
  }
  return sign | best;
}

std::vector<Words> smallFloats(uint64_t seed) {
  std::vector<Words> in = randomWords(512, seed);
  static const uint32_t Specials[] = {
      0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x43e00000,
      0x43e80000, 0x47600000, 0x47700000, 0x00000001, 0x3b000000, 0x3a800000};
  for (size_t t = 0; t < in.size(); ++t)
    for (size_t k = 0; k < 2; ++k) {
      // Exponents -20 to 18; every other one a tie or an exact number.
      uint32_t &w = in[t][k];
      uint32_t exponent = 107 + w % 39;
      uint32_t bits = (w & 0x807fffff) | exponent << 23;
      if (w & 0x100)
        bits &= 0xfff80000;
      w = t < std::size(Specials) ? Specials[(t + 5 * k) % std::size(Specials)]
                                  : bits;
    }
  return in;
}

TEST(SimOperations, Float8) {
  std::vector<Words> in = smallFloats(2);
  for (const Format8 &f : {E4m3, E5m2})
    for (bool relu : {false, true}) {
      std::string suffix = relu ? ".relu." : ".";
      std::vector<Words> out = onThreads(
          "cvt.rn.satfinite" + suffix + f.name + ".f32 %h0, %a0, %a1;\n" +
              "cvt.rn.f16x2" + std::string(".") + f.name + " %d1, %h0;\n" +
              "mov.b32 %r0, {%h0, %h0};\n" + "and.b32 %d0, %r0, 0xffff;\n" +
              "cvt.rn.satfinite" + suffix + f.name + ".f16x2 %h1, %d1;\n" +
              "mov.b32 %r1, {%h1, %h1};\n" + "and.b32 %d2, %r1, 0xffff;\n",
          in);
      for (size_t t = 0; t < in.size(); ++t) {
        uint32_t want = 0;
        for (size_t k = 0; k < 2; ++k) {
          float value = std::bit_cast<float>(in[t][k]);
          // %a0 goes to the upper half.
          want |= nearest(f, value, relu) << (k == 0 ? 8 : 0);
        }
        EXPECT_EQ(out[t][0], want) << f.name << std::bit_cast<float>(in[t][0])
                                   << " " << std::bit_cast<float>(in[t][1]);
        // Back to fp16, which holds all of them: nothing changes.
        EXPECT_EQ(out[t][2], want) << f.name;
        for (uint32_t k = 0; k < 2; ++k) {
          uint32_t eight = want >> (8 * k) & 0xff;
          uint32_t half = out[t][1] >> (16 * k) & 0xffff;
          if ((eight & 0x7f) == 0x7f) {
            EXPECT_GT(half & 0x7fff, 0x7c00u);
            continue;
          }
          double got = 0;
          int field = static_cast<int>(half >> 10 & 31);
          double part = (half & 1023) / 1024.0;
          got =
              field ? std::ldexp(1 + part, field - 15) : std::ldexp(part, -14);
          EXPECT_EQ(half & 0x8000 ? -got : got, valueOf(f, eight));
        }
      }
    }
}

// --- Matrices of 8 x 8 halves ------------------------------------------------

// Lane l holds columns 2 (l % 4) and the next of row l / 4, the first in its
// low half.
struct Matrix {
  uint16_t at[8][8];
};
std::array<Matrix, 4> fragments(const std::vector<Words> &in) {
  std::array<Matrix, 4> m;
  for (size_t k = 0; k < 4; ++k)
    for (size_t l = 0; l < 32; ++l)
      for (size_t half = 0; half < 2; ++half)
        m[k].at[l / 4][2 * (l % 4) + half] =
            static_cast<uint16_t>(in[l][k] >> (16 * half));
  return m;
}

// Row r of matrix k is stored at 16 (8 k + r), with rows shuffled by an odd
// factor.
constexpr const char *RowAddress = R"(
  mul.lo.u32 %r0, %l, 5;
  and.b32 %r0, %r0, 31;
  shl.b32 %r0, %r0, 4;
  add.u32 %r0, %s, %r0;
)";
size_t placeOf(size_t lane) { return lane * 5 % 32; }

TEST(SimOperations, StoreAndLoadMatrices) {
  for (int count : {1, 2, 4})
    for (bool trans : {false, true}) {
      std::vector<Words> in =
          randomWords(32, 10 + static_cast<uint64_t>(count) + trans);
      std::string registers, form = ".sync.aligned.m8n8.x" +
                                    std::to_string(count) +
                                    (trans ? ".trans" : "") + ".shared.b16 ";
      for (int k = 0; k < count; ++k)
        registers += (k ? ", %R" : "%R") + std::to_string(k);
      auto named = [&](char letter) {
        std::string text = registers;
        std::replace(text.begin(), text.end(), 'R', letter);
        return "{" + text + "}";
      };
      // Each lane then reads the 16 bytes at 16 l, as far as there are some.
      std::vector<Words> out =
          onThreads(std::string(RowAddress) + "stmatrix" + form + "[%r0], " +
                        named('a') + ";\nbar.warp.sync 0xffffffff;\n" +
                        "mad.lo.u32 %r1, %l, 16, %s;\n" +
                        "mul.lo.u32 %r2, %l, 13;\nand.b32 %r2, %r2, 31;\n" +
                        "setp.lt.u32 %p0, %r2, " + std::to_string(8 * count) +
                        ";\n@%p0 ld.shared.v4.b32 {%d0, %d1, %d2, %d3}, [%r1];",
                    in);
      std::array<Matrix, 4> m = fragments(in);
      for (size_t lane = 0; lane < 8 * static_cast<size_t>(count); ++lane) {
        uint16_t got[8];
        std::memcpy(got, out[placeOf(lane)].data(), 16);
        for (size_t c = 0; c < 8; ++c)
          EXPECT_EQ(got[c], trans ? m[lane / 8].at[c][lane % 8]
                                  : m[lane / 8].at[lane % 8][c]);
      }
      // And ldmatrix brings the same fragments back.
      out = onThreads(std::string(RowAddress) + "stmatrix" + form + "[%r0], " +
                          named('a') + ";\nbar.warp.sync 0xffffffff;\n" +
                          "ldmatrix" + form + named('d') + ", [%r0];",
                      in);
      for (size_t l = 0; l < 32; ++l)
        for (size_t k = 0; k < static_cast<size_t>(count); ++k)
          EXPECT_EQ(out[l][k], in[l][k]);
    }
}

TEST(SimOperations, LoadTransposedAndMove) {
  std::vector<Words> in = randomWords(32, 20);
  std::vector<Words> out = onThreads(std::string(RowAddress) + R"(
    st.shared.v4.b32 [%r0], {%a0, %a1, %a2, %a3};
    bar.warp.sync 0xffffffff;
    ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%d0}, [%r0];
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d1}, [%r0];
    movmatrix.sync.aligned.m8n8.trans.b16 %d2, %d1;
  )",
                                     in, "sm_80");
  uint16_t row[8][8]; // lane r wrote row r
  for (size_t r = 0; r < 8; ++r)
    std::memcpy(row[r], in[r].data(), 16);
  for (size_t l = 0; l < 32; ++l) {
    size_t a = l / 4, b = 2 * (l % 4);
    EXPECT_EQ(out[l][0], row[b][a] | uint32_t{row[b + 1][a]} << 16);
    EXPECT_EQ(out[l][1], row[a][b] | uint32_t{row[a][b + 1]} << 16);
    EXPECT_EQ(out[l][2], out[l][0]);
  }
}

// --- Integers that the tables of the arithmetic do not reach -----------------

TEST(SimOperations, PackedIntegers) {
  std::vector<Words> in = randomWords(512, 30);
  for (size_t t = 0; t < in.size(); t += 2)
    for (uint32_t &w : in[t])
      w = static_cast<uint32_t>(static_cast<int32_t>(w) >> 22);
  std::vector<Words> out = onThreads(R"(
    cvt.pack.sat.s16.s32 %d0, %a0, %a1;
    cvt.pack.sat.u8.s32.b32 %d1, %a0, %a1, %a2;
    bfind.shiftamt.u32 %d2, %a0;
    dp4a.s32.u32 %d3, %a0, %a1, %a2;
  )",
                                     in, "sm_80");
  for (size_t t = 0; t < in.size(); ++t) {
    const Words &w = in[t];
    auto clamp = [&](uint32_t v, int32_t least, int32_t most) {
      return static_cast<uint32_t>(
          std::clamp(static_cast<int32_t>(v), least, most));
    };
    EXPECT_EQ(out[t][0], clamp(w[0], -32768, 32767) << 16 |
                             (clamp(w[1], -32768, 32767) & 0xffff));
    EXPECT_EQ(out[t][1],
              w[2] << 16 | clamp(w[0], 0, 255) << 8 | clamp(w[1], 0, 255));
    uint32_t zeros = 0;
    while (zeros < 32 && !(w[0] >> (31 - zeros) & 1))
      ++zeros;
    EXPECT_EQ(out[t][2], zeros == 32 ? ~0u : zeros);
    int64_t sum = static_cast<int32_t>(w[2]);
    for (int k = 0; k < 4; ++k)
      sum += static_cast<int8_t>(w[0] >> (8 * k)) *
             static_cast<int64_t>(static_cast<uint8_t>(w[1] >> (8 * k)));
    EXPECT_EQ(out[t][3], static_cast<uint32_t>(sum));
  }
}

} // namespace
} // namespace tessera::sim
