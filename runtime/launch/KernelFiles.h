// runtime/launch/KernelFiles.h - lists the source files of a process's kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera {

// A source file of kernels of this process.
struct KernelFile {
  std::string path;
  std::string text; // at the first request of the kernel
};

// Returns the files of all kernels that Kernel::fromFile() has returned and the
// files that they import, sorted by path.
std::vector<KernelFile> kernelFiles();

} // namespace tessera
