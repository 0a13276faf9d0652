// replay/KernelText.cpp - extracts the kernel from a recorded Python module.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/KernelText.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <vector>

namespace tessera::cases {

namespace {

// A top-level statement with its decorators and its block.
struct Part {
  enum class Kind { Import, Constant, Jit, Other };
  Kind kind = Kind::Other;
  std::string text;
  std::set<std::string, std::less<>> names; // names that it defines
  bool kept = false;
};

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

std::string_view wordAt(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && isWord(text[end]))
    ++end;
  return text.substr(at, end - at);
}

std::set<std::string, std::less<>> wordsOf(std::string_view text) {
  std::set<std::string, std::less<>> words;
  for (size_t i = 0; i < text.size();) {
    const std::string_view word = wordAt(text, i);
    if (!word.empty())
      words.emplace(word);
    i += std::max<size_t>(1, word.size());
  }
  return words;
}

// Tracks strings, comments and brackets across lines.
class LineState {
public:
  bool open() const { return depth > 0 || !quote.empty() || continued; }
  void line(std::string_view text) {
    continued = false;
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (!quote.empty()) {
        if (c == '\\')
          ++i;
        else if (text.substr(i).starts_with(quote)) {
          i += quote.size() - 1;
          quote.clear();
        }
        continue;
      }
      if (c == '#')
        break;
      if (c == '"' || c == '\'') {
        const std::string triple(3, c);
        quote = text.substr(i).starts_with(triple) ? triple : std::string(1, c);
        i += quote.size() - 1;
      } else if (c == '(' || c == '[' || c == '{') {
        ++depth;
      } else if (c == ')' || c == ']' || c == '}') {
        depth = std::max(0, depth - 1);
      } else if (c == '\\' && i + 1 == text.size()) {
        continued = true;
      }
    }
    // A string in single quotes ends at the end of its line.
    if (quote.size() == 1)
      quote.clear();
  }

private:
  int depth = 0;
  bool continued = false;
  std::string quote;
};

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

bool isImport(std::string_view text) {
  return text.starts_with("import ") || text.starts_with("from ");
}

// Splits a file into statements. Top-level comments belong to the next
// statement, because a kernel's hints precede its decorators. Comments inside
// of a block belong to the block.
std::vector<Part> split(std::string_view text) {
  std::vector<Part> parts;
  LineState state;
  bool decorators = false;
  std::string comments; // and empty lines after them
  for (std::string_view line : linesOf(text)) {
    std::string_view bare = line;
    while (!bare.empty() && (bare.back() == '\n' || bare.back() == '\r'))
      bare.remove_suffix(1);
    const char first = bare.empty() ? ' ' : bare[0];
    const bool comment = !state.open() && first == '#' && !decorators;
    if (comment || (bare.empty() && !comments.empty())) {
      comments += line;
      continue;
    }
    // A closing bracket may be the first character of a line.
    const bool begins = !state.open() && first != ' ' && first != '\t' &&
                        first != '#' && first != ')' && first != ']' &&
                        first != '}';
    if (parts.empty() || (begins && !decorators))
      parts.emplace_back();
    if (begins)
      decorators = first == '@';
    parts.back().text += comments;
    // The file's header comment does not belong to the first import.
    if (!comments.empty() && isImport(line))
      parts.emplace_back();
    comments.clear();
    parts.back().text += line;
    state.line(bare);
  }
  if (parts.empty())
    parts.emplace_back();
  parts.back().text += comments;
  return parts;
}

// Returns the text from the first line that is neither empty nor a comment.
std::string_view withoutComments(std::string_view text) {
  while (!text.empty() &&
         (text[0] == '#' || text[0] == '\n' || text[0] == '\r'))
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text;
}

bool isJitDecorator(std::string_view line) {
  line.remove_prefix(1);
  const size_t end = line.find_first_of("( \t\r\n#");
  const std::string_view head = line.substr(0, end);
  return head == "jit" || head.ends_with(".jit");
}

// Returns as many newlines as the text has.
std::string blank(std::string_view text) {
  return std::string(size_t(std::count(text.begin(), text.end(), '\n')), '\n');
}

// Sets kind and names. Removes a jit function's other decorators.
void classify(Part &part) {
  const std::string_view whole = part.text, text = withoutComments(whole);
  if (isImport(text)) {
    part.kind = Part::Kind::Import;
    return;
  }
  if (text.starts_with("@")) {
    std::string kept;
    LineState state;
    bool jit = false, dropping = false;
    bool inside = false; // the def has begun
    for (std::string_view line : linesOf(whole)) {
      if (!inside && !state.open()) {
        dropping = line.starts_with("@") && !isJitDecorator(line);
        jit |= line.starts_with("@") && isJitDecorator(line);
        if (line.starts_with("def ")) {
          inside = true;
          part.names.emplace(wordAt(line, 4));
        }
      }
      kept += dropping && !inside ? blank(line) : std::string(line);
      state.line(line.substr(0, line.find_last_not_of("\r\n") + 1));
    }
    if (jit && !part.names.empty()) {
      part.kind = Part::Kind::Jit;
      part.text = kept;
    }
    return;
  }
  // A NamedTuple class is a value that helpers use.
  if (text.starts_with("class ") &&
      text.substr(0, text.find('\n')).find("(NamedTuple)") !=
          std::string_view::npos) {
    part.kind = Part::Kind::Constant;
    part.names.emplace(wordAt(text, 6));
    return;
  }
  static const std::set<std::string, std::less<>> statements = {
      "class", "def",    "if",      "for",   "while", "try", "with",  "else",
      "elif",  "except", "finally", "async", "match", "del", "assert"};
  if (statements.contains(wordAt(text, 0)))
    return;
  // Matches NAME = value, NAME: type = value, A, B = values, also several per
  // line.
  std::string_view line = text.substr(0, text.find('\n'));
  while (!line.empty()) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0 ||
        line.substr(equals).starts_with("=="))
      break;
    const std::string_view target = line.substr(0, line.find(':'));
    const std::string_view left =
        target.size() < equals ? target : line.substr(0, equals);
    if (left.find_first_of("([.+-*/\"'") != std::string_view::npos)
      break;
    part.names.merge(wordsOf(left));
    const size_t next = line.find(';', equals);
    line = next == std::string_view::npos ? std::string_view()
                                          : line.substr(next + 1);
  }
  if (!part.names.empty())
    part.kind = Part::Kind::Constant;
}

