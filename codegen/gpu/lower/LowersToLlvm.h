// codegen/gpu/lower/LowersToLlvm.h - interface of ops that emit their LLVM IR.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/OpDefinition.h"

namespace tessera::codegen::gpu {
class Emitter;
} // namespace tessera::codegen::gpu

#include "codegen/gpu/lower/LowersToLlvm.h.inc"
