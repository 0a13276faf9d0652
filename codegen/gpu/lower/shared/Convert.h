// codegen/gpu/lower/shared/Convert.h - conversions for other operation
// families.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/lower/Emitter.h"
#include "codegen/gpu/lower/shared/Plans.h"

namespace tessera::codegen::gpu {

/// The registers of a tensor in another layout. `scratch`: offset of
/// convertScratchBytes() bytes of shared memory (any where they are 0).
Registers convertRegisters(Emitter &e, const layout::LinearLayout &src,
                           const layout::LinearLayout &dst, mlir::Type element,
                           const Registers &operand, int64_t scratch);
int64_t convertScratchBytes(const layout::LinearLayout &src,
                            const layout::LinearLayout &dst, mlir::Type element,
                            const GpuOptions &options);

} // namespace tessera::codegen::gpu
