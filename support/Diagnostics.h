// support/Diagnostics.h - messages that point into a kernel file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

enum class Severity { Note, Warning, Error };

enum class DiagnosticId {
#define DIAG(id, severity) id,
#include "support/Diagnostics.def"
};

// The identifier as it is written in Diagnostics.def.
const char *diagnosticName(DiagnosticId id);
Severity defaultSeverity(DiagnosticId id);

// A file's name and text, with access by line.
class SourceFile {
public:
  SourceFile(std::string path, std::string text);

  const std::string &path() const { return name; }
  const std::string &text() const { return contents; }
  uint32_t lineCount() const { return uint32_t(lineStarts.size()); }
  // Line `number` counts from 1; without its newline; empty out of range.
  std::string_view line(uint32_t number) const;

private:
  std::string name;
  std::string contents;
  std::vector<size_t> lineStarts;
};

// Lines and columns count from 1 (columns in bytes); 0 means unknown. The end
// is one past the last column.
struct SourceRange {
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t endLine = 0;
  uint32_t endColumn = 0;

  bool known() const { return line != 0; }
  bool operator==(const SourceRange &) const = default;
};

// One step of the chain of calls that led to the place of a diagnostic.
struct CallSite {
  std::string function;
  std::shared_ptr<const SourceFile> file;
  SourceRange range;
};

struct Diagnostic {
  DiagnosticId id = DiagnosticId::SyntaxError;
  Severity severity = Severity::Error;
  std::shared_ptr<const SourceFile> file;
  SourceRange range;
  std::string message;
  std::string hint;
  std::vector<CallSite> callers; // innermost first

  // With the severity that Diagnostics.def gives the id.
  static Diagnostic make(DiagnosticId id,
                         std::shared_ptr<const SourceFile> file,
                         SourceRange range, std::string message,
                         std::string hint = {});

  //   file:line:col: error: what [Id]
  //     source line
  //         ^~~~
  //   file:line:col: note: called from `f`
  //   HINT: what to do
  std::string render() const;
};

std::string renderDiagnostics(const std::vector<Diagnostic> &diagnostics);

} // namespace tessera
