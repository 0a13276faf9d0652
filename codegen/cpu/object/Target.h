// codegen/cpu/object/Target.h - creates LLVM's target machine for a CPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/CpuTarget.h"

#include <memory>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tessera::codegen::cpu {

// Creates a target machine: position-independent code, full optimization, no
// builtin library functions. Products and sums are fused only if both have the
// contract flag. Throws tessera::Error if LLVM does not know the target.
std::unique_ptr<llvm::TargetMachine>
createTargetMachine(const CpuTarget &target);

// Sets the triple, the data layout and the attributes of every function:
// preferred vector width, no builtins, no unwinding.
void prepareModule(llvm::Module &module, const llvm::TargetMachine &machine,
                   const CpuTarget &target);

} // namespace tessera::codegen::cpu
