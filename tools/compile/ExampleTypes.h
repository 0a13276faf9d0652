// tools/compile/ExampleTypes.h - suggests types for a kernel that does not
// declare any.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Decorators.h"

#include <string>

namespace tessera::tools {

// True if a parameter is a pointer: the kernel accesses memory through it, or
// its name follows the convention for pointers (x_ptr, or X in a kernel without
// such names). M, N and other names of sizes are numbers.
bool looksLikePointer(const language::KernelInfo &kernel,
                      const std::string &name);

// Returns "X=*fp32:16, n=i32, BLOCK=64", the syntax of --signature.
std::string exampleSignature(const language::KernelInfo &kernel);

// Returns X="*fp32:16", n="i32", BLOCK=64, the syntax of a hint.
std::string exampleInstance(const language::KernelInfo &kernel);

} // namespace tessera::tools
