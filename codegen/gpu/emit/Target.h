// codegen/gpu/emit/Target.h - LLVM's view of a GPU target.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/GpuTarget.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tessera::codegen::gpu {

// Returns the NVPTX target machine for a target. The first use creates one per
// thread and target. Shared memory pointers have 32 bits. Products and sums are
// fused only if both have the contract flag. Throws tessera::Error if this LLVM
// was built without NVPTX.
llvm::TargetMachine &gpuTargetMachine(const GpuTarget &target);

// Sets the triple and the data layout. Call it before adding pointers to shared
// memory: the data layout determines their size.
void prepareGpuModule(llvm::Module &module, const GpuTarget &target);

} // namespace tessera::codegen::gpu
