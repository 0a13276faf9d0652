// tests/unit/codegen/DivisionTest.cpp - quotients that do not exist, indices
// outside of a tile: nothing stops the processor.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codegen/TextKernel.h"

#include <limits>

using namespace tessera;

namespace {

class CpuDivision : public testing::TestWithParam<int> {
protected:
  CpuTarget target() const { return testTargets()[GetParam()]; }
};

// Every pair of: the ends of the range, what is next to them, small numbers.
template <typename T>
std::vector<T> interesting() {
  const T low = std::numeric_limits<T>::min(),
          high = std::numeric_limits<T>::max();
  return {low, T(low + 1), T(low / 2), T(-7),       T(-2),       T(-1), 0,
          1,   2,          3,          T(high / 3), T(high - 1), high};
}

template <typename T>
bool exists(T x, T y) {
  return y != 0 && !(std::is_signed_v<T> && y == T(-1) &&
                     x == std::numeric_limits<T>::min());
}

// Q = X // Y, R = X % Y, S chosen by the divisor, U by a scalar divisor.
template <typename T>
void checkType(const CpuTarget &target, const std::string &type) {
  TileKernel kernel =
      textKernel(R"(
@triton.jit
def k(X, Y, Q, R, S, U, n):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    x = tl.load(X + i, mask=i < n, other=5)
    y = tl.load(Y + i, mask=i < n, other=0)
    tl.store(Q + i, x // y, mask=i < n)
    tl.store(R + i, x % y, mask=i < n)
    tl.store(S + i, tl.where(y == 0, 77, x // y), mask=i < n)
    p = tl.program_id(0) * 64
    a = tl.load(X + p)
    b = tl.load(Y + p)
    tl.store(U + p, a // b)
    tl.store(U + p + 1, a % b)
)",
                 "k",
                 "X=*" + type + " Y=*" + type + " Q=*" + type + " R=*" + type +
                     " S=*" + type + " U=*" + type + " n=i32",
                 target);
  std::vector<T> x, y;
  for (T a : interesting<T>())
    for (T b : interesting<T>()) {
      x.push_back(a);
      y.push_back(b);
    }
  const size_t count = x.size(), padded = (count + 63) / 64 * 64;
  std::vector<T> q(count), r(count), s(count), u(padded + 2);
  kernel.run({uint32_t(padded / 64)}, x.data(), y.data(), q.data(), r.data(),
             s.data(), u.data(), int(count));
  for (size_t i = 0; i < count; ++i) {
    SCOPED_TRACE(type + ": " + std::to_string(x[i]) + ", " +
                 std::to_string(y[i]));
    if (y[i] == 0) {
      EXPECT_EQ(s[i], T(77));
    }
    if (!exists(x[i], y[i]))
      continue;
    EXPECT_EQ(q[i], T(x[i] / y[i]));
    EXPECT_EQ(r[i], T(x[i] % y[i]));
    if (y[i] != 0) {
      EXPECT_EQ(s[i], T(x[i] / y[i]));
    }
    if (i % 64 == 0) {
      EXPECT_EQ(u[i], T(x[i] / y[i]));
      EXPECT_EQ(u[i + 1], T(x[i] % y[i]));
    }
  }
}

TEST_P(CpuDivision, NoQuotientTraps) {
  checkType<int8_t>(target(), "i8");
  checkType<int16_t>(target(), "i16");
  checkType<int32_t>(target(), "i32");
  checkType<int64_t>(target(), "i64");
  checkType<uint8_t>(target(), "u8");
  checkType<uint16_t>(target(), "u16");
  checkType<uint32_t>(target(), "u32");
  checkType<uint64_t>(target(), "u64");
}

// Arguments and constants: the divisor of all lanes is zero, or -1. What comes
// after the division is not affected, nor are decisions about the divisor.
TEST_P(CpuDivision, ScalarsAndConstants) {
  TileKernel kernel =
      textKernel(R"(
@triton.jit
def k(O, n, m, z, ZERO: tl.constexpr, MINUS: tl.constexpr):
    i = tl.arange(0, 16)
    tl.store(O + 64 + i, (i + n) // z)
    tl.store(O + 80 + i, n % z)
    tl.store(O + 96 + i, (i + n) // ZERO)
    tl.store(O + 112 + i, (i + n) % ZERO)
    low = i - 8 + (n - n // 1) + m
    tl.store(O + 16 + i, low // MINUS)
    tl.store(O + 32 + i, low % MINUS)
    q = n // z
    if z == 0:
        tl.store(O + 48, 5)
    else:
        tl.store(O + 48, q)
)",
                 "k", "O=*i32 n=i32 m=i32 z=i32 ZERO:0 MINUS:-1", target());
  std::vector<int32_t> o(128);
  kernel.run({1}, o.data(), 100, INT32_MIN + 8, 0);
  EXPECT_EQ(o[48], 5);
  for (int i = 1; i < 16; ++i) {
    EXPECT_EQ(o[16 + i], INT32_MAX - i + 1);
    EXPECT_EQ(o[32 + i], 0);
  }
  kernel.run({1}, o.data(), 100, 3, 7);
  EXPECT_EQ(o[48], 14);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(o[16 + i], 5 - i);
}

// In a reduction by a helper, and in a scan over rows.
TEST_P(CpuDivision, InsideOfAReduction) {
  TileKernel kernel = textKernel(R"(
@triton.jit
def step(a, b):
    return a // b + b

@triton.jit
def k(X, O):
    i = tl.arange(0, 4)
    j = tl.arange(0, 16)
    x = tl.load(X + i[:, None] * 16 + j[None, :])
    tl.store(O + j, tl.reduce(x, 0, step))
)",
                                 "k", "X=*i32 O=*i32", target());
  std::vector<int32_t> x(64), o(16);
  for (int i = 0; i < 64; ++i)
    x[i] = i % 16 == 3 ? 0 : 1 + i * 7 % 11;
  kernel.run({1}, x.data(), o.data());
  for (int j = 0; j < 16; ++j) {
    int32_t a = x[j];
    for (int i = 1; i < 4 && j != 3; ++i)
      a = a / x[16 * i + j] + x[16 * i + j];
    if (j != 3) {
      EXPECT_EQ(o[j], a);
    }
  }
}

// An index outside of the tile is taken modulo its size.
template <typename T>
void checkGather(const CpuTarget &target, const std::string &type) {
  TileKernel kernel =
      textKernel(R"(
@triton.jit
def k(X, I, O, P):
    i = tl.arange(0, 32)
    x = tl.load(X + i)
    at = tl.load(I + i)
    tl.store(O + i, tl.gather(x, at, 0))
    j = tl.arange(0, 4)
    y = tl.load(X + j[:, None] * 8 + tl.arange(0, 8)[None, :])
    rows = tl.load(I + tl.arange(0, 2)[:, None] * 8 + tl.arange(0, 8)[None, :])
    out = P + tl.arange(0, 2)[:, None] * 8 + tl.arange(0, 8)[None, :]
    tl.store(out, tl.gather(y, rows, 0))
)",
                 "k", "X=*i32 I=*" + type + " O=*i32 P=*i32", target);
  std::vector<int32_t> x(32), o(32), p(16);
  std::vector<T> index(32);
  const T low = std::numeric_limits<T>::min(),
          high = std::numeric_limits<T>::max();
  const T special[] = {low, high, T(-1), T(high / 2), T(low / 2 + 3), 32, 31};
  for (int i = 0; i < 32; ++i) {
    x[i] = 1000 + i;
    index[i] = i % 4 == 0 ? T(i) : special[i % 7];
  }
  kernel.run({1}, x.data(), index.data(), o.data(), p.data());
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(o[i], 1000 + int(index[i] & 31)) << type << " " << i;
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(p[i], 1000 + int(index[i] & 3) * 8 + i % 8) << type << " " << i;
}

TEST_P(CpuDivision, AGatherStaysInItsTile) {
  checkGather<int32_t>(target(), "i32");
  checkGather<int64_t>(target(), "i64");
  checkGather<int16_t>(target(), "i16");
  checkGather<int8_t>(target(), "i8");
  checkGather<uint8_t>(target(), "u8");
  checkGather<uint32_t>(target(), "u32");
}

INSTANTIATE_TEST_SUITE_P(Targets, CpuDivision,
                         testing::Range(0, int(testTargets().size())));

} // namespace
