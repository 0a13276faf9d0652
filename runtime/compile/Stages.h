// runtime/compile/Stages.h - stages written for people, and read back edited.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tessera::runtime {

struct CompiledKernel;

// The stages that a dump asks for, in the order of the pipeline; a GPU kernel's
// PTX is there anyway.
std::vector<std::string> dumpStageNames(const std::string &target);

// "window_fwd-1f2e3d4c": the folder of a specialization inside a dump.
std::string dumpFolderName(const language::CompileRequest &request);

// Writes FOLDER/<kernel>-<key>/<NN>-<stage>.<ending>: 00-request.json (for
// `tessera compile --request`), the stages, and a report with their hashes.
// What cannot be written is a warning.
void dumpStages(const std::filesystem::path &folder,
                const language::CompileRequest &request,
                const CompiledKernel &kernel);

// The stages of FOLDER/<kernel>-<key>/, else of FOLDER/<kernel>/, that differ
// from what the dump there says it wrote; without a report all of them are
// taken to be edited. Throws Error when FOLDER is missing, or holds an edited
// stage that cannot be read back.
std::vector<language::StageOverride>
readOverrides(const std::filesystem::path &folder,
              const language::CompileRequest &request);

} // namespace tessera::runtime
