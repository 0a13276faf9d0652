// compiler/Override.h - replaces stages of the compiler by edited text.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"
#include "support/Diagnostics.h"

#include <memory>
#include <string_view>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tessera::compiler {

// Returns the request's edited text of the stage, or null.
const language::StageOverride *
findOverride(const language::CompileRequest &request, std::string_view stage);

// Replaces the contents of the module by the edited text ("tile" or "loops").
// The text must contain the functions of the module with their types. Returns
// the text as a file, for locations in messages of later passes. Throws
// CompileError with a location in the text.
std::shared_ptr<const SourceFile>
replaceStage(mlir::ModuleOp module, const language::StageOverride &edited);

} // namespace tessera::compiler
