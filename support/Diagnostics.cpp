// support/Diagnostics.cpp - rendering of diagnostics.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Diagnostics.h"

#include <algorithm>

namespace tessera {

const char *diagnosticName(DiagnosticId id) {
  switch (id) {
#define DIAG(id, severity)                                                     \
  case DiagnosticId::id:                                                       \
    return #id;
#include "support/Diagnostics.def"
  }
  return "Unknown";
}

Severity defaultSeverity(DiagnosticId id) {
  switch (id) {
#define DIAG(id, severity)                                                     \
  case DiagnosticId::id:                                                       \
    return Severity::severity;
#include "support/Diagnostics.def"
  }
  return Severity::Error;
}

SourceFile::SourceFile(std::string path, std::string text)
    : name(std::move(path)), contents(std::move(text)) {
  lineStarts.push_back(0);
  for (size_t i = 0; i < contents.size(); ++i)
    if (contents[i] == '\n' && i + 1 < contents.size())
      lineStarts.push_back(i + 1);
}

std::string_view SourceFile::line(uint32_t number) const {
  if (number == 0 || number > lineStarts.size())
    return {};
  size_t begin = lineStarts[number - 1];
  size_t end = contents.find('\n', begin);
  if (end == std::string::npos)
    end = contents.size();
  if (end > begin && contents[end - 1] == '\r')
    --end;
  return std::string_view(contents).substr(begin, end - begin);
}

Diagnostic Diagnostic::make(DiagnosticId id,
                            std::shared_ptr<const SourceFile> file,
                            SourceRange range, std::string message,
                            std::string hint) {
  Diagnostic result;
  result.id = id;
  result.severity = defaultSeverity(id);
  result.file = std::move(file);
  result.range = range;
  result.message = std::move(message);
  result.hint = std::move(hint);
  return result;
}

static const char *severityText(Severity severity) {
  switch (severity) {
  case Severity::Note:
    return "note";
  case Severity::Warning:
    return "warning";
  case Severity::Error:
    break;
  }
  return "error";
}

static std::string place(const std::shared_ptr<const SourceFile> &file,
                         const SourceRange &range) {
  std::string text = file ? file->path() : "<unknown>";
  if (range.known())
    text +=
        ":" + std::to_string(range.line) + ":" + std::to_string(range.column);
  return text + ": ";
}

// The source line and a caret line below it.
static std::string excerpt(const std::shared_ptr<const SourceFile> &file,
                           const SourceRange &range) {
  if (!file || !range.known() || range.line > file->lineCount())
    return {};
  std::string_view line = file->line(range.line);
  std::string text = "  " + std::string(line) + "\n  ";
  const size_t column =
      std::min<size_t>(range.column ? range.column - 1 : 0, line.size());
  for (size_t i = 0; i < column; ++i) {
    // Tabs are kept so that the caret stands right whatever their width; the
    // second and later bytes of a UTF-8 character take no room.
    unsigned char c = i < line.size() ? line[i] : ' ';
    if ((c & 0xc0) != 0x80)
      text += c == '\t' ? '\t' : ' ';
  }
  text += '^';
  size_t end = range.endLine == range.line ? range.endColumn : 0;
  if (range.endLine > range.line)
    end = line.size() + 1;
  end = std::min(end, line.size() + 1);
  for (size_t i = column + 1; i + 1 < end; ++i)
    if ((static_cast<unsigned char>(line[i]) & 0xc0) != 0x80)
      text += '~';
  return text + "\n";
}

std::string Diagnostic::render() const {
  std::string text =
      place(file, range) + severityText(severity) + ": " + message;
  text += std::string(" [") + diagnosticName(id) + "]\n";
  text += excerpt(file, range);
  constexpr size_t shown = 4; // at either end
  for (size_t i = 0; i < callers.size(); ++i) {
    if (callers.size() > 2 * shown + 1 && i == shown) {
      const size_t left = callers.size() - 2 * shown;
      text += "... " + std::to_string(left) + " more calls\n";
      i += left;
    }
    const CallSite &caller = callers[i];
    text += place(caller.file, caller.range) + "note: called from `" +
            caller.function + "`\n";
    text += excerpt(caller.file, caller.range);
  }
  if (!hint.empty())
    text += "HINT: " + hint + "\n";
  return text;
}

std::string renderDiagnostics(const std::vector<Diagnostic> &diagnostics) {
  std::string text;
  for (const Diagnostic &diagnostic : diagnostics)
    text += diagnostic.render();
  return text;
}

} // namespace tessera
