// tools/compile/Jobs.h - finds the kernels of a file that a command line names.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Decorators.h"
#include "language/Program.h"
#include "language/Request.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace tessera::tools {

struct JobOptions {
  std::string file, kernel, signature, target;
  std::vector<std::string> instances, defines;
  std::vector<std::string> settings; // of a pattern that selects blocks
  int64_t numWarps = 0, numStages = 0;
  bool noHints = false, wideGrid = false;
};

// Adds --kernel, --instance, --signature, --define, --num-warps, --num-stages,
// --no-hints and --set.
void addJobOptions(CLI::App &verb, JobOptions &options);

// A compile request, and the name of its output files.
struct Job {
  std::string name;
  language::CompileRequest request;
};

// Returns one job for each requested instance, or one for the kernel with the
// types of its signature. For a pattern that selects blocks, see
// SelectedJobs.h. Throws Error if a name does not exist or a value is missing.
std::vector<Job> makeJobs(const JobOptions &options,
                          const language::Program &program);

// Returns descriptions of the file's jit functions.
std::vector<language::KernelInfo> describeAll(const language::Program &program);

// Returns the text without blanks at its ends.
std::string trimmed(std::string_view text);
// Returns the non-empty fields between the separators, trimmed.
std::vector<std::string> split(const std::string &text, char separator);
// Splits "NAME=value". Throws Error, which names `what`, for other texts.
std::pair<std::string, std::string> nameAndValue(const std::string &text,
                                                 const std::string &what);

} // namespace tessera::tools
