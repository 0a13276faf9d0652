// compiler/semantics/Semantics.h - from a syntax tree to the tile dialect.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// One kernel, one specialization: the arguments of the request say which
// parameters are compile-time values and what type the others have. The result
// is a module with one func.func named like the kernel, its callees inlined,
// verified but not simplified.
#pragma once

#include "language/Program.h"
#include "language/Request.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tessera::semantics {

class ValueLog;

/// Loads the dialects that buildTileModule emits.
void loadDialects(mlir::MLIRContext &context);

/// Returns the tile module of one specialization of a kernel. On the first
/// error, throws CompileError with one diagnostic. If not null, `notes`
/// receives the output of tl.static_print, and `values` the value of each
/// expression.
mlir::OwningOpRef<mlir::ModuleOp>
buildTileModule(mlir::MLIRContext &context, const language::Program &program,
                const language::CompileRequest &request,
                std::vector<Diagnostic> *notes = nullptr,
                ValueLog *values = nullptr);

} // namespace tessera::semantics
