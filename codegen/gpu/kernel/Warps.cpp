// codegen/gpu/kernel/Warps.cpp - the number of warps of a block.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/kernel/Warps.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

#include <cassert>

using namespace mlir;

namespace tessera::codegen::gpu {

GpuOptions withWarpsOf(ModuleOp module, GpuOptions options) {
  if (auto warps = module->getAttrOfType<IntegerAttr>(kNumWarpsAttr))
    options.numWarps = int(warps.getInt());
  assert(options.numWarps >= 1 && "a block has at least one warp");
  return options;
}

} // namespace tessera::codegen::gpu
