// tools/lsp/Analysis.h - diagnostics and types of a kernel file that is being
// edited.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Program.h"
#include "language/Request.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tools::lsp {

// Compiles a request in a worker. Throws Error on failure.
using Compile =
    std::function<language::CompileResult(const language::CompileRequest &)>;

struct Finding {
  enum class Severity { Error = 1, Warning = 2, Information = 3, Hint = 4 };
  Severity severity = Severity::Error;
  std::string path; // of its file
  SourceRange range;
  std::string id;
  std::string message; // with the hint on a separate line
};

struct KnownValue {
  SourceRange range;
  std::vector<std::string> values; // "fp32[16, 64]"
  std::string definedIn;           // of a function of a kernel file
  SourceRange defined;             // position of its name there
};

struct Analysis {
  std::vector<Finding> findings;
  // By path; also of files that the kernel imports.
  std::map<std::string, std::vector<KnownValue>> values;
};

struct AnalysisOptions {
  bool allInstances = false; // else only the first of each kernel
  std::string target;        // "sm_80"; empty: this machine
  std::string instance;      // only this one, if the file has it
};

// Parses the text and infers types for the instances of its kernels. `reader`
// provides imported files. Errors are in the findings; never throws.
Analysis analyze(const std::string &path, const std::string &text,
                 const AnalysisOptions &options,
                 const language::FileReader &reader, const Compile &compile);

// Returns the value with the smallest range around a position (columns in bytes
// from 1), or null.
const KnownValue *valueAt(const Analysis &analysis, const std::string &path,
                          uint32_t line, uint32_t column);

} // namespace tessera::tools::lsp
