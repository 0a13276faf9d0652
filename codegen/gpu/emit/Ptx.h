// codegen/gpu/emit/Ptx.h - a module of LLVM IR to PTX text.
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
  // The one function the PTX exports.
  std::string entry;
  // Keep the optimized LLVM IR as text.
  bool keepLlvm = false;
  // An edited module has been optimized before.
  bool optimize = true;
};

struct PtxOutput {
  std::string ptx;
  std::string llvmText;
  // Microseconds.
  int64_t optimize = 0, emit = 0;
};

// Optimizes and emits the module, which is used up. The text depends on the
// module only: files of line information are given by their last part, so that
// it does not depend on where a checkout lies. Throws Error for what NVPTX has
// no instructions for (functions of libm, calls of unknown functions) and for a
// module that is broken; those are defects of ours, and say so.
PtxOutput emitPtx(llvm::Module &module, const PtxOptions &options);

// The module of an edited stage `llvm`. Throws CompileError with the place in
// it, also when it has no kernel of that name.
std::unique_ptr<llvm::Module> parseGpuLlvm(llvm::LLVMContext &context,
                                           const std::string &path,
                                           const std::string &text,
                                           const PtxOptions &options);

} // namespace tessera::codegen::gpu
