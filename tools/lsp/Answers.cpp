// tools/lsp/Answers.cpp - answers hover, definition and completion requests for
// a position.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/lsp/Server.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace tessera::tools::lsp {

static bool isWord(char c) { return std::isalnum(uint8_t(c)) || c == '_'; }

// Returns the text of a range within a line, truncated to a readable length.
static std::string textIn(const SourceFile &file, const SourceRange &range) {
  constexpr size_t most = 60;
  const std::string_view line = file.line(range.line);
  const size_t begin = std::min<size_t>(range.column - 1, line.size());
  const size_t end = range.endLine == range.line
                         ? std::min<size_t>(range.endColumn - 1, line.size())
                         : line.size();
  std::string text(line.substr(begin, end > begin ? end - begin : 0));
  if (text.size() <= most && range.endLine == range.line)
    return text;
  size_t cut = std::min(most, text.size());
  while (cut > 0 && cut < text.size() && (uint8_t(text[cut]) & 0xc0) == 0x80)
    --cut;
  return text.substr(0, cut) + " ...";
}

static std::string trimmedLine(std::string_view line) {
  const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  return std::string(line.substr(begin));
}

// Returns the shape in a type: [16, 64] of "*fp32[16, 64]"; empty for a type
// that is not a tile.
static std::vector<int64_t> shapeOf(std::string_view type) {
  std::vector<int64_t> shape;
  const size_t begin = type.find('[');
  if (begin == type.npos || !type.ends_with(']'))
    return {};
  const char *at = type.data() + begin + 1;
  const char *const end = type.data() + type.size() - 1;
  while (at < end) {
    int64_t size = 0;
    const auto [after, error] = std::from_chars(at, end, size);
    if (error != std::errc())
      return {};
    shape.push_back(size);
    at = after + std::string_view(after, end).starts_with(", ") * 2;
    if (at == after && at < end)
      return {};
  }
  return shape;
}

const BuiltinDoc *Server::builtin(const std::string &name) const {
  const auto found =
      std::find_if(builtins.begin(), builtins.end(),
                   [&](const BuiltinDoc &doc) { return doc.name == name; });
  return found == builtins.end() ? nullptr : &*found;
}

std::string Server::describe(const KnownValue &value,
                             const SourceFile &file) const {
  const auto code = [](const std::string &text) {
    return "```python\n" + text + "\n```";
  };
  if (!value.definedIn.empty()) {
    const SourceFile other(value.definedIn, textOf(value.definedIn));
    return code(trimmedLine(other.line(value.defined.line)));
  }
  constexpr std::string_view function = "function ";
  if (!value.values.empty() && value.values[0].starts_with(function)) {
    std::string name = value.values[0].substr(function.size());
    if (name.starts_with("tl."))
      name.erase(0, 3);
    if (const BuiltinDoc *doc = builtin(name))
      return code(doc->signature) + "\n" + doc->meaning;
  }
  std::string text = textIn(file, value.range) + ": ";
  for (size_t i = 0; i < value.values.size(); ++i)
    text += (i ? "  or  " : "") + value.values[i];
  return code(text);
}

Json Server::hover(const Json &params) {
  const Place at = placeOf(params);
  const KnownValue *value =
      valueAt(at.document->analysis, at.path, at.line, at.column);
  if (!value)
    return nullptr;
  std::string text = describe(*value, at.file);
  const std::vector<int64_t> shape = value->values.empty()
                                         ? std::vector<int64_t>()
                                         : shapeOf(value->values[0]);
  if (backend.layouts && !options.target.empty() && !shape.empty())
    if (const std::string layouts =
            backend.layouts(at.path, at.line, shape, options);
        !layouts.empty())
      text += "\n\n" + layouts;
  return {{"contents", {{"kind", "markdown"}, {"value", text}}},
          {"range", rangeJson(at.file, value->range)}};
}

Json Server::definition(const Json &params) {
  const Place at = placeOf(params);
  const KnownValue *value =
      valueAt(at.document->analysis, at.path, at.line, at.column);
  if (!value || value->definedIn.empty())
    return nullptr;
  const SourceFile file(value->definedIn, textOf(value->definedIn));
  SourceRange name = value->defined;
  name.endLine = 0; // to the end of the word
  return {{"uri", uriOfPath(value->definedIn)},
          {"range", rangeJson(file, name)}};
}

// Returns the text before the last dot: "tl.math" of "x = tl.math.ex|". Returns
// nullopt if the cursor does not follow a dot.
static std::optional<std::string> baseBefore(std::string_view line,
                                             size_t end) {
  while (end > 0 && isWord(line[end - 1]))
    --end;
  if (end == 0 || line[end - 1] != '.')
    return std::nullopt;
  size_t begin = --end;
  while (begin > 0 && (isWord(line[begin - 1]) || line[begin - 1] == '.'))
    --begin;
  return std::string(line.substr(begin, end - begin));
}

Json Server::completion(const Json &params) {
  const Place at = placeOf(params);
  const auto base = baseBefore(at.file.line(at.line), at.column - 1);
  Json items = Json::array();
  if (!base)
    return items;
  const bool language = *base == "tl" || *base == "triton.language";
  const bool math = *base == "tl.math" || *base == "tl.extra.libdevice";
  const std::string_view triton = "triton.";
  for (const BuiltinDoc &doc : builtins) {
    const bool ofTriton = doc.name.starts_with(triton);
    const bool fits = language            ? doc.isBuiltin && !ofTriton
                      : math              ? doc.isMath
                      : *base == "triton" ? ofTriton
                                          : doc.isMethod;
    if (!fits)
      continue;
    const bool module = language || math || *base == "triton";
    const std::string name = doc.name.substr(ofTriton ? triton.size() : 0);
    items.push_back({{"label", name},
                     {"kind", module ? 3 : 2},
                     {"detail", doc.signature},
                     {"documentation", doc.meaning}});
  }
  return items;
}

} // namespace tessera::tools::lsp
