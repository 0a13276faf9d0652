// codegen/cpu/object/Target.h - LLVM's view of a CPU target.
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

// Position-independent code, full optimization, no builtin library functions,
// products and sums fused only where both carry the contract flag.
// Throws tessera::Error when LLVM does not know the target.
std::unique_ptr<llvm::TargetMachine>
createTargetMachine(const CpuTarget &target);

// Sets triple, data layout and the attributes of every function: preferred
// vector width, no builtins, no unwinding.
void prepareModule(llvm::Module &module, const llvm::TargetMachine &machine,
                   const CpuTarget &target);

} // namespace tessera::codegen::cpu
