// replay/Elements.h - types, values and layouts of recorded tensors.
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

// Returns the bytes of an element in memory; i1 takes one. Throws Error for a
// value that is not an enumerator of DType.
size_t elementBytes(DType type);
bool isFloat(DType type);

// Returns the value of the element at `data` (any alignment). 64-bit integers
// lose their low bits; compare those with elementsEqual().
double elementValue(DType type, const char *data);
// Returns the element in Python syntax: "-3", "0.25", "nan", "true".
std::string elementText(DType type, const char *data);

// True if the values are equal. Integers compare bitwise, any nonzero byte is a
// true i1, NaN equals NaN with any payload, and zeros of both signs are equal.
bool elementsEqual(DType type, const char *a, const char *b);

double halfValue(uint16_t bits); // IEEE binary16
double float8e4nvValue(uint8_t bits);
double bfloat16Value(uint16_t bits); // the upper half of binary32

// Layout of a tensor in memory. Strides are in elements and may be zero,
// negative or overlapping.
struct Layout {
  std::vector<int64_t> shape, strides;

  // Returns the number of elements of the tensor. This and span() throw Error
  // (naming `what`) above 2^48.
  int64_t count(const std::string &what) const;
  // Returns the number of elements from the lowest address to the highest: the
  // minimum storage.
  int64_t span(const std::string &what) const;
  // Returns the offset of element [0, 0, ...] from the lowest address. It is
  // positive if a stride is negative.
  int64_t origin() const;
  bool overlaps() const; // a zero stride over more than one element
  bool contiguous() const;

  // Returns the n-th index in row-major order.
  std::vector<int64_t> index(int64_t n) const;
  // Returns the offset of the n-th index from the lowest address.
  int64_t offset(int64_t n) const;
};

// Returns the layout with row-major strides. A stride that exceeds int64_t
// becomes INT64_MAX, which span() rejects.
Layout contiguousLayout(std::vector<int64_t> shape);

} // namespace tessera::cases
