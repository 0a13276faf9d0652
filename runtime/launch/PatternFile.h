// runtime/launch/PatternFile.h - finds files of attention patterns and tells
// what they declare.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Program.h"
#include "language/Value.h"
#include "language/pattern/Selection.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

using language::ListScope;
using language::Scorer;
using language::Streams;
using PatternSelection = language::Selection;

struct PatternFile {
  struct Parameter {
    std::string name;
    language::Value defaultValue; // Int, double, bool or std::string
  };

  std::string path; // as found
  std::string text;
  // The name of the forward kernel: the file's name without its ending.
  std::string name;
  std::vector<Parameter> parameters; // in the order of the file
  // Names of the learned tensors as the kernels take them, the sink first:
  // {"SINK", "SLOPE"}.
  std::vector<std::string> learned;
  std::vector<std::string> perSequence; // {"PREFIX"}
  // The directive select(...), whose integers are among the parameters.
  std::optional<PatternSelection> selection;
  // True if a model can decode from a key/value cache: the file has a decoding
  // kernel (files of earlier versions may lack it) or a selection.
  bool decodes = false;
  // False if no query attends to a later key, as far as `sees` shows.
  bool attendsToLaterKeys = false;
  // The file with its kernels.
  std::shared_ptr<const language::Program> program;

  const Parameter *find(const std::string &parameter) const;
};

// Returns whether the file has a directive of a pattern. Throws Error if the
// file does not exist.
bool isPatternFile(const std::string &file);

// Reads a pattern once a process. Throws ArgumentError, with the path of the
// nearest pattern of the library, if the file does not exist, Error if it is
// not a pattern, and CompileError if it has errors.
std::shared_ptr<const PatternFile> readPatternFile(const std::string &file);

// Checks the values of `parameters`: "window=8, cap=30.0". A text is a word
// without quotation marks. Throws ArgumentError for a name that the pattern
// does not have or that occurs twice, for a value of another type than the
// default, and, with the place in the file, for a value with which the
// functions of the pattern do not have a result
// (language/pattern/ParameterValues.h).
void checkParameters(const PatternFile &pattern, const std::string &parameters);

// Returns the directive select(...) of a pattern with the values of
// `parameters`: "top=8, block=32". Returns nullopt if the pattern does not have
// the directive. Throws Error for a name that the pattern does not have, and
// for a value that the directive does not take.
std::optional<PatternSelection>
selectionOfPattern(const std::string &file, const std::string &parameters);

// Returns the values of `parameters` that the file's functions take, for the
// launch of a derived kernel: "cap=30.0". Throws Error for a value of another
// type than the default.
std::string constantsOfPattern(const std::string &file,
                               const std::string &parameters);

// True if findKernelFile() finds a file of that path.
bool isKernelFile(const std::string &file);

// Returns the names of the patterns in kernels/patterns, sorted.
std::vector<std::string> libraryPatterns();

} // namespace tessera::runtime
