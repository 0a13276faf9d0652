// replay/Elements.cpp - types, values and layouts of recorded tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Elements.h"

#include "support/Error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tessera::cases {

size_t elementBytes(DType type) {
  switch (type) {
  case DType::I1:
  case DType::I8:
  case DType::U8:
  case DType::FP8E4NV:
  case DType::FP8E5:
    return 1;
  case DType::I16:
  case DType::U16:
  case DType::FP16:
  case DType::BF16:
    return 2;
  case DType::I32:
  case DType::U32:
  case DType::FP32:
    return 4;
  case DType::I64:
  case DType::U64:
  case DType::FP64:
    return 8;
  }
  throw Error("element type " + std::to_string(int(type)) +
              " is not an enumerator of DType");
}

bool isFloat(DType type) {
  return type == DType::FP16 || type == DType::BF16 || type == DType::FP32 ||
         type == DType::FP64 || type == DType::FP8E4NV || type == DType::FP8E5;
}

double halfValue(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  double value;
  if (exponent == 31)
    value = fraction ? std::nan("") : HUGE_VAL;
  else if (exponent)
    value = std::ldexp(1024 + fraction, exponent - 25);
  else
    value = std::ldexp(fraction, -24);
  return bits & 0x8000 ? -value : value;
}

double float8e4nvValue(uint8_t bits) {
  const int exponent = bits >> 3 & 15;
  const int fraction = bits & 7;
  double value;
  if (exponent == 15 && fraction == 7)
    value = std::nan("");
  else if (exponent)
    value = std::ldexp(8 + fraction, exponent - 10);
  else
    value = std::ldexp(fraction, -9);
  return bits & 0x80 ? -value : value;
}

double bfloat16Value(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

template <typename T>
static T load(const char *data) {
  T value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

double elementValue(DType type, const char *data) {
  switch (type) {
  case DType::I1:
    return *data != 0;
  case DType::I8:
    return double(load<int8_t>(data));
  case DType::I16:
    return double(load<int16_t>(data));
  case DType::I32:
    return double(load<int32_t>(data));
  case DType::I64:
    return double(load<int64_t>(data));
  case DType::U8:
    return double(load<uint8_t>(data));
  case DType::U16:
    return double(load<uint16_t>(data));
  case DType::U32:
    return double(load<uint32_t>(data));
  case DType::U64:
    return double(load<uint64_t>(data));
  case DType::FP16:
    return halfValue(load<uint16_t>(data));
  case DType::BF16:
    return bfloat16Value(load<uint16_t>(data));
  case DType::FP32:
    return double(load<float>(data));
  case DType::FP64:
    return load<double>(data);
  case DType::FP8E4NV:
    return float8e4nvValue(load<uint8_t>(data));
  case DType::FP8E5:
    return halfValue(uint16_t(load<uint8_t>(data) << 8));
  }
  return 0;
}

std::string elementText(DType type, const char *data) {
  if (type == DType::I1)
    return *data ? "true" : "false";
  if (type == DType::I64)
    return std::to_string(load<int64_t>(data));
  if (type == DType::U64)
    return std::to_string(load<uint64_t>(data));
  const double value = elementValue(type, data);
  if (std::isnan(value))
    return "nan";
  char text[40];
  const int digits = type == DType::FP64 || !isFloat(type) ? 17
                     : type == DType::FP32                 ? 9
                                                           : 5;
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  return text;
}

bool elementsEqual(DType type, const char *a, const char *b) {
  if (type == DType::I1)
    return (*a != 0) == (*b != 0);
  if (std::memcmp(a, b, elementBytes(type)) == 0)
    return true;
  if (!isFloat(type))
    return false;
  const double x = elementValue(type, a), y = elementValue(type, b);
  return x == y || (std::isnan(x) && std::isnan(y));
}

static int64_t limited(__int128 number, const std::string &what) {
  if (number < 0 || number > (__int128(1) << 48))
    throw Error(what + " is larger than any memory",
                "check its shape and strides");
  return int64_t(number);
}

int64_t Layout::count(const std::string &what) const {
  __int128 product = 1;
  for (int64_t size : shape)
    if (size == 0)
      return 0;
  for (int64_t size : shape)
    product = limited(product * size, what);
  return int64_t(product);
}

int64_t Layout::span(const std::string &what) const {
  if (count(what) == 0)
    return 0;
  __int128 last = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    const __int128 stride = strides[i];
    last = limited(
        last + __int128(shape[i] - 1) * (stride < 0 ? -stride : stride), what);
  }
  return int64_t(last) + 1;
}

int64_t Layout::origin() const {
  int64_t offset = 0;
  for (size_t i = 0; i < shape.size(); ++i)
    if (strides[i] < 0 && shape[i] > 1)
      offset -= (shape[i] - 1) * strides[i];
  return offset;
}

bool Layout::overlaps() const {
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] > 1 && strides[i] == 0)
      return true;
  return false;
}

bool Layout::contiguous() const {
  int64_t next = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0)
      return true;
    if (shape[i] != 1 && strides[i] != next)
      return false;
    next *= shape[i];
  }
  return true;
}

std::vector<int64_t> Layout::index(int64_t n) const {
  std::vector<int64_t> result(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    result[i] = shape[i] ? n % shape[i] : 0;
    n = shape[i] ? n / shape[i] : 0;
  }
  return result;
}

int64_t Layout::offset(int64_t n) const {
  int64_t at = origin();
  for (size_t i = shape.size(); i-- > 0;) {
    at += n % shape[i] * strides[i];
    n /= shape[i];
  }
  return at;
}

Layout contiguousLayout(std::vector<int64_t> shape) {
  Layout layout;
  layout.strides.resize(shape.size());
  int64_t next = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    layout.strides[i] = next;
    // Empty tensors keep positive strides, as torch does.
    if (__builtin_mul_overflow(next, std::max<int64_t>(shape[i], 1), &next))
      next = INT64_MAX;
  }
  layout.shape = std::move(shape);
  return layout;
}

} // namespace tessera::cases
