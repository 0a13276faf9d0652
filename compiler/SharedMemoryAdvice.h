// compiler/SharedMemoryAdvice.h - what to say of a kernel with too much shared
// memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/lower/Lower.h"
#include "language/Program.h"
#include "language/Request.h"

#include <string>

namespace tessera::compiler {

// Bytes of shared memory a block of the request's kernel needs, found without
// LLVM. Throws what the front end and the layout passes throw.
uint64_t sharedBytesOf(const language::Program &program,
                       const language::CompileRequest &request,
                       const codegen::gpu::GpuOptions &options);

// What does fit, as a hint: fewer stages of the same configuration, and the
// configuration of the decorator that uses most of what a block may have.
std::string adviceForSharedMemory(const language::Program &program,
                                  const language::CompileRequest &request,
                                  const codegen::gpu::GpuOptions &options);

} // namespace tessera::compiler
