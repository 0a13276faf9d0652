// tools/compile/Header.h - writes a compiled GPU kernel as a header for C and
// C++ programs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"

#include <string>

namespace tessera::tools {

// Returns a header with everything that a program needs to launch the kernel:
// the image (a cubin, or PTX), symbol, threads, bytes of shared memory,
// constexprs and, if cuda.h is included first, functions that load and launch
// it through the driver API. Compiles as C99 and C++11. Depends only on its
// arguments.
std::string cHeader(const std::string &name,
                    const language::CompileRequest &request,
                    const language::ArtifactMeta &meta,
                    const std::string &image);

} // namespace tessera::tools
