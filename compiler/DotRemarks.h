// compiler/DotRemarks.h - remarks on dots that do not use tensor cores.
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

/// Returns a remark for every dot of `module` for which
/// tessera-dot-instructions chose fused multiply-adds. Equal remarks of one
/// location appear once.
std::vector<DotRemark> dotRemarks(mlir::ModuleOp module);

} // namespace tessera::compiler
