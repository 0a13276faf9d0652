// codegen/gpu/passes/PassList.h - the order of the GPU passes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/kernel/Attributes.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace tessera::codegen::gpu {

/// Adds the passes that give every tensor a layout, copy operands of dots to
/// shared memory and insert barriers. Input and output are tile IR.
void addLayoutPasses(mlir::OpPassManager &passes, const GpuOptions &options);

/// Adds the last of these passes: waits for copies, shared memory offsets and
/// barriers. IR that already has layouts needs only them before the lowering.
void addMemoryPasses(mlir::OpPassManager &passes, const GpuOptions &options);

} // namespace tessera::codegen::gpu
