// tools/compile/Header.h - a compiled GPU kernel for programs in C and C++.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/syntax/Request.h"

#include <string>

namespace tessera::tools {

// A header that says how to launch the kernel: symbol, threads, bytes of shared
// memory, constexprs, and a function that launches it by the driver's C
// interface where cuda.h was included before. Depends on its arguments only.
std::string cHeader(const std::string &name,
                    const syntax::CompileRequest &request,
                    const syntax::ArtifactMeta &meta);

} // namespace tessera::tools
