// runtime/launch/TensorExtent.h - shapes of the memory that pointers of a
// launch point to, which callers tell a recorder of launches.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::runtime {

// What a pointer argument points to: a launch itself sees addresses only.
struct TensorExtent {
  const void *address = nullptr;       // of element [0, 0, ...]
  std::vector<int64_t> shape, strides; // strides in elements
  bool scratch = false;                // not read after the launch
};

// True if TESSERA_RECORD is set. The variable is read once per process.
bool recording();

// Describes the pointers of the calling thread's next launch, in any order.
// Only worth calling while recording().
void describeTensors(std::vector<TensorExtent> extents);
// Returns what the calling thread described last, and forgets it.
std::vector<TensorExtent> takeDescribedTensors();

} // namespace tessera::runtime
