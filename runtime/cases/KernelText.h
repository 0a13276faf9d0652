// runtime/cases/KernelText.h - what of a recorded Python module is the kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tessera::cases {

// The imports, and the jit functions and constants that `kernel` needs, with
// no decorator but jit. All else (classes, host code, tests) becomes empty
// lines, so that places in messages stay right. A recorded file is any module
// that Python can import; the language is only what is inside of kernels.
std::string onlyKernel(std::string_view text, const std::string &kernel);

} // namespace tessera::cases
