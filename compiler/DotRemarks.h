// compiler/DotRemarks.h - the dots that miss the tensor cores, and why.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/Lower.h"

#include "mlir/IR/Location.h"

#include <string>
#include <vector>

namespace tessera::compiler {

struct DotRemark {
  mlir::Location location;
  std::string message, hint;
};

/// One for every dot of `module`, whose tensors have layouts, that fused
/// multiply-adds compute although the target has tensor cores; those of one
/// place that say the same are one.
std::vector<DotRemark> dotRemarks(mlir::ModuleOp module,
                                  const codegen::GpuOptions &options);

} // namespace tessera::compiler
