// runtime/launch/KernelFiles.h - the files behind the kernels of a process.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tessera {

// A file that kernels of this process were made from.
struct KernelFile {
  std::string path;
  std::string text; // as it was when the kernel was first asked for
};

// The files of all kernels that Kernel::fromFile() has given, with those they
// import from; sorted by path.
std::vector<KernelFile> kernelFiles();

} // namespace tessera
