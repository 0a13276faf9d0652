// tests/unit/simulator/arith/IntegerTest.cpp - integer instructions, bit by
// bit.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Integer.h"

#include "tests/unit/simulator/arith/Second.h"

#include <gtest/gtest.h>

using namespace tessera::sim;
using second::Bits;

namespace {

template <class U>
bool bit(U value, int i) {
  return (value >> i) & 1;
}

// Numbers of every length.
template <class T>
T any(Bits &bits) {
  uint64_t raw = bits.any() >> bits.below(64);
  return static_cast<T>(bits.below(2) ? ~raw : raw);
}

template <class T>
void checkProducts() {
  Bits bits(41);
  constexpr int Width = 8 * sizeof(T);
  for (int i = 0; i < 20000; ++i) {
    T a = any<T>(bits), b = any<T>(bits);
    // Both halves from 16-bit digits, long hand, on magnitudes.
    bool negative = (a < 0) != (b < 0);
    auto size = [](T v) {
      return v < 0 ? -static_cast<__int128>(v) : static_cast<__int128>(v);
    };
    unsigned __int128 product = 0;
    for (int digit = 0; digit < Width; digit += 16)
      product += static_cast<unsigned __int128>(
                     (static_cast<uint64_t>(size(b)) >> digit) & 0xffff) *
                     static_cast<unsigned __int128>(size(a))
                 << digit;
    if (negative)
      product = -product;
    ASSERT_EQ(mulLo<T>(a, b), static_cast<T>(product));
    ASSERT_EQ(mulHi<T>(a, b), static_cast<T>(product >> Width));
    auto wide = mulWide<T>(a, b);
    ASSERT_TRUE(wide == static_cast<decltype(wide)>(product));
  }
}

TEST(SimInteger, Products) {
  checkProducts<int16_t>();
  checkProducts<uint16_t>();
  checkProducts<int32_t>();
  checkProducts<uint32_t>();
  checkProducts<int64_t>();
  checkProducts<uint64_t>();
}

TEST(SimInteger, Products24) {
  // (2^23 - 1)^2 and -1 * 1 in 24 bits.
  EXPECT_EQ((mul24<true, false>(0x007fffff, 0x007fffff)), 0xff000001u);
  EXPECT_EQ((mul24<true, true>(0x007fffff, 0x007fffff)), 0x3fffff00u);
  EXPECT_EQ((mul24<true, false>(0xaaffffff, 1)), 0xffffffffu);
  EXPECT_EQ((mul24<false, false>(0xaaffffff, 1)), 0x00ffffffu);
  EXPECT_EQ((mul24<false, true>(0x00ffffff, 0x00ffffff)), 0xfffffe00u);
}

TEST(SimInteger, SmallOnes) {
  EXPECT_EQ((sumAbsDifference<int32_t>(INT32_MIN, INT32_MAX, 1)), 0);
  EXPECT_EQ((sumAbsDifference<uint16_t>(3, 10, 5)), 12);
  EXPECT_EQ((divInt<int32_t>(-7, 2)), -3);
  EXPECT_EQ((remInt<int32_t>(-7, 2)), -1);
  EXPECT_EQ((divInt<int32_t>(INT32_MIN, -1)), INT32_MIN);
  EXPECT_EQ((remInt<int64_t>(INT64_MIN, -1)), 0);
  EXPECT_EQ((divInt<uint32_t>(7, 0)), ~0u);
  EXPECT_EQ((remInt<uint32_t>(7, 0)), 7u);
  EXPECT_EQ((absInt<int16_t>(INT16_MIN)), INT16_MIN);
  EXPECT_EQ((negInt<int64_t>(5)), -5);
  EXPECT_EQ((reluInt<int32_t>(-5)), 0);
  EXPECT_EQ(saturateS32(int64_t{1} << 40), INT32_MAX);
  EXPECT_EQ(saturateS32(-(int64_t{1} << 40)), INT32_MIN);
  EXPECT_EQ(cnot(0), 1u);
  EXPECT_EQ(cnot(9), 0u);
}

TEST(SimInteger, CountsAndReversal) {
  Bits bits(43);
  for (int i = 0; i < 5000; ++i) {
    auto a = any<uint64_t>(bits);
    auto low = static_cast<uint32_t>(a);
    uint32_t ones = 0, ones32 = 0;
    uint64_t reversed = 0;
    uint32_t reversed32 = 0;
    for (int b = 0; b < 64; ++b) {
      ones += bit(a, b);
      reversed |= uint64_t{bit(a, b)} << (63 - b);
      if (b < 32) {
        ones32 += bit(low, b);
        reversed32 |= uint32_t{bit(low, b)} << (31 - b);
      }
    }
    ASSERT_EQ(popc(a), ones);
    ASSERT_EQ(popc(low), ones32);
    ASSERT_EQ(brev(a), reversed);
    ASSERT_EQ(brev(low), reversed32);
    uint32_t zeros = 0;
    while (zeros < 32 && !bit(low, 31 - static_cast<int>(zeros)))
      ++zeros;
    ASSERT_EQ(clz(low), zeros);
    // bfind: the loop of the ISA.
    uint32_t found = ~0u;
    auto folded = static_cast<int32_t>(low) < 0 ? ~low : low;
    for (int b = 31; b >= 0 && found == ~0u; --b)
      if (bit(folded, b))
        found = static_cast<uint32_t>(b);
    ASSERT_EQ(bfind(static_cast<int32_t>(low), false), found);
    ASSERT_EQ(bfind(static_cast<int32_t>(low), true),
              found == ~0u ? ~0u : 31 - found);
    ASSERT_EQ(bfind(low, false), zeros == 32 ? ~0u : 31 - zeros);
  }
  EXPECT_EQ(clz(uint64_t{1}), 63u);
  EXPECT_EQ(bfind(int64_t{-1}, false), ~0u);
}

TEST(SimInteger, FindNthSet) {
  // Bits 1, 4, 7 of 0x92.
  EXPECT_EQ(findNthSet(0x92, 0, 1), 1u);
  EXPECT_EQ(findNthSet(0x92, 0, 3), 7u);
  EXPECT_EQ(findNthSet(0x92, 0, 4), ~0u);
  EXPECT_EQ(findNthSet(0x92, 4, 1), 4u);
  EXPECT_EQ(findNthSet(0x92, 4, 2), 7u);
  EXPECT_EQ(findNthSet(0x92, 7, -1), 7u);
  EXPECT_EQ(findNthSet(0x92, 6, -2), 1u);
  EXPECT_EQ(findNthSet(0x92, 6, 0), ~0u);
  EXPECT_EQ(findNthSet(0x92, 4, 0), 4u);
}

// bfe and bfi as the ISA writes them: one bit after the other.
template <class T>
void checkFields() {
  using U = std::make_unsigned_t<T>;
  constexpr int Width = 8 * sizeof(T), Top = Width - 1;
  Bits bits(47);
  for (int i = 0; i < 20000; ++i) {
    auto a = any<T>(bits);
    auto b = any<U>(bits);
    int pos = static_cast<int>(bits.below(Width + 10)),
        len = static_cast<int>(bits.below(Width + 10));
    bool fill = false;
    if (std::is_signed_v<T> && len > 0)
      fill = bit(a, std::min(pos + len - 1, Top));
    U field = 0, inserted = b;
    for (int k = 0; k <= Top; ++k) {
      bool set = k < len && pos + k <= Top ? bit(a, pos + k) : fill;
      field |= U{set} << k;
    }
    for (int k = 0; k < len && pos + k <= Top; ++k) {
      inserted &= ~(U{1} << (pos + k));
      inserted |= U{bit(a, k)} << (pos + k);
    }
    auto start = static_cast<uint32_t>(pos) | 0x500; // only 8 bits count
    ASSERT_EQ(static_cast<U>(
                  bitFieldExtract<T>(a, start, static_cast<uint32_t>(len))),
              field)
        << pos << " " << len;
    ASSERT_EQ(bitFieldInsert<U>(static_cast<U>(a), b, start,
                                static_cast<uint32_t>(len)),
              inserted);
  }
}

TEST(SimInteger, BitFields) {
  checkFields<int32_t>();
  checkFields<uint32_t>();
  checkFields<int64_t>();
  checkFields<uint64_t>();
}

TEST(SimInteger, ExtensionAndMasks) {
  EXPECT_EQ((szext<true, true>(0x80, 8)), 0xffffff80u);
  EXPECT_EQ((szext<false, true>(0xff80, 8)), 0x80u);
  EXPECT_EQ((szext<true, true>(0x1234, 40)), 0x1234u);
  EXPECT_EQ((szext<true, false>(0x3, 33)), 0xffffffffu);
  EXPECT_EQ((szext<true, false>(0x3, 32)), 0u);
  EXPECT_EQ(bitMask<true>(4, 3), 0x70u);
  EXPECT_EQ(bitMask<true>(30, 9), 0xc0000000u);
  EXPECT_EQ(bitMask<true>(32, 1), 0u);
  EXPECT_EQ(bitMask<true>(0, 99), ~0u);
  EXPECT_EQ(bitMask<false>(33, 33), 2u);
}

TEST(SimInteger, ByteDotProducts) {
  // (1, -2, 3, -4) . (5, 6, 7, 8) = 5 - 12 + 21 - 32 = -18
  uint32_t a = 0xfc03fe01, b = 0x08070605;
  EXPECT_EQ((dp4a<true, true>(a, b, 100)), 82u);
  // unsigned a: (1, 254, 3, 252)
  EXPECT_EQ((dp4a<false, true>(a, b, 0)), 5u + 1524 + 21 + 2016);
  // halves (-3, 1000) with bytes (5, 6) or (7, 8)
  uint32_t halves = 1000u << 16 | 0xfffd;
  EXPECT_EQ((dp2a<true, true, false>(halves, b, 1)), 6000u - 15 + 1);
  EXPECT_EQ((dp2a<true, false, true>(halves, b, 0)), 8000u - 21);
  EXPECT_EQ((dp2a<false, true, false>(halves, 0xff, 0)),
            static_cast<uint32_t>(-65533));
}

TEST(SimInteger, CarryChains) {
  Bits bits(53);
  for (int i = 0; i < 20000; ++i) {
    auto a = any<uint64_t>(bits), b = any<uint64_t>(bits);
    auto low = [](uint64_t v) { return static_cast<uint32_t>(v); };
    auto high = [](uint64_t v) { return static_cast<uint32_t>(v >> 32); };
    bool carry, end;
    uint64_t sum = addCarry(low(a), low(b), false, carry);
    sum |= uint64_t{addCarry(high(a), high(b), carry, end)} << 32;
    ASSERT_EQ(sum, a + b);
    ASSERT_EQ(end, (static_cast<unsigned __int128>(a) + b) >> 64 != 0);
    bool borrow;
    uint64_t difference = subBorrow(low(a), low(b), false, borrow);
    difference |= uint64_t{subBorrow(high(a), high(b), borrow, end)} << 32;
    ASSERT_EQ(difference, a - b);
    ASSERT_EQ(end, a < b);
  }
  bool out;
  EXPECT_EQ(addCarry(~0u, ~0u, true, out), ~0u);
  EXPECT_TRUE(out);
}

TEST(SimInteger, Lop3) {
  Bits bits(59);
  for (int table = 0; table < 256; ++table) {
    auto a = any<uint32_t>(bits), b = any<uint32_t>(bits),
         c = any<uint32_t>(bits);
    uint32_t expected = 0;
    for (int k = 0; k < 32; ++k) {
      int row = bit(a, k) * 4 + bit(b, k) * 2 + bit(c, k);
      expected |= static_cast<uint32_t>((table >> row) & 1) << k;
    }
    ASSERT_EQ(lop3(a, b, c, static_cast<uint8_t>(table)), expected);
  }
  // The ISA's way to make a table: the function applied to 0xf0, 0xcc, 0xaa.
  EXPECT_EQ(lop3(5, 3, 9, 0xf0 & 0xcc), 5u & 3u);
  EXPECT_EQ(lop3(5, 3, 9, (0xf0 | 0xcc) ^ 0xaa), (5u | 3u) ^ 9u);
}

TEST(SimInteger, Shifts) {
  for (uint32_t n = 0; n < 80; ++n) {
    uint32_t a = 0x9abcdef1;
    uint32_t left = n < 32 ? a << n : 0, right = n < 32 ? a >> n : 0;
    EXPECT_EQ(shiftLeft(a, n), left);
    EXPECT_EQ(shiftRight(a, n), right);
    EXPECT_EQ(shiftRight(static_cast<int32_t>(a), n),
              static_cast<int32_t>(a) / (int64_t{1} << std::min(n, 40u)) - 1 +
                  (n == 0));
    EXPECT_EQ(shiftLeft<uint64_t>(1, n), n < 64 ? uint64_t{1} << n : 0);
    EXPECT_EQ(shiftRight<uint16_t>(0x8001, n), n < 16 ? 0x8001 >> n : 0);
    EXPECT_EQ(shiftRight<int16_t>(INT16_MIN, n), n < 15 ? -(0x8000 >> n) : -1);
    // shf, one bit at a time.
    uint32_t b = 0x12345678;
    for (bool clamp : {false, true}) {
      uint32_t steps = clamp ? std::min(n, 32u) : n % 32;
      uint64_t up = uint64_t{b} << 32 | a, down = up;
      for (uint32_t s = 0; s < steps; ++s) {
        up *= 2;
        down /= 2;
      }
      uint32_t l = clamp ? funnelShift<true, true>(a, b, n)
                         : funnelShift<true, false>(a, b, n);
      uint32_t r = clamp ? funnelShift<false, true>(a, b, n)
                         : funnelShift<false, false>(a, b, n);
      EXPECT_EQ(l, static_cast<uint32_t>(up >> 32)) << n;
      EXPECT_EQ(r, static_cast<uint32_t>(down)) << n;
    }
  }
}

TEST(SimInteger, Permute) {
  Bits bits(61);
  for (int i = 0; i < 5000; ++i) {
    auto a = any<uint32_t>(bits), b = any<uint32_t>(bits),
         c = static_cast<uint32_t>(bits.any());
    uint8_t bytes[8];
    for (int k = 0; k < 4; ++k) {
      bytes[k] = static_cast<uint8_t>(a >> (8 * k));
      bytes[4 + k] = static_cast<uint8_t>(b >> (8 * k));
    }
    auto take = [&](int sel) -> uint32_t {
      uint8_t byte = bytes[sel & 7];
      return sel & 8 ? (byte >= 128 ? 0xff : 0) : byte;
    };
    uint32_t expected = 0;
    for (int k = 0; k < 4; ++k)
      expected |= take((c >> (4 * k)) & 15) << (8 * k);
    ASSERT_EQ(permute(a, b, permuteSelector(Permute::Default, c)), expected);
    // f4e: four bytes from c upwards; b4e: from c downwards (modulo 8); rc8:
    // one byte; ecl, ecr: clamped to c from below, from above; rc16: one half.
    int base = static_cast<int>(c & 3);
    uint32_t modes[7] = {};
    for (int k = 0; k < 4; ++k) {
      modes[1] |= take(base + k) << (8 * k);
      modes[2] |= take((base - k + 8) & 7) << (8 * k);
      modes[3] |= take(base) << (8 * k);
      modes[4] |= take(std::max(base, k)) << (8 * k);
      modes[5] |= take(std::min(base, k)) << (8 * k);
      modes[6] |= take(2 * (base & 1) + (k & 1)) << (8 * k);
    }
    for (int m = 1; m < 7; ++m)
      ASSERT_EQ(permute(a, b, permuteSelector(static_cast<Permute>(m), c)),
                modes[m])
          << m << " " << base;
  }
}

} // namespace
