// support/Diagnostics.cpp - rendering of diagnostics.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "support/Diagnostics.h"

#include "support/DerivedText.h"

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
  if (file && isDerivedLine(*file, range.line))
    text += " (derived by tessera, see: tessera compile --emit pattern " +
            file->path() + ")";
  if (range.known())
    text +=
        ":" + std::to_string(range.line) + ":" + std::to_string(range.column);
  return text + ": ";
}

static bool continuesCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// Returns the range of a line that is shown: the complete line, or the
// surroundings of the column if the line is long.
static std::pair<size_t, size_t> shownPart(std::string_view line,
                                           size_t column) {
  constexpr size_t longest = 240, width = 160, before = 60;
  if (line.size() <= longest)
    return {0, line.size()};
  size_t from =
      std::min(column - std::min(column, before), line.size() - width);
  size_t to = from + width;
  while (from > 0 && continuesCharacter(line[from]))
    --from;
  while (to < line.size() && continuesCharacter(line[to]))
    ++to;
  return {from, to};
}

// Returns the source line with a caret line below it.
static std::string excerpt(const std::shared_ptr<const SourceFile> &file,
                           const SourceRange &range) {
  if (!file || !range.known() || range.line > file->lineCount())
    return {};
  std::string_view line = file->line(range.line);
  const size_t column =
      std::min<size_t>(range.column ? range.column - 1 : 0, line.size());
  const auto [from, to] = shownPart(line, column);
  const std::string_view cut = "...";
  std::string text = "  ";
  text += from ? cut : "";
  text += line.substr(from, to - from);
  text += to < line.size() ? cut : "";
  text += from ? "\n     " : "\n  ";
  for (size_t i = from; i < column; ++i) {
    // Copies tabs, so that the caret aligns for any tab width. Continuation
    // bytes of a UTF-8 character have no width.
    const char c = i < line.size() ? line[i] : ' ';
    if (!continuesCharacter(c))
      text += c == '\t' ? '\t' : ' ';
  }
  text += '^';
  size_t end = range.endLine == range.line ? range.endColumn : 0;
  if (range.endLine > range.line)
    end = line.size() + 1;
  end = std::min(end, to + 1);
  for (size_t i = column + 1; i + 1 < end; ++i)
    if (!continuesCharacter(line[i]))
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
