// codegen/gpu/passes/Passes.h - declares the GPU back end's passes (Passes.td).
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each pass has a factory, createNAMEPass(options). The file that implements
// the pass includes Passes.h.inc again, with GEN_PASS_DEF_NAMEPASS.
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
