// compiler/Compile.h - compiles a request to a shared object or a cubin.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"

#include <functional>
#include <string_view>

namespace tessera::compiler {

// The stages that a request may ask for in `emit`: "tile" (after cleaning up),
// "loops" (loops and vectors), "llvm" (LLVM IR, optimized), "asm". On a GPU
// "resources" has the registers and spills that ptxas reports, as JSON.
// CUDA C++ (a file that ends in .cu) has "ptx" and "report";
// compiler/cuda/CompileCuda.h compiles it.
// Phases in timings: parse, semantics, tile, loops, llvm-dialect, translate,
// optimize, emit, link, total.
//
// Does not throw: for errors of the kernel, the request or the compiler, `ok`
// of the result is false. Each thread keeps an MLIR context between calls.
//
// Calls `entering` at the start of a phase with its name for people, such as
// "LLVM" or "ptxas".
using PhaseListener = std::function<void(std::string_view phase)>;
language::CompileResult compile(const language::CompileRequest &request,
                                const PhaseListener &entering = {});

} // namespace tessera::compiler
