// tools/check/Tensor.cpp - tensors that tools pass to kernels and compare.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/check/Tensor.h"

#include "support/Lists.h"
#include "support/Outliers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

namespace tessera::tools {
namespace {

// splitmix64: generates the same numbers on every machine.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  double uniform() { return double(next() >> 11) * 0x1p-53; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

private:
  uint64_t next() {
    uint64_t x = state += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  uint64_t state;
};

uint16_t bf16Bits(double value) {
  const float narrow = float(value);
  if (std::isnan(narrow))
    return 0x7fc0;
  const uint32_t bits = std::bit_cast<uint32_t>(narrow);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

template <typename T>
void write(char *to, double value) {
  T narrow = T(0);
  if constexpr (std::is_integral_v<T>)
    narrow = T(std::clamp(value, double(std::numeric_limits<T>::lowest()),
                          double(std::numeric_limits<T>::max())));
  else
    narrow = T(value);
  std::memcpy(to, &narrow, sizeof(T));
}

// The checks compare the bytes of i1 elements, so that 2 differs from 1.
double readAs(DType type, const char *from) {
  return type == DType::I1 ? double(uint8_t(*from))
                           : cases::elementValue(type, from);
}

// Rounds to the nearest 8-bit float, ties to even; saturates at the largest.
uint8_t fp8Bits(DType type, double value) {
  auto valueOf = [&](int bits) {
    const char byte = char(bits);
    return cases::elementValue(type, &byte);
  };
  if (std::isnan(value))
    return 0x7F;
  int best = 0;
  for (int bits = 1; bits < 0x80 && std::isfinite(valueOf(bits)); ++bits) {
    const double closer = std::abs(valueOf(best) - std::abs(value)) -
                          std::abs(valueOf(bits) - std::abs(value));
    if (closer > 0 || (closer == 0 && bits % 2 == 0))
      best = bits;
  }
  return uint8_t(best | (std::signbit(value) ? 0x80 : 0));
}

void writeAs(DType type, char *to, double value) {
  switch (type) {
  case DType::I1:
    return write<uint8_t>(to, value != 0);
  case DType::U8:
    return write<uint8_t>(to, value);
  case DType::I8:
    return write<int8_t>(to, value);
  case DType::I16:
    return write<int16_t>(to, value);
  case DType::I32:
    return write<int32_t>(to, value);
  case DType::I64:
    return write<int64_t>(to, value);
  case DType::U16:
    return write<uint16_t>(to, value);
  case DType::U32:
    return write<uint32_t>(to, value);
  case DType::U64:
    return write<uint64_t>(to, value);
  case DType::FP16:
    return write<_Float16>(to, value);
  case DType::BF16: {
    const uint16_t bits = bf16Bits(value);
    std::memcpy(to, &bits, 2);
    return;
  }
  case DType::FP8E4NV:
  case DType::FP8E5:
    return write<uint8_t>(to, fp8Bits(type, value));
  case DType::FP32:
    return write<float>(to, value);
  case DType::FP64:
    return write<double>(to, value);
  }
}

// `sizeOf` returns the root mean square of the row of an element.
template <typename Value, typename Expected, typename Size>
Difference compareAll(int64_t count, Value value, Expected expected,
                      Size sizeOf, double limit) {
  const double rms = rmsOf(0, count, expected);
  Difference result;
  result.error =
      rmsOf(0, count, [&](int64_t i) { return value(i) - expected(i); });
  if (rms > 0)
    result.error /= rms;
  int64_t worst = -1;
  double far = -1;
  for (int64_t i = 0; i < count; ++i) {
    const double a = value(i), b = expected(i);
    if (std::isfinite(a) && std::isfinite(b) && std::fabs(a - b) > far) {
      far = std::fabs(a - b);
      worst = i;
    }
    if (!isOutlier(a, b, std::max(rms, sizeOf(i)), limit))
      continue;
    if (result.wrong++ == 0)
      result.where = i;
  }
  // If there are many small errors, reports the largest.
  if (result.where < 0 && result.error > limit) {
    result.where = worst;
    result.wrong = 1;
  }
  if (result.where >= 0) {
    result.value = value(result.where);
    result.expected = expected(result.where);
  }
  return result;
}

} // namespace

Tensor::Tensor(DType type, std::vector<int64_t> shape,
               std::vector<int64_t> strides)
    : elementType(type),
      layout(strides.empty()
                 ? cases::contiguousLayout(std::move(shape))
                 : cases::Layout{std::move(shape), std::move(strides)}) {
  used = size_t(layout.span("tensor")) * cases::elementBytes(type);
  memory = std::make_shared<GuardedMemory>(used); // zeros
  if (layout.shape.empty() || layout.contiguous())
    return;
  // A division for each dimension and element would take a third of the time of
  // tessera check.
  std::vector<int64_t> starts;
  for (int64_t i = 0, end = count(); i < end; i += layout.shape.back())
    starts.push_back(layout.offset(i));
  rows = std::make_shared<const std::vector<int64_t>>(std::move(starts));
}

bool Tensor::isFloat() const {
  return elementType == DType::FP16 || elementType == DType::BF16 ||
         elementType == DType::FP32 || elementType == DType::FP64;
}

std::string Tensor::damage() const {
  if (!memory)
    return "";
  if (const ptrdiff_t after = memory->writtenAfter(); after >= 0)
    return std::to_string(after) + " bytes after its end";
  if (const ptrdiff_t before = memory->writtenBefore(); before >= 0)
    return std::to_string(before + 1) + " bytes before its start";
  return "";
}

void *Tensor::data() const { return memory->data(); }

char *Tensor::elementAt(int64_t index) const {
  int64_t offset = index;
  if (rows) {
    const int64_t row = index / layout.shape.back();
    offset = (*rows)[size_t(row)] +
             (index - row * layout.shape.back()) * layout.strides.back();
  }
  return static_cast<char *>(data()) +
         offset * int64_t(cases::elementBytes(elementType));
}

double Tensor::at(int64_t index) const {
  return readAs(elementType, elementAt(index));
}

void Tensor::set(int64_t index, double value) {
  writeAs(elementType, elementAt(index), value);
}

void Tensor::fill(double value) {
  for (int64_t i = 0, end = count(); i < end; ++i)
    set(i, value);
}

void Tensor::fillRandom(uint64_t seed) {
  if (!isFloat())
    return fillUniform(seed, -8, 8);
  Random random(seed);
  for (int64_t i = 0, end = count(); i < end; ++i)
    set(i, random.normal());
}

void Tensor::fillUniform(uint64_t seed, double low, double high) {
  Random random(seed);
  for (int64_t i = 0, end = count(); i < end; ++i) {
    const double value = low + (high - low) * random.uniform();
    set(i, isFloat() ? value : std::floor(value));
  }
}

Tensor Tensor::as(DType type) const {
  Tensor result(type, shape(), strides());
  if (type == elementType) {
    std::memcpy(result.data(), data(), bytes());
    return result;
  }
  for (int64_t i = 0, end = count(); i < end; ++i)
    result.set(i, at(i));
  return result;
}

std::string Tensor::place(int64_t index) const {
  return "[" + joined(layout.index(index), ", ") + "]";
}

bool Tensor::sameBytes(const Tensor &other) const {
  return bytes() == other.bytes() &&
         std::memcmp(data(), other.data(), bytes()) == 0;
}

std::vector<double> rowSizes(const Tensor &tensor) {
  const int64_t count = tensor.count();
  const int64_t row =
      tensor.shape().empty() ? 1 : std::max<int64_t>(tensor.shape().back(), 1);
  std::vector<double> sizes;
  for (int64_t begin = 0; begin < count; begin += row)
    sizes.push_back(
        rmsOf(begin, begin + row, [&](int64_t i) { return tensor.at(i); }));
  return sizes;
}

double rowSize(const Tensor &tensor, const std::vector<double> &sizes,
               int64_t index) {
  const int64_t row = int64_t(sizes.size());
  return sizes[size_t(index / (tensor.count() / row))];
}

Difference compare(const Tensor &value, const Tensor &expected, double limit) {
  auto at = [](const Tensor &tensor) {
    return [&tensor](int64_t i) { return tensor.at(i); };
  };
  const std::vector<double> sizes = rowSizes(expected);
  return compareAll(
      value.count(), at(value), at(expected),
      [&](int64_t i) { return rowSize(expected, sizes, i); },
      value.isFloat() ? limit : 0);
}

Difference compare(const std::vector<double> &value,
                   const std::vector<double> &expected,
                   const std::vector<double> &sizes, double limit) {
  auto at = [](const std::vector<double> &list) {
    return [&list](int64_t i) { return list[size_t(i)]; };
  };
  return compareAll(int64_t(value.size()), at(value), at(expected), at(sizes),
                    limit);
}

} // namespace tessera::tools
