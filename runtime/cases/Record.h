// runtime/cases/Record.h - launches of this process written as cases.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/Kernel.h"
#include "runtime/launch/Parts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::runtime {

// What a pointer argument points to: a launch itself sees addresses only.
struct TensorExtent {
  const void *address = nullptr;       // of element [0, 0, ...]
  std::vector<int64_t> shape, strides; // strides in elements
  bool scratch = false;                // nobody reads it after the launch
};

// TESSERA_RECORD is set. Asked once per process.
bool recording();

// Says what the pointers of the calling thread's next launch point to, in any
// order. Only worth calling while recording().
void describeTensors(std::vector<TensorExtent> extents);

// Around one launch: copies the memory of its arguments, and writes the folder
// that `tessera replay` reads (docs/cases.md). A launch that is not wanted, or
// whose extents nobody described, is not recorded; one that cannot be written
// is a warning, never an error of the launch.
LaunchHook &launchRecorder();

// The canonical text of a kernel (syntax::Expansion) as a module that Python
// imports under Triton: constants become tl.constexpr, as Triton wants of
// names outside of a kernel.
std::string importableText(const std::string &expanded);

} // namespace tessera::runtime
