// tools/compile/Header.h - a compiled GPU kernel for programs in C and C++.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"

#include <string>

namespace tessera::tools {

// A header with all that a program needs to launch the kernel: the image (a
// cubin, or PTX), symbol, threads, bytes of shared memory, constexprs and,
// where cuda.h was included before, functions that load and launch it by the
// driver's C interface. C99 and C++11. Depends on its arguments only.
std::string cHeader(const std::string &name,
                    const language::CompileRequest &request,
                    const language::ArtifactMeta &meta,
                    const std::string &image);

} // namespace tessera::tools
