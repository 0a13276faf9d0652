// runtime/compile/Stages.h - dumps the stages of a compilation (TESSERA_DUMP)
// and reads edited stages back (TESSERA_OVERRIDE).
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

// Returns the stages of a dump, in the order of the pipeline, without a GPU
// kernel's PTX: every artifact contains it.
std::vector<std::string> dumpStageNames(const std::string &target);

// Returns the folder of a specialization inside a dump: "window_fwd-1f2e3d4c".
std::string dumpFolderName(const language::CompileRequest &request);

// Writes FOLDER/<kernel>-<key>/<NN>-<stage>.<ending>: 00-request.json (for
// `tessera compile --request`), the stages, and a report with their hashes.
// What cannot be written is a warning.
void dumpStages(const std::filesystem::path &folder,
                const language::CompileRequest &request,
                const CompiledKernel &kernel);

// Returns the edited stages of FOLDER/<kernel>-<key>/, else of
// FOLDER/<kernel>/: the files whose hashes differ from the dump's report.
// Without a report, every stage counts as edited. Throws Error if FOLDER is
// missing or contains an edited stage that cannot be read back.
std::vector<language::StageOverride>
readOverrides(const std::filesystem::path &folder,
              const language::CompileRequest &request);

} // namespace tessera::runtime
