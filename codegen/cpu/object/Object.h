// codegen/cpu/object/Object.h - compiles a module in the LLVM dialect to a
// shared object.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/CpuTarget.h"
#include "support/LineTable.h"

#include <cstdint>
#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tessera::codegen::cpu {

struct ObjectOptions {
  CpuTarget target;
  // The one symbol the shared object exports.
  std::string entry = "tessera_entry";
  // Keep the optimized LLVM IR and the assembly as text.
  bool keepLlvm = false;
  bool keepAsm = false;
  // LLVM IR to emit instead of the module; messages contain the path. It is not
  // optimized again.
  std::string llvmPath, llvmText;
  // Assembly to assemble instead of the code of the module or of `llvmText`.
  std::string asmPath, asmText;
};

struct SharedObject {
  std::string bytes;
  // Lines of the entry; empty if IR or assembly was given.
  LineTable lines;
  std::string llvmText;
  std::string asmText;
  // Microseconds.
  int64_t translate = 0, optimize = 0, emit = 0, link = 0;
};

// Translates, optimizes, emits and links. The module may contain helper
// functions; all functions but the entry become internal. The same module and
// options give the same bytes. Throws tessera::Error if the module cannot be
// translated, or if the result would need an external symbol: a kernel is
// loaded without libc and libm. Throws CompileError if the IR of `llvmText` or
// the assembly of `asmText` is invalid.
SharedObject emitSharedObject(mlir::ModuleOp module,
                              const ObjectOptions &options);

} // namespace tessera::codegen::cpu
