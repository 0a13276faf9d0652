// codegen/gpu/passes/Passes.h - the passes of the GPU (Passes.td).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each has createNAMEPass(options); the file that defines it includes
// Passes.h.inc once more with GEN_PASS_DEF_NAMEPASS.
#pragma once

#include "dialect/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace tessera::codegen::gpu {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "codegen/gpu/passes/Passes.h.inc"

} // namespace tessera::codegen::gpu
