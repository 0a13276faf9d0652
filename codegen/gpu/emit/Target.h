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

// The NVPTX back end for a target, one for each thread and target, made at the
// first use. Shared pointers have 32 bits; products and sums are fused only
// where both carry the contract flag. Throws tessera::Error when this LLVM has
// no NVPTX.
llvm::TargetMachine &gpuTargetMachine(const GpuTarget &target);

// Sets triple and data layout. A module that is filled with pointers into
// shared memory needs this first: their size is part of the layout.
void prepareGpuModule(llvm::Module &module, const GpuTarget &target);

} // namespace tessera::codegen::gpu
