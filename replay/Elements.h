// replay/Elements.h - elements of recorded tensors: types and values.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cases {

// Bytes of an element in memory; i1 takes one. Throws Error for a value that is
// not an enumerator of DType.
size_t elementBytes(DType type);
bool isFloat(DType type);

// The value of the element at `data` (not necessarily aligned). 64-bit integers
// lose their low bits: compare those with elementsEqual().
double elementValue(DType type, const char *data);
// Python's text of the element: "-3", "0.25", "nan", "true".
std::string elementText(DType type, const char *data);

// The same value: integers bit by bit, any nonzero byte is a true i1, NaN
// equals NaN whatever its payload, zeros are equal whatever their sign.
bool elementsEqual(DType type, const char *a, const char *b);

double halfValue(uint16_t bits); // IEEE binary16
double float8e4nvValue(uint8_t bits);
double bfloat16Value(uint16_t bits); // the upper half of binary32

// How a tensor lies in memory. Strides are in elements and may be zero,
// negative or overlapping.
struct Layout {
  std::vector<int64_t> shape, strides;

  // Elements of the tensor, of its first dimension's rows and so on. Both
  // throw Error (naming `what`) beyond 2^48.
  int64_t count(const std::string &what) const;
  // From the lowest address to the highest, in elements: the least storage.
  int64_t span(const std::string &what) const;
  // Offset of element [0, 0, ...] from the lowest address; with a negative
  // stride that is not 0.
  int64_t origin() const;
  bool overlaps() const; // a zero stride over more than one element
  bool contiguous() const;

  // The n-th index in row-major order.
  std::vector<int64_t> index(int64_t n) const;
  // Offset from the lowest address of the n-th index.
  int64_t offset(int64_t n) const;
};

// Row-major strides; one that no int64_t holds is INT64_MAX, which span()
// refuses.
Layout contiguousLayout(std::vector<int64_t> shape);

} // namespace tessera::cases
