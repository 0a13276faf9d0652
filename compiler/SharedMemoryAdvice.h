// compiler/SharedMemoryAdvice.h - hints on excessive shared memory use.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/lower/Lower.h"
#include "language/Program.h"
#include "language/Request.h"

#include <string>

namespace tessera::compiler {

// Returns the bytes of shared memory per block of the request's kernel. It runs
// the front end and the layout passes, but not LLVM, and throws their
// exceptions.
uint64_t sharedBytesOf(const language::Program &program,
                       const language::CompileRequest &request,
                       const codegen::gpu::GpuOptions &options);

// Returns a hint with configurations that fit: the same one with fewer stages,
// and the decorator's configuration that uses the most of the available memory.
std::string adviceForSharedMemory(const language::Program &program,
                                  const language::CompileRequest &request,
                                  const codegen::gpu::GpuOptions &options);

} // namespace tessera::compiler
