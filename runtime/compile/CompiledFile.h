// runtime/compile/CompiledFile.h - compiled kernels as they are kept: in the
// cache, in packs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cache/Artifact.h"
#include "runtime/compile/CompileService.h"

#include <memory>
#include <string>

namespace tessera::runtime {

// Converts a compiled kernel to the artifact that is stored. `buildId`
// identifies the compiler.
Artifact toKept(const language::CompileRequest &request,
                const std::string &buildId, const CompiledKernel &kernel);

// Converts a stored artifact back. Returns null if it cannot serve the request:
// a stage is missing, or another version of the runtime wrote it.
std::shared_ptr<const CompiledKernel>
fromKept(Artifact artifact, const language::CompileRequest &request);

} // namespace tessera::runtime
