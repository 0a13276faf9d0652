// runtime/launch/FindFile.h - where kernel files are.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera::runtime {

// The absolute path of an existing file. A relative path is looked for in the
// current folder, then (less a leading "kernels/") in TESSERA_KERNELS, then in
// the folders above the program and above the library, with and without
// "kernels/" in front. Throws Error with the folders that were tried.
std::string findKernelFile(const std::string &path);

} // namespace tessera::runtime
