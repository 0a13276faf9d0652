// language/KnownNames.h - what a name of triton's modules should have been.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Program.h"
#include "support/Diagnostics.h"

#include <string>
#include <string_view>
#include <vector>

namespace tessera::language {

// "`tl.float33`" of "triton.language.float33": as people write it.
std::string quotedName(std::string_view path);

// Returns a hint with the nearest type for an unknown type name of
// triton.language, "did you mean `tl.float32`?"; empty if no type is near.
std::string nearestTypeHint(std::string_view path);

// What is wrong with the decorators that make a function one of triton's: a
// module that is not imported, or another's `jit`. Kernels and helpers alike,
// as Python would refuse the file.
std::vector<Diagnostic> checkJitDecorators(const Program &program,
                                           const FunctionDef &function);

} // namespace tessera::language
