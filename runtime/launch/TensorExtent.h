// runtime/launch/TensorExtent.h - shapes of the tensors that a launch's
// pointers refer to; callers pass them to the recorder of launches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::runtime {

// Tensor behind a pointer argument. A launch itself receives only addresses.
struct TensorExtent {
  const void *address = nullptr;       // of element [0, 0, ...]
  std::vector<int64_t> shape, strides; // strides in elements
  bool scratch = false;                // not read after the launch
};

// True if TESSERA_RECORD is set. The variable is read once per process.
bool recording();

// Describes the pointers of the calling thread's next launch, in any order.
// Callers check recording() first.
void describeTensors(std::vector<TensorExtent> extents);
// Returns what the calling thread described last, and forgets it.
std::vector<TensorExtent> takeDescribedTensors();

} // namespace tessera::runtime