// Returns the statements of a file, the names that they define, and which
// imports remain.
std::vector<Part> partsOf(std::string_view text) {
  std::vector<Part> parts = split(text);
  for (Part &part : parts)
    classify(part);
  // If several functions have one name, Python keeps the last.
  std::set<std::string, std::less<>> defined;
  for (size_t i = parts.size(); i-- > 0;)
    if (parts[i].kind == Part::Kind::Jit &&
        !defined.insert(*parts[i].names.begin()).second)
      parts[i].names.clear();
  static const std::set<std::string, std::less<>> libraries = {
      "triton", "math", "torch", "typing", "__future__"};
  for (Part &part : parts)
    if (part.kind == Part::Kind::Import)
      part.kept =
          libraries.contains(wordAt(part.text, part.text.find(' ') + 1));
  return parts;
}

bool isKeptClass(const Part &part) {
  return part.kept && withoutComments(part.text).starts_with("class ");
}

// Makes Python not evaluate annotations, which may name classes that are
// defined later. Keeps the number of lines.
void postponeAnnotations(std::string &text) {
  const std::string import = "from __future__ import annotations";
  if (text.empty() || text[0] == '#' || text[0] == '\n')
    text.replace(0, std::min(text.find('\n'), text.size()), import);
  else if (isImport(text))
    text.insert(0, import + "; ");
}

// Appends the required statements of a file from which the kernel imports.
void addHelpers(std::string &text, const std::vector<Part> &file,
                const std::string &name) {
  size_t line = 1;
  for (const Part &part : file) {
    // Removed decorators leave empty lines.
    const size_t begin = part.text.size() - withoutComments(part.text).size();
    const size_t end = part.text.find_last_not_of(" \t\r\n") + 1;
    const std::string own =
        part.text.substr(begin, std::max(begin, end) - begin) + "\n";
    const size_t at =
        line + size_t(std::count(part.text.begin(),
                                 part.text.begin() + long(begin), '\n'));
    line += size_t(std::count(part.text.begin(), part.text.end(), '\n'));
    const bool imported = part.kind == Part::Kind::Import;
    if (!part.kept || own.starts_with("from __future__") ||
        (imported && ("\n" + text).find("\n" + own) != std::string::npos))
      continue;
    if (!text.ends_with('\n'))
      text += '\n';
    text += part.kind == Part::Kind::Jit
                ? "\n\n# " + name + ":" + std::to_string(at) + "\n" + own
                : own;
  }
}

} // namespace

std::string onlyKernel(std::string_view text, const std::string &kernel,
                       const std::vector<std::string> &functions) {
  const std::vector<language::RequestSource> file = {{"", std::string(text)}};
  std::vector<std::pair<std::string, std::string>> named;
  for (const std::string &function : functions)
    named.emplace_back("", function);
  return onlyKernel(file, kernel, named);
}

std::string
onlyKernel(const std::vector<language::RequestSource> &files,
           const std::string &kernel,
           const std::vector<std::pair<std::string, std::string>> &functions) {
  using Names = std::set<std::string, std::less<>>;
  std::vector<std::vector<Part>> parts;
  std::vector<Names> defined(files.size()), needed(files.size());
  for (const language::RequestSource &file : files) {
    parts.push_back(partsOf(file.text));
    for (const Part &part : parts.back())
      defined[parts.size() - 1].insert(part.names.begin(), part.names.end());
  }
  needed.at(0).insert(kernel);
  for (const auto &[path, name] : functions)
    for (size_t i = 0; i < files.size(); ++i)
      if (files[i].path == path)
        needed[i].insert(name);
  // A name refers to a definition of the same file, else of an imported file.
  const auto need = [&](size_t from, const std::string &name) {
    for (size_t file = 0; file < files.size(); ++file)
      if (defined[file].contains(name) &&
          (file == from || !defined[from].contains(name)))
        needed[file].insert(name);
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t file = 0; file < files.size(); ++file)
      for (Part &part : parts[file]) {
        if (part.kept || std::none_of(part.names.begin(), part.names.end(),
                                      [&](const std::string &name) {
                                        return needed[file].contains(name);
                                      }))
          continue;
        part.kept = changed = true;
        for (const std::string &name : wordsOf(part.text))
          need(file, name);
      }
  }
  std::string result;
  for (const Part &part : parts.at(0))
    result += part.kept ? part.text : blank(part.text);
  for (size_t i = 1; i < files.size(); ++i)
    if (std::any_of(parts[i].begin(), parts[i].end(), isKeptClass)) {
      postponeAnnotations(result);
      break;
    }
  for (size_t i = 1; i < files.size(); ++i)
    addHelpers(result, parts[i],
               std::filesystem::path(files[i].path).filename().string());
  return result;
}

} // namespace tessera::cases
