// language/Remarks.h - what the compiler could not do for a kernel that is
// right all the same.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A remark is a record of severity "remark" in the result, so it is kept with
// the artifact. Its file is the last part of the path: what is cached names no
// folder. The line is that of the text that was compiled.
#pragma once

#include "language/Request.h"

#include <string>
#include <vector>

namespace tessera::language {

// A dot that fused multiply-adds compute (compiler/DotRemarks.h).
inline constexpr const char *dotWithoutTensorCores = "DotWithoutTensorCores";

// `file` may be a whole path.
void addRemark(CompileResult &result, DiagnosticRecord record);

std::vector<DiagnosticRecord> remarksOf(const CompileResult &result);

// "k.py:12:9"
std::string placeOf(const DiagnosticRecord &record);

// "kernels/k.py:12:9: remark: ... [Id]" and "HINT: ..." for each, with the
// paths of the request's files.
std::string renderRemarks(const CompileRequest &request,
                          const std::vector<DiagnosticRecord> &remarks);

} // namespace tessera::language
