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

/// Emits the mma instructions that the op names. The fragments of acc stay in
/// registers (Mma.cpp).
void emitMma(Emitter &e, const DotCase &dot);

/// True if each thread holds the rows of a and the columns of b that it needs,
/// and the dot is small enough to be unrolled. emitFmaInRegisters() then emits
/// fused multiply-adds of registers (Fma.cpp).
bool fitsInRegisters(const DotCase &dot);
void emitFmaInRegisters(Emitter &e, const DotCase &dot);

/// Emits fused multiply-adds of operands in any layouts. The threads store the
/// operands to stagedBytes() bytes of shared memory at the offset `scratch` and
/// load them slice by slice along K.
int64_t stagedBytes(const DotCase &dot);
void emitStagedFma(Emitter &e, const DotCase &dot, int64_t scratch);

} // namespace tessera::codegen::gpu
