// tools/compile/Jobs.h - which kernels of a file a command line asks for.
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

// --kernel, --instance, --signature, --define, --num-warps, --num-stages,
// --no-hints, --set.
void addJobOptions(CLI::App &verb, JobOptions &options);

// A request and the name that its files get.
struct Job {
  std::string name;
  language::CompileRequest request;
};

// One for each instance that is asked for, or for the kernel with the types of
// its signature; of a pattern that selects blocks see SelectedJobs.h. Throws
// Error for what there is not, or is missing.
std::vector<Job> makeJobs(const JobOptions &options,
                          const language::Program &program);

// The jit functions of the file, described.
std::vector<language::KernelInfo> describeAll(const language::Program &program);

// Without blanks at its ends.
std::string trimmed(std::string_view text);
// The parts that are not empty, trimmed.
std::vector<std::string> split(const std::string &text, char separator);
// Of "NAME=value"; Error naming `what`.
std::pair<std::string, std::string> nameAndValue(const std::string &text,
                                                 const std::string &what);

} // namespace tessera::tools
