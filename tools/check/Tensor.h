// tools/check/Tensor.h - tensors that tools pass to kernels and compare.
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

// Elements of one type with strides, on a 64-byte boundary. Element numbers
// follow the row-major order of the shape and do not depend on strides.
class Tensor {
public:
  Tensor() = default;
  // Strides are in elements; the default is packed. All elements are zero.
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
  // Describes a write outside the elements that is too close to them to fault,
  // such as "8 bytes after its end". Empty if there was none.
  std::string damage() const;

  double at(int64_t index) const;
  void set(int64_t index, double value); // rounds to the type
  void fill(double value);
  // Fills floats with normal random numbers, integers uniformly with -8 .. 7.
  void fillRandom(uint64_t seed);
  void fillUniform(uint64_t seed, double low, double high);

  Tensor copy() const { return as(elementType); }
  // Returns the elements in another type, with the same strides.
  Tensor as(DType type) const;
  // Returns the indices of an element: "[3, 0, 17]".
  std::string place(int64_t index) const;
  bool sameBytes(const Tensor &other) const;

private:
  char *elementAt(int64_t index) const;

  DType elementType = DType::FP32;
  cases::Layout layout;
  // Offset of the first element of each row; null for contiguous tensors, whose
  // offsets are the indices.
  std::shared_ptr<const std::vector<int64_t>> rows;
  size_t used = 0;
  std::shared_ptr<GuardedMemory> memory;
};

// The result of one comparison.
struct Difference {
  double error = 0; // relative RMS: of the difference over the reference's
  // First wrong element, or -1. An element is wrong if it exceeds the limit by
  // far, or if only one of the two values is finite.
  int64_t where = -1;
  double value = 0, expected = 0;
  int64_t wrong = 0; // elements that are off

  bool ok(double limit) const { return where < 0 && error <= limit; }
};

// Returns the root mean square of each row along the last dimension.
std::vector<double> rowSizes(const Tensor &tensor);
// Returns the root mean square of the row of an element.
double rowSize(const Tensor &tensor, const std::vector<double> &sizes,
               int64_t index);

// Compares two tensors of the same shape. Integers must be equal.
Difference compare(const Tensor &value, const Tensor &expected, double limit);
// `sizes` holds the root mean square of the row of each element.
Difference compare(const std::vector<double> &value,
                   const std::vector<double> &expected,
                   const std::vector<double> &sizes, double limit);

} // namespace tessera::tools
