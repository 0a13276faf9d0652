// compiler/Compile.h - a request to a shared object, or a cubin for CUDA C++.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"

#include <functional>
#include <string_view>

namespace tessera::compiler {

// The stages that a request may ask for in `emit`: "tile" (after cleaning up),
// "loops" (loops and vectors), "llvm" (LLVM IR, optimized), "asm".
// CUDA C++ (a file that ends in .cu) has "ptx" and "report" and goes the way of
// compiler/cuda/CompileCuda.h.
// Phases in timings: parse, semantics, tile, loops, llvm-dialect, translate,
// optimize, emit, link, total.
//
// Errors of the kernel, the request or the compiler give a result that is not
// ok; nothing is thrown. Each thread keeps an MLIR context between calls.
//
// `entering` is told what is done next, for people: "LLVM", "ptxas".
using PhaseListener = std::function<void(std::string_view phase)>;
language::CompileResult compile(const language::CompileRequest &request,
                                const PhaseListener &entering = {});

} // namespace tessera::compiler
