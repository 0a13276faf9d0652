// tests/unit/codegen/WrapTest.cpp - integers of 32 bits at their ends, on cpu.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/TextKernel.h"

#include <algorithm>
#include <array>
#include <sys/mman.h>

using namespace tessera;

namespace {

class CpuWrap : public testing::TestWithParam<int> {
protected:
  CpuTarget target() const { return testTargets()[GetParam()]; }
};

// 2^31 bytes before an address and 2^31 after it, of which only the pages at
// both ends are mapped.
class TwoEnds {
public:
  TwoEnds() {
    all = static_cast<uint8_t *>(
        ::mmap(nullptr, half * 2 + 2 * page, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (all == MAP_FAILED)
      throw std::runtime_error("no address space");
    for (size_t end : {size_t(0), 2 * half}) {
      ::mprotect(all + end, 2 * page, PROT_READ | PROT_WRITE);
      for (size_t i = 0; i < 2 * page; ++i)
        all[end + i] = uint8_t((end ? 3 : 7) * i % 251);
    }
  }
  ~TwoEnds() { ::munmap(all, half * 2 + 2 * page); }
  uint8_t *middle() { return all + half + page; }
  uint8_t &operator[](int64_t offset) { return middle()[offset]; }

private:
  static constexpr size_t half = size_t(1) << 31, page = 4096;
  uint8_t *all;
};

int32_t wrapped(int64_t value) { return int32_t(uint32_t(value)); }

// The lanes of one vector lie at both ends of 4 GiB.
TEST_P(CpuWrap, OffsetsInsideOfAVector) {
  const std::pair<const char *, int> forms[] = {{"X + (s + i)", 1},
                                                {"(X + (s + i)) + (i - i)", 1},
                                                {"X + (i + s).to(tl.int64)", 1},
                                                {"(X + i) + (s + i)", 2},
                                                {"X + (s + 3 * i)", 3},
                                                {"X + (s - i)", -1}};
  for (const auto &[form, kind] : forms) {
    TileKernel load = textKernel(
        std::string("@triton.jit\ndef k(X, O, s):\n    i = tl.arange(0, 64)\n"
                    "    tl.store(O + i, tl.load(") +
            form + "))\n",
        "k", "X=*i8 O=*i8 s=i32", target());
    TileKernel some = textKernel(std::string("@triton.jit\ndef k(X, O, s, n):\n"
                                             "    i = tl.arange(0, 64)\n"
                                             "    tl.store(O + i, tl.load(") +
                                     form + ", mask=i < n, other=5))\n",
                                 "k", "X=*i8 O=*i8 s=i32 n=i32", target());
    TileKernel store =
        textKernel(std::string("@triton.jit\ndef k(X, O, s, n):\n"
                               "    i = tl.arange(0, 64)\n    tl.store(") +
                       form + ", tl.load(O + i), mask=i < n)\n",
                   "k", "X=*i8 O=*i8 s=i32 n=i32", target());
    for (int back : {0, 1, 7, 8, 15, 31, 33, 63, 64, 100}) {
      const int32_t s = kind == -1 ? INT32_MIN + back : INT32_MAX - back;
      auto offset = [&](int i) -> int64_t {
        if (kind == 2)
          return i + int64_t(wrapped(int64_t(s) + i));
        return wrapped(int64_t(s) + kind * i);
      };
      TwoEnds x;
      std::vector<uint8_t> o(64), expected(64);
      for (int i = 0; i < 64; ++i)
        expected[i] = x[offset(i)];
      load.run({1}, x.middle(), o.data(), s);
      EXPECT_EQ(o, expected) << form << " " << back;
      const int n = 40;
      std::fill(expected.begin() + n, expected.end(), 5);
      some.run({1}, x.middle(), o.data(), s, n);
      EXPECT_EQ(o, expected) << form << " " << back;
      for (int i = 0; i < 64; ++i) {
        o[i] = uint8_t(100 + i);
        expected[i] = i < n ? o[i] : x[offset(i)];
      }
      store.run({1}, x.middle(), o.data(), s, n);
      for (int i = 0; i < 64; ++i)
        EXPECT_EQ(x[offset(i)], expected[i]) << form << " " << back << " " << i;
    }
  }
}

// A range ends although the next number would not fit.
TEST_P(CpuWrap, RangesThatEndNearTheLargestNumber) {
  TileKernel kernel =
      textKernel(R"(
@triton.jit
def k(O, low, n, step):
    count = 0
    for i in range(low, n, step):
        tl.store(O + tl.minimum(count, 7), i)
        count += 1
    tl.store(O + 8, count)
)",
                 "k", "O=*i32 low=i32 n=i32 step=i32", target());
  constexpr int32_t least = INT32_MIN, most = INT32_MAX;
  for (auto [low, n, step] : {std::array<int32_t, 3>{0, 10, 4},
                              {most - 10, most, 7},
                              {0, most, 1 << 30},
                              {-5, most, 1 << 30},
                              {most - 1, most, most},
                              {least, least + 3, most},
                              {least, most, most},
                              {5, 5, 1},
                              {7, 3, most},
                              {most, least, 1}}) {
    std::vector<int32_t> o(9, 99), expected(9, 99);
    int32_t count = 0;
    for (int64_t i = low; i < n; i += step)
      expected[count++] = int32_t(i);
    expected[8] = count;
    kernel.run({1}, o.data(), low, n, step);
    EXPECT_EQ(o, expected) << low << " " << n << " " << step;
  }
}

// -2^31 has no counterpart among numbers of 32 bits.
TEST_P(CpuWrap, TheLongestStepDown) {
  TileKernel kernel =
      textKernel(R"(
@triton.jit
def k(O, low, n, STEP: tl.constexpr):
    count = 0
    for i in range(low, n, STEP):
        tl.store(O + tl.minimum(count, 7), i)
        count += 1
    tl.store(O + 8, count)
)",
                 "k", "O=*i32 low=i32 n=i32 STEP:-2147483648", target());
  constexpr int32_t least = INT32_MIN, most = INT32_MAX;
  for (auto [low, n] : {std::array<int32_t, 2>{most, -most},
                        {most, least},
                        {5, least},
                        {-1, least},
                        {least, most}}) {
    std::vector<int32_t> o(9, 99), expected(9, 99);
    int32_t count = 0;
    for (int64_t i = low; i > n; i -= int64_t(1) << 31)
      expected[count++] = int32_t(i);
    expected[8] = count;
    kernel.run({1}, o.data(), low, n);
    EXPECT_EQ(o, expected) << low << " " << n;
  }
}

// The same with numbers of 64 bits, whose sums no wider type holds.
TEST_P(CpuWrap, RangesThatEndNearTheLargestNumberOf64Bits) {
  const char *const head =
      "@triton.jit\ndef k(O, low, n, step, T: tl.constexpr)"
      ":\n    count = 0\n    for i in range(low, n, ";
  const char *const body = "):\n"
                           "        tl.store(O + tl.minimum(count, 7), i)\n"
                           "        count += 1\n"
                           "    tl.store(O + 8, count)\n";
  TileKernel given = textKernel(std::string(head) + "step" + body, "k",
                                "O=*i64 low=i64 n=i64 step=i64 T:7", target());
  TileKernel seven = textKernel(std::string(head) + "T" + body, "k",
                                "O=*i64 low=i64 n=i64 step=i64 T:7", target());
  constexpr int64_t least = INT64_MIN, most = INT64_MAX;
  for (auto [low, n, step] : {std::array<int64_t, 3>{0, 10, 4},
                              {most - 10, most, 7},
                              {most - 14, most, 7},
                              {0, most, int64_t(1) << 62},
                              {-5, most, int64_t(1) << 62},
                              {least, least + 3, most},
                              {least, most, most},
                              {5, 5, 1},
                              {7, 3, most},
                              {most, least, 1}}) {
    std::vector<int64_t> expected(9, 99), o = expected;
    int64_t count = 0;
    for (__int128 i = low; i < n; i += step)
      expected[size_t(count++)] = int64_t(i);
    expected[8] = count;
    given.run({1}, o.data(), low, n, step);
    EXPECT_EQ(o, expected) << low << " " << n << " " << step;
    if (step != 7)
      continue;
    std::fill(o.begin(), o.end(), 99);
    seven.run({1}, o.data(), low, n, step);
    EXPECT_EQ(o, expected) << low << " " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CpuWrap,
                         testing::Range(0, int(testTargets().size())));

} // namespace
