// tools/compile/ExampleTypes.h - types to begin with, for a kernel that names
// none.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Decorators.h"

#include <string>

namespace tessera::tools {

// Whether a parameter is a pointer: the kernel accesses memory through it, or
// its name follows the custom of pointers (x_ptr, or X in a kernel without such
// names; M, N and other names of sizes are numbers).
bool looksLikePointer(const language::KernelInfo &kernel,
                      const std::string &name);

// "X=*fp32:16, n=i32, BLOCK=64", as --signature takes it.
std::string exampleSignature(const language::KernelInfo &kernel);

// X="*fp32:16", n="i32", BLOCK=64, as a hint takes it.
std::string exampleInstance(const language::KernelInfo &kernel);

} // namespace tessera::tools
