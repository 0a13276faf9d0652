// replay/KernelText.h - what of a recorded Python module is the kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cases {

// The imports, and the jit functions and constants that `kernel` needs, with
// no decorator but jit. All else (classes, host code, tests) becomes empty
// lines, so that places in messages stay right. A recorded file is any module
// that Python can import; the language is only what is inside of kernels.
// `functions`: more functions that are kept.
std::string onlyKernel(std::string_view text, const std::string &kernel,
                       const std::vector<std::string> &functions = {});

// The same of a kernel that imports from other kernel files, its own file
// first: that one on its lines, and below it what is needed of the others, each
// function with a comment that says where it stood. The result is no longer the
// same kernel where two files give one name to different things that it needs.
// `functions` by the path of their file and name.
std::string onlyKernel(
    const std::vector<language::RequestSource> &files,
    const std::string &kernel,
    const std::vector<std::pair<std::string, std::string>> &functions = {});

} // namespace tessera::cases
