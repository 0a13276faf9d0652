// simulator/arith/Mma.cpp - tensor-core products and matrix moves of one warp.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/arith/Mma.h"

#include "simulator/arith/Convert.h"

#include <algorithm>
#include <immintrin.h>

namespace tessera::sim {

constexpr int partsOf(MmaType type) { return std::max(1, 32 / bitWidth(type)); }

int mmaElementsPerRegister(MmaType type) { return partsOf(type); }
int mmaRegistersA(const MmaShape &s) {
  return s.m * s.k / (32 * mmaElementsPerRegister(s.a));
}
int mmaRegistersB(const MmaShape &s) {
  return s.k * s.n / (32 * mmaElementsPerRegister(s.b));
}
int mmaRegistersC(const MmaShape &s) {
  return s.m * s.n / (32 * mmaElementsPerRegister(s.c));
}

MmaIndex mmaIndexA(const MmaShape &s, MmaPlace p) {
  int group = p.lane >> 2, thread = p.lane & 3;
  int elements = mmaElementsPerRegister(s.a);
  int down = s.m == 16 ? p.reg & 1 : 0;
  int right = s.m == 16 ? p.reg >> 1 : p.reg;
  return {group + 8 * down, elements * thread + p.part + 4 * elements * right};
}
MmaIndex mmaIndexB(const MmaShape &s, MmaPlace p) {
  int group = p.lane >> 2, thread = p.lane & 3;
  int elements = mmaElementsPerRegister(s.b);
  return {elements * thread + p.part + 4 * elements * p.reg, group};
}
MmaIndex mmaIndexC(MmaType type, MmaPlace p) {
  int group = p.lane >> 2, thread = p.lane & 3;
  if (type == MmaType::F16)
    return {group + 8 * p.reg, 2 * thread + p.part};
  return {group + 8 * (p.reg >> 1), 2 * thread + (p.reg & 1)};
}

std::string mmaProblem(const MmaShape &s) {
  auto is = [&](int m, int k) { return s.m == m && s.n == 8 && s.k == k; };
  bool same = s.a == s.b && s.c == s.d;
  bool shape = false;
  switch (s.a) {
  case MmaType::F16:
    shape = (is(16, 8) || is(16, 16)) && s.a == s.b &&
            (s.c == MmaType::F16 || s.c == MmaType::F32) &&
            (s.d == MmaType::F16 || s.d == MmaType::F32);
    break;
  case MmaType::Bf16:
    shape = (is(16, 8) || is(16, 16)) && same && s.c == MmaType::F32;
    break;
  case MmaType::Tf32:
    shape = (is(16, 4) || is(16, 8)) && same && s.c == MmaType::F32;
    break;
  case MmaType::F64:
    shape = is(8, 4) && same && s.c == MmaType::F64;
    break;
  case MmaType::S8:
  case MmaType::U8:
    shape = (is(8, 16) || is(16, 16) || is(16, 32)) &&
            (s.b == MmaType::S8 || s.b == MmaType::U8) && s.c == s.d &&
            s.c == MmaType::S32;
    break;
  case MmaType::E4m3:
  case MmaType::E5m2:
    shape = is(16, 32) && (s.b == MmaType::E4m3 || s.b == MmaType::E5m2) &&
            s.c == s.d && (s.c == MmaType::F32 || s.c == MmaType::F16);
    break;
  default:
    break;
  }
  return shape
             ? std::string()
             : "no mma of m" + std::to_string(s.m) + "n" + std::to_string(s.n) +
                   "k" + std::to_string(s.k) + " with these types";
}

// Returns element `part` of a register: float for floating-point types, int32_t
// for the others.
template <MmaType T>
static auto elementOf(uint32_t reg, int part) {
  if constexpr (T == MmaType::F16)
    return f16ToFloat(static_cast<uint16_t>(reg >> 16 * part));
  else if constexpr (T == MmaType::Bf16)
    return bf16ToFloat(static_cast<uint16_t>(reg >> 16 * part));
  else if constexpr (T == MmaType::Tf32)
    return asFloat(truncateTf32(reg));
  else if constexpr (T == MmaType::E4m3)
    return float8ToFloat(Float8::E4m3, static_cast<uint8_t>(reg >> 8 * part));
  else if constexpr (T == MmaType::E5m2)
    return float8ToFloat(Float8::E5m2, static_cast<uint8_t>(reg >> 8 * part));
  else if constexpr (T == MmaType::S8)
    return int32_t{static_cast<int8_t>(reg >> 8 * part)};
  else if constexpr (T == MmaType::U8)
    return int32_t{static_cast<uint8_t>(reg >> 8 * part)};
  else
    return asFloat(reg);
}

// Operands as dense matrices: a[m][k] and b[k][n], at most 16 x 32 and 32 x 8.
template <class T>
struct Operands {
  alignas(64) T a[16][32];
  alignas(64) T b[32][8];
};

// Implements mmaIndexA and mmaIndexB as plain loops, because they run for every
// product.
template <MmaType Type, class T>
static void gatherA(const MmaShape &s, const uint32_t *const *a,
                    Operands<T> &to) {
  constexpr int Parts = partsOf(Type);
  bool tall = s.m == 16;
  for (int reg = 0, count = mmaRegistersA(s); reg < count; ++reg)
    for (int lane = 0; lane < 32; ++lane) {
      T *first =
          &to.a[(lane >> 2) + (tall ? 8 * (reg & 1) : 0)]
               [Parts * (lane & 3) + 4 * Parts * (tall ? reg >> 1 : reg)];
      for (int part = 0; part < Parts; ++part)
        first[part] = elementOf<Type>(a[reg][lane], part);
    }
}
template <MmaType Type, class T>
static void gatherB(const MmaShape &s, const uint32_t *const *b,
                    Operands<T> &to) {
  constexpr int Parts = partsOf(Type);
  for (int reg = 0, count = mmaRegistersB(s); reg < count; ++reg)
    for (int lane = 0; lane < 32; ++lane)
      for (int part = 0; part < Parts; ++part)
        to.b[Parts * (lane & 3) + part + 4 * Parts * reg][lane >> 2] =
            elementOf<Type>(b[reg][lane], part);
}

static void gather(const MmaShape &s, const uint32_t *const *a,
                   const uint32_t *const *b, Operands<float> &to) {
  switch (s.a) {
  case MmaType::F16:
    gatherA<MmaType::F16>(s, a, to);
    return gatherB<MmaType::F16>(s, b, to);
  case MmaType::Bf16:
    gatherA<MmaType::Bf16>(s, a, to);
    return gatherB<MmaType::Bf16>(s, b, to);
  case MmaType::Tf32:
    gatherA<MmaType::Tf32>(s, a, to);
    return gatherB<MmaType::Tf32>(s, b, to);
  default:
    if (s.a == MmaType::E4m3)
      gatherA<MmaType::E4m3>(s, a, to);
    else
      gatherA<MmaType::E5m2>(s, a, to);
    if (s.b == MmaType::E4m3)
      gatherB<MmaType::E4m3>(s, b, to);
    else
      gatherB<MmaType::E5m2>(s, b, to);
  }
}
static void gather(const MmaShape &s, const uint32_t *const *a,
                   const uint32_t *const *b, Operands<int32_t> &to) {
  if (s.a == MmaType::S8)
    gatherA<MmaType::S8>(s, a, to);
  else
    gatherA<MmaType::U8>(s, a, to);
  if (s.b == MmaType::S8)
    gatherB<MmaType::S8>(s, b, to);
  else
    gatherB<MmaType::U8>(s, b, to);
}

static bool isMeasured(const MmaShape &s) {
  bool type =
      s.a == MmaType::F16 || s.a == MmaType::Bf16 || s.a == MmaType::Tf32;
  return type && s.c == MmaType::F32 && s.d == MmaType::F32;
}

static void addTruncated(TensorCores cores, const MmaShape &s,
                         const Operands<float> &operands, int row,
                         float sum[8]) {
  for (int col = 0; col < 8; ++col) {
    float b[32];
    for (int k = 0; k < s.k; ++k)
      b[k] = operands.b[k][col];
    sum[col] = truncatedSum(cores, s.a, operands.a[row], b, s.k, sum[col]);
  }
}

// Adds the products to 8 rows. Their sums do not depend on each other, so that
// the processor need not wait for one to be ready before it adds to the next.
static void addFused(const MmaShape &s, const Operands<float> &operands,
                     int first, float sum[16][8]) {
  __m256 lines[8];
  for (int row = 0; row < 8; ++row)
    lines[row] = _mm256_load_ps(sum[first + row]);
  for (int k = 0; k < s.k; ++k) {
    const __m256 b = _mm256_load_ps(operands.b[k]);
#pragma GCC unroll 8
    for (int row = 0; row < 8; ++row)
      lines[row] = _mm256_fmadd_ps(_mm256_set1_ps(operands.a[first + row][k]),
                                   b, lines[row]);
  }
  for (int row = 0; row < 8; ++row)
    _mm256_store_ps(sum[first + row], lines[row]);
}

// These implement mmaIndexC as plain loops, too. A register of 32-bit elements
// contains every other column of 8 rows.
static void loadF16(const uint32_t *const *c, float sum[16][8]) {
  for (int reg = 0; reg < 2; ++reg) {
    float *to = sum[8 * reg];
    for (int lane = 0; lane < 32; ++lane)
      for (int part = 0; part < 2; ++part)
        to[2 * lane + part] = elementOf<MmaType::F16>(c[reg][lane], part);
  }
}
static void loadF32(const uint32_t *const *c, float sum[16][8]) {
  for (int reg = 0; reg < 4; ++reg) {
    float *to = sum[8 * (reg >> 1)] + (reg & 1);
    for (int lane = 0; lane < 32; ++lane)
      to[2 * lane] = asFloat(c[reg][lane]);
  }
}
static void storeF16(const float sum[16][8], uint32_t *const *d) {
  for (int reg = 0; reg < 2; ++reg) {
    const float *from = sum[8 * reg];
    for (int lane = 0; lane < 32; ++lane)
      d[reg][lane] = floatToF16(from[2 * lane]) |
                     static_cast<uint32_t>(floatToF16(from[2 * lane + 1]))
                         << 16;
  }
}
static void storeF32(const float sum[16][8], uint32_t *const *d) {
  for (int reg = 0; reg < 4; ++reg) {
    const float *from = sum[8 * (reg >> 1)] + (reg & 1);
    for (int lane = 0; lane < 32; ++lane)
      d[reg][lane] = canonicalF32(from[2 * lane]);
  }
}

static void mmaFloat(const MmaShape &s, const uint32_t *const *a,
                     const uint32_t *const *b, const uint32_t *const *c,
                     uint32_t *const *d, TensorCores cores) {
  Operands<float> operands;
  gather(s, a, b, operands);
  alignas(64) float sum[16][8];
  if (s.c == MmaType::F16)
    loadF16(c, sum);
  else
    loadF32(c, sum);
  if (cores == TensorCores::Fused) {
    addFused(s, operands, 0, sum);
    addFused(s, operands, 8, sum);
  } else {
    for (int row = 0; row < 16; ++row)
      addTruncated(cores, s, operands, row, sum[row]);
  }
  if (s.d == MmaType::F16)
    storeF16(sum, d);
  else
    storeF32(sum, d);
}

static void mmaInt(const MmaShape &s, const uint32_t *const *a,
                   const uint32_t *const *b, const uint32_t *const *c,
                   uint32_t *const *d) {
  Operands<int32_t> operands;
  gather(s, a, b, operands);
  for (int reg = 0, count = mmaRegistersC(s); reg < count; ++reg)
    for (int lane = 0; lane < 32; ++lane) {
      MmaIndex at = mmaIndexC(s.c, {reg, lane, 0});
      int64_t sum = static_cast<int32_t>(c[reg][lane]);
      for (int k = 0; k < s.k; ++k)
        sum +=
            static_cast<int64_t>(operands.a[at.row][k]) * operands.b[k][at.col];
      if (s.satfinite)
        sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      d[reg][lane] = static_cast<uint32_t>(sum);
    }
}

void mma(const MmaShape &shape, const uint32_t *const *a,
         const uint32_t *const *b, const uint32_t *const *c, uint32_t *const *d,
         TensorCores cores) {
  if (shape.a == MmaType::S8 || shape.a == MmaType::U8)
    mmaInt(shape, a, b, c, d);
  else
    mmaFloat(shape, a, b, c, d, isMeasured(shape) ? cores : TensorCores::Fused);
}

void mmaF64(const uint64_t *a, const uint64_t *b, const uint64_t *const *c,
            uint64_t *const *d) {
  uint64_t result[2][32];
  for (int lane = 0; lane < 32; ++lane)
    for (int reg = 0; reg < 2; ++reg) {
      int row = lane >> 2, col = 2 * (lane & 3) + reg;
      double sum = asDouble(c[reg][lane]);
      for (int k = 0; k < 4; ++k)
        sum = std::fma(asDouble(a[4 * row + k]), asDouble(b[4 * col + k]), sum);
      result[reg][lane] = canonicalF64(sum);
    }
  for (int reg = 0; reg < 2; ++reg)
    std::copy_n(result[reg], 32, d[reg]);
}

void loadMatrix(const uint16_t rows[8][8], bool transposed, uint32_t reg[32]) {
  for (int lane = 0; lane < 32; ++lane) {
    int line = lane >> 2, pair = 2 * (lane & 3);
    uint16_t low = transposed ? rows[pair][line] : rows[line][pair];
    uint16_t high = transposed ? rows[pair + 1][line] : rows[line][pair + 1];
    reg[lane] = low | static_cast<uint32_t>(high) << 16;
  }
}

void storeMatrix(const uint32_t reg[32], bool transposed, uint16_t rows[8][8]) {
  for (int lane = 0; lane < 32; ++lane) {
    int line = lane >> 2, pair = 2 * (lane & 3);
    auto low = static_cast<uint16_t>(reg[lane]);
    auto high = static_cast<uint16_t>(reg[lane] >> 16);
    (transposed ? rows[pair][line] : rows[line][pair]) = low;
    (transposed ? rows[pair + 1][line] : rows[line][pair + 1]) = high;
  }
}

void moveMatrix(const uint32_t in[32], uint32_t out[32]) {
  uint16_t rows[8][8];
  storeMatrix(in, false, rows);
  loadMatrix(rows, true, out);
}

} // namespace tessera::sim
