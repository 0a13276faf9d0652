// codegen/gpu/lower/dot/Dot.h - the ways to compute a dot.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/lower/Emitter.h"
#include "dialect/layout/MmaPlan.h"

namespace tessera::codegen::gpu {

/// A dot and the layouts of its operands.
struct DotCase {
  explicit DotCase(tile::DotOp op);

  tile::DotOp op;
  mlir::Type element;
  layout::LinearLayout a, b, acc;
};

/// The instruction of tensor cores that the dot has been given: acc's fragments
/// stay in registers (Mma.cpp).
void emitMma(Emitter &e, const DotCase &dot);

/// Fused multiply-adds of what each thread has in registers (Fma.cpp). Only for
/// small ones: all is unrolled.
bool fitsInRegisters(const DotCase &dot);
void emitFmaInRegisters(Emitter &e, const DotCase &dot);

/// Fused multiply-adds of operands in any layouts, which go through
/// stagedBytes() of shared memory and are read slice by slice along K.
int64_t stagedBytes(const DotCase &dot);
void emitStagedFma(Emitter &e, const DotCase &dot, int64_t scratch);

} // namespace tessera::codegen::gpu
