// language/KnownNames.h - hints for unknown names of triton's modules.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Program.h"
#include "support/Diagnostics.h"

#include <string>
#include <string_view>
#include <vector>

namespace tessera::language {

// Returns "`tl.float33`" for "triton.language.float33": the usual spelling.
std::string quotedName(std::string_view path);

// Returns a hint with the nearest type for an unknown type name of
// triton.language, "did you mean `tl.float32`?"; empty if no type is near.
std::string nearestTypeHint(std::string_view path);

// Returns the errors of a function's triton decorators: a module without
// import, or `jit` of another module. Checks kernels and helpers, because
// Python would reject the file for either.
std::vector<Diagnostic> checkJitDecorators(const Program &program,
                                           const FunctionDef &function);

} // namespace tessera::language
