// support/Diagnostics.h - diagnostics that point into a kernel file.
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

// Returns the identifier as written in Diagnostics.def.
const char *diagnosticName(DiagnosticId id);
Severity defaultSeverity(DiagnosticId id);

// Name and text of a file, with access by line.
class SourceFile {
public:
  SourceFile(std::string path, std::string text);

  const std::string &path() const { return name; }
  const std::string &text() const { return contents; }
  uint32_t lineCount() const { return uint32_t(lineStarts.size()); }
  // Returns line `number`, counted from 1, without its newline. Returns an
  // empty view if the number is out of range.
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

  // Creates a diagnostic with the severity that Diagnostics.def assigns to
  // `id`.
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
