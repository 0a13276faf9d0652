// compiler/cuda/CompileCuda.h - a request for a CUDA C++ kernel to cubin and
// PTX.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"

namespace tessera::compiler {

// Fills `result`: artifact is the cubin (empty where NVRTC gives none); stages
// "ptx" and "report" (JSON: target, NVRTC, PTX version, bytes, registers by
// type, static shared memory, the most threads, spills are not known) are
// always kept. Constexpr arguments become -DNAME=value. Errors of the source
// carry its file and line. Throws Error when NVRTC is missing or too old.
void compileCuda(const language::CompileRequest &request,
                 language::CompileResult &result);

} // namespace tessera::compiler
