// replay/KernelText.h - extracts the kernel from a recorded Python module.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cases {

// Returns the imports, and the jit functions and constants that `kernel` needs,
// with only the jit decorator. All other code (classes, host code, tests)
// becomes empty lines, so that line numbers in messages remain correct. A
// recorded file is any module that Python can import, but the language covers
// only kernels. `functions` names further functions to keep.
std::string onlyKernel(std::string_view text, const std::string &kernel,
                       const std::vector<std::string> &functions = {});

// Does the same for a kernel that imports from other kernel files. `files`
// starts with the kernel's file, which keeps its line numbers. The required
// parts of the others follow, each function with a comment that names its
// origin. The result is a different kernel if two files use one name for
// different things that it needs. `functions`: by path of their file and name.
std::string onlyKernel(
    const std::vector<language::RequestSource> &files,
    const std::string &kernel,
    const std::vector<std::pair<std::string, std::string>> &functions = {});

} // namespace tessera::cases
