// codegen/gpu/lower/Families.h - the lowering of each operation family.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each function emits `op` and returns true, or returns false if `op` is not of
// its family.
#pragma once

namespace mlir {
class Operation;
} // namespace mlir

namespace tessera::codegen::gpu {

class Emitter;

bool emitControl(Emitter &e, mlir::Operation *op);     // Control.cpp
bool emitElementwise(Emitter &e, mlir::Operation *op); // Elementwise.cpp
bool emitMath(Emitter &e, mlir::Operation *op);        // Math.cpp
bool emitShape(Emitter &e, mlir::Operation *op);       // Shape.cpp
bool emitMemory(Emitter &e, mlir::Operation *op);      // Memory.cpp
bool emitAtomic(Emitter &e, mlir::Operation *op);      // Atomic.cpp
bool emitReduce(Emitter &e, mlir::Operation *op);      // Reduce.cpp
bool emitScan(Emitter &e, mlir::Operation *op);        // Scan.cpp
bool emitConvert(Emitter &e, mlir::Operation *op);     // Convert.cpp
bool emitDot(Emitter &e, mlir::Operation *op);         // Dot.cpp
bool emitShared(Emitter &e, mlir::Operation *op);      // Shared.cpp
bool emitDebug(Emitter &e, mlir::Operation *op);       // Debug.cpp

} // namespace tessera::codegen::gpu
