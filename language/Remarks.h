// language/Remarks.h - remarks on optimizations that a correct kernel missed.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A remark is a record of severity "remark" in the compilation result, so the
// cache stores it with the artifact. Its file is the last part of the path,
// because cached results do not name folders. Its line refers to the compiled
// text.
#pragma once

#include "language/Request.h"

#include <string>
#include <vector>

namespace tessera::language {

// Id of the remark on a dot that runs as fused multiply-adds
// (compiler/DotRemarks.h).
inline constexpr const char *dotWithoutTensorCores = "DotWithoutTensorCores";

// Adds a remark to the result. `record.file` may be a path with folders.
void addRemark(CompileResult &result, DiagnosticRecord record);

std::vector<DiagnosticRecord> remarksOf(const CompileResult &result);

// "k.py:12:9"
std::string placeOf(const DiagnosticRecord &record);

// "kernels/k.py:12:9: remark: ... [Id]" and "HINT: ..." for each, with the
// paths of the request's files.
std::string renderRemarks(const CompileRequest &request,
                          const std::vector<DiagnosticRecord> &remarks);

} // namespace tessera::language
