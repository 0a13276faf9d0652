// compiler/Override.h - edited stages in the place of the compiler's own.
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

// The request's edited text of the stage, or null.
const language::StageOverride *
findOverride(const language::CompileRequest &request, std::string_view stage);

// Replaces the contents of the module by the edited text ("tile" or "loops").
// The functions of the module must still be there with their types. Gives the
// text as a file, for messages of later passes about places in it. Throws
// CompileError with a place in it.
std::shared_ptr<const SourceFile>
replaceStage(mlir::ModuleOp module, const language::StageOverride &edited);

} // namespace tessera::compiler
