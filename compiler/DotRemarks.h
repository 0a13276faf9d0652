// compiler/DotRemarks.h - the dots that miss the tensor cores, and why.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"

#include <string>
#include <vector>

namespace tessera::compiler {

struct DotRemark {
  mlir::Location location;
  std::string message, hint;
};

/// One for every dot of `module` that tessera-dot-instructions has given to
/// fused multiply-adds; those of one place that say the same are one.
std::vector<DotRemark> dotRemarks(mlir::ModuleOp module);

} // namespace tessera::compiler
