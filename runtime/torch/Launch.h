// runtime/torch/Launch.h - one launch of a kernel on tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"

#include <ATen/core/Tensor.h>
#include <string>
#include <vector>

namespace tessera::runtime {

// The tensor's memory, first to last element: a kernel may touch no more of its
// storage. Throws Error for a type that kernels do not take.
Pointer pointerTo(const at::Tensor &tensor);

// Collects the arguments of a launch in the order of docs/kernels.md and runs
// it. Tile sizes are those of the kernel's configuration.
class Launch {
public:
  Launch(const std::string &file, const std::string &kernel);

  Launch &tensor(const at::Tensor &tensor);
  Launch &integer(int64_t value);
  Launch &real(double value);
  // Token and head strides of a packed tensor.
  Launch &strides(const at::Tensor &tensor);
  // A tensor whose size depends on the tiles: its place now, itself once tile()
  // is known.
  Launch &scratch(at::ScalarType type);
  Launch &bindScratch(const at::Tensor &tensor);

  Launch &constant(const std::string &name, int64_t value);
  // A constant and its next power of two.
  Launch &padded(const std::string &name, const std::string &paddedName,
                 int64_t value);

  // A tile size of the configuration; all arguments must be there.
  int64_t tile(const std::string &name);

  // Does nothing when a dimension is 0.
  void run(int64_t x, int64_t y = 1, int64_t z = 1);

private:
  Kernel kernel;
  std::vector<Arg> args;
  std::vector<at::Tensor> tensors; // keeps the memory alive until run()
  size_t scratchPlace = 0;
  Constexprs constants;
  Constexprs chosen;
};

// Tiles of `size` entries for packed sequences of `total` entries, as find_tile
// of the kernels numbers them: never too few, whatever the lengths.
inline int64_t tileCount(int64_t total, int64_t size, int64_t sequences) {
  return total / size + sequences;
}

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

inline int64_t nextPowerOfTwo(int64_t value) {
  int64_t power = 1;
  while (power < value)
    power *= 2;
  return power;
}

} // namespace tessera::runtime
