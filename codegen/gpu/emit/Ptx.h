// codegen/gpu/emit/Ptx.h - compiles a module of LLVM IR to PTX text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/GpuTarget.h"

#include <cstdint>
#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace tessera::codegen::gpu {

struct PtxOptions {
  GpuTarget target;
  // Name of the only function that the PTX exports.
  std::string entry;
  // Keep the optimized LLVM IR as text.
  bool keepLlvm = false;
  // False for an edited module, which is already optimized.
  bool optimize = true;
};

struct PtxOutput {
  std::string ptx;
  std::string llvmText;
  // Microseconds.
  int64_t optimize = 0, emit = 0;
};

// Optimizes and emits the module, and consumes it. The text depends on the
// module only: line information contains file names without folders, so that it
// does not depend on the location of a checkout. Throws Error for operations
// that NVPTX cannot select (libm functions, calls of unknown functions) and for
// an invalid module. Both are compiler bugs, and the message reports them so.
PtxOutput emitPtx(llvm::Module &module, const PtxOptions &options);

// Parses the module of an edited stage `llvm`. Throws CompileError with the
// position in the text if it is invalid or lacks the kernel options.entry.
std::unique_ptr<llvm::Module> parseGpuLlvm(llvm::LLVMContext &context,
                                           const std::string &path,
                                           const std::string &text,
                                           const PtxOptions &options);

} // namespace tessera::codegen::gpu
