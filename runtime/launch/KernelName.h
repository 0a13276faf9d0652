// runtime/launch/KernelName.h - how tuning tables and the routing name a
// kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera::runtime {

// "kernels/nsa/select_fwd.py:select_fwd" for a function of an existing file;
// of a file outside this build's kernels, the file's name alone.
std::string kernelName(const std::string &file, const std::string &function);

// 32 hexadecimal digits that identify the text of a request, which is without
// comments and docstrings.
std::string textHash(const std::string &text);

} // namespace tessera::runtime
