// codegen/gpu/kernel/Warps.cpp - how many warps a kernel has work for.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/kernel/Warps.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tessera::codegen::gpu {

GpuOptions withWarpsOf(ModuleOp module, GpuOptions options) {
  if (auto warps = module->getAttrOfType<IntegerAttr>(kNumWarpsAttr))
    options.numWarps = int(warps.getInt());
  return options;
}

} // namespace tessera::codegen::gpu
