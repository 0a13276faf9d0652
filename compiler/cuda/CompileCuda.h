// compiler/cuda/CompileCuda.h - a request for a CUDA C++ kernel to cubin and
// PTX.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"

namespace tessera::compiler {

// Fills `result`. The artifact is the cubin, empty if NVRTC does not return
// one. The stages "ptx" and "report" are always set; the report is JSON with
// the target, NVRTC, PTX version, bytes, registers by type, static shared
// memory and maximum threads, without spills. Constexpr arguments become
// -DNAME=value. Errors of the source have its file and line. Throws Error if
// NVRTC is missing or too old.
void compileCuda(const language::CompileRequest &request,
                 language::CompileResult &result);

} // namespace tessera::compiler
