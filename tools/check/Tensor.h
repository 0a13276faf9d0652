// tools/check/Tensor.h - arguments of kernels that tools make and compare.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "replay/Elements.h"
#include "runtime/Kernel.h"
#include "tools/check/GuardedMemory.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera::tools {

// Elements of one type with strides, on a 64-byte boundary. Elements are
// numbered in row-major order of the shape, whatever the strides are.
class Tensor {
public:
  Tensor() = default;
  // Strides in elements; without them the packed ones. Everything is zero.
  Tensor(DType type, std::vector<int64_t> shape,
         std::vector<int64_t> strides = {});

  DType type() const { return elementType; }
  bool isFloat() const;
  const std::vector<int64_t> &shape() const { return layout.shape; }
  const std::vector<int64_t> &strides() const { return layout.strides; }
  int64_t count() const { return layout.count("tensor"); } // elements
  Pointer pointer() const { return {data(), elementType, used}; }
  void *data() const;
  size_t bytes() const { return used; }
  // Where a kernel wrote outside the elements, but so near to them that the
  // processor did not stop it: "8 bytes after its end"; empty when it did not.
  std::string damage() const;

  double at(int64_t index) const;
  void set(int64_t index, double value); // rounds to the type
  void fill(double value);
  // Normally distributed; integers are uniform in -8 .. 7.
  void fillRandom(uint64_t seed);
  void fillUniform(uint64_t seed, double low, double high);

  Tensor copy() const { return as(elementType); }
  // The same elements in another type, with the same strides.
  Tensor as(DType type) const;
  // "[3, 0, 17]": where an element is.
  std::string place(int64_t index) const;
  bool sameBytes(const Tensor &other) const;

private:
  char *elementAt(int64_t index) const;

  DType elementType = DType::FP32;
  cases::Layout layout;
  size_t used = 0;
  std::shared_ptr<GuardedMemory> memory;
};

// What one comparison found.
struct Difference {
  double error = 0; // relative RMS: of the difference over the reference's
  // The first element that is off, -1 when none is: by far more than the
  // limit, or not finite where the reference is, or the other way round.
  int64_t where = -1;
  double value = 0, expected = 0;
  int64_t wrong = 0; // elements that are off

  bool ok(double limit) const { return where < 0 && error <= limit; }
};

// Returns the root mean square of each row along the last dimension.
std::vector<double> rowSizes(const Tensor &tensor);
// That of the row of an element.
double rowSize(const Tensor &tensor, const std::vector<double> &sizes,
               int64_t index);

// Integers must be equal. Both must have the same shape.
Difference compare(const Tensor &value, const Tensor &expected, double limit);
// `sizes` holds the root mean square of the row of each element.
Difference compare(const std::vector<double> &value,
                   const std::vector<double> &expected,
                   const std::vector<double> &sizes, double limit);

} // namespace tessera::tools
