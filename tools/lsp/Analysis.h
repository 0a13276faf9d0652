// tools/lsp/Analysis.h - what the compiler says of a kernel file that is being
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

// Carries out a request (a worker does). Throws Error where it cannot.
using Compile =
    std::function<language::CompileResult(const language::CompileRequest &)>;

struct Finding {
  enum class Severity { Error = 1, Warning = 2, Information = 3, Hint = 4 };
  Severity severity = Severity::Error;
  std::string path; // of the file it lies in
  SourceRange range;
  std::string id;
  std::string message; // with the hint on a line of its own
};

struct KnownValue {
  SourceRange range;
  std::vector<std::string> values; // "fp32[16, 64]"
  std::string definedIn;           // of a function of a kernel file
  SourceRange defined;             // where its name stands there
};

struct Analysis {
  std::vector<Finding> findings;
  // By path; also of files that the kernel imports.
  std::map<std::string, std::vector<KnownValue>> values;
};

struct AnalysisOptions {
  bool allInstances = false; // else the first of each kernel
  std::string target;        // "sm_80"; empty: this machine
  std::string instance;      // only this one, where the file has it
};

// Parses the text and finds types for the instances of its kernels. Files that
// it imports come from `reader`. What is wrong is in the findings; never
// throws.
Analysis analyze(const std::string &path, const std::string &text,
                 const AnalysisOptions &options,
                 const language::FileReader &reader, const Compile &compile);

// The smallest known range around a place, columns in bytes from 1; null: none.
const KnownValue *valueAt(const Analysis &analysis, const std::string &path,
                          uint32_t line, uint32_t column);

} // namespace tessera::tools::lsp
