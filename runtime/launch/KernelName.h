// runtime/launch/KernelName.h - names of kernels in tuning tables and routing.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera::runtime {

// Returns "kernels/nsa/select_fwd.py:select_fwd" for a function of an existing
// file. For a file outside of this build's kernels, the path is the file's name
// alone.
std::string kernelName(const std::string &file, const std::string &function);

// Returns 32 hexadecimal digits that identify a request's text, which does not
// contain comments and docstrings.
std::string textHash(const std::string &text);

} // namespace tessera::runtime
