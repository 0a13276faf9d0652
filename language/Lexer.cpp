// language/Lexer.cpp - splits text into tokens.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Lexer.h"

#include "language/FormatScan.h"
#include "support/Text.h"

#include <algorithm>
#include <array>

namespace tessera::language {

static constexpr std::array<std::string_view, 35> keywords = {
    "False",  "None",   "True",    "and",      "as",       "assert", "async",
    "await",  "break",  "class",   "continue", "def",      "del",    "elif",
    "else",   "except", "finally", "for",      "from",     "global", "if",
    "import", "in",     "is",      "lambda",   "nonlocal", "not",    "or",
    "pass",   "raise",  "return",  "try",      "while",    "with",   "yield"};

bool isKeyword(std::string_view word) {
  return std::binary_search(keywords.begin(), keywords.end(), word);
}

namespace {

// Ordered by length, longest first.
constexpr std::string_view operators[] = {
    "**=", "//=", ">>=", "<<=", "...", "**", "//", ">>", "<<", "<=", ">=", "==",
    "!=",  "->",  ":=",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "@=",
    "+",   "-",   "*",   "/",   "%",   "@",  "&",  "|",  "^",  "~",  "<",  ">",
    "(",   ")",   "[",   "]",   "{",   "}",  ",",  ":",  ".",  ";",  "="};

bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool isNamePart(char c) { return isNameStart(c) || isDigit(c); }

class Lexer {
public:
  explicit Lexer(std::shared_ptr<const SourceFile> file)
      : file(std::move(file)), text(this->file->text()) {}

  TokenList run() {
    if (checkText()) {
      if (text.substr(0, 3) == "\xef\xbb\xbf")
        pos = 3;
      while (pos < text.size())
        lexLine();
      closeBrackets();
      if (!list.tokens.empty() &&
          list.tokens.back().kind != TokenKind::Newline &&
          list.tokens.back().kind != TokenKind::Dedent)
        push(TokenKind::Newline, pos, 0);
      while (indents.size() > 1) {
        indents.pop_back();
        push(TokenKind::Dedent, pos, 0);
      }
    }
    push(TokenKind::End, pos, 0);
    return std::move(list);
  }

private:
  struct Indent {
    size_t column, alternate; // tabs to multiples of 8, and tabs as 1
  };
  struct Bracket {
    char open;
    SourceRange range;
  };

  char peek(size_t ahead = 0) const {
    return pos + ahead < text.size() ? text[pos + ahead] : '\0';
  }

  SourceRange rangeAt(size_t offset, size_t length) const {
    SourceRange range;
    range.line = range.endLine = line;
    range.column = uint32_t(offset - lineStart + 1);
    range.endColumn = uint32_t(range.column + length);
    return range;
  }

  void report(DiagnosticId id, SourceRange range, std::string message,
              std::string hint) {
    list.diagnostics.push_back(
        Diagnostic::make(id, file, range, std::move(message), std::move(hint)));
  }

  // Returns false, after a report, if the file is too large or is not valid
  // text.
  bool checkText() {
    size_t bad = std::string_view::npos;
    std::string message, hint;
    DiagnosticId id = DiagnosticId::InvalidText;
    if (text.size() > maxFileBytes) {
      report(DiagnosticId::TooComplex, {}, "the file is larger than 1 MiB",
             "split it: a kernel file holds one kernel and its helpers");
      return false;
    }
    if ((bad = text.find('\0')) != std::string_view::npos) {
      message = "a NUL byte";
      hint = "is this a text file? remove the byte";
    } else if ((bad = findInvalidUtf8(text)) != std::string_view::npos) {
      message = "bytes that are not UTF-8";
      hint = "save the file as UTF-8";
    } else if (text.starts_with("\xEF\xBB\xBF")) {
      bad = 0;
      message = "a byte order mark at the start of the file";
      hint = "save the file as UTF-8 without a byte order mark";
    } else {
      return true;
    }
    skipTo(bad);
    report(id, rangeAt(bad, 1), message, hint);
    return false;
  }

  Token &push(TokenKind kind, size_t offset, size_t length) {
    Token token;
    token.kind = kind;
    token.text = text.substr(std::min(offset, text.size()), length);
    token.range = rangeAt(offset, length);
    list.tokens.push_back(token);
    return list.tokens.back();
  }

  // Advances to `offset` without adding tokens.
  void skipTo(size_t offset) {
    for (; pos < offset; ++pos)
      if (text[pos] == '\n') {
        ++line;
        lineStart = pos + 1;
      }
  }

  void newLine() { // pos is at '\n'
    ++pos;
    ++line;
    lineStart = pos;
  }

  bool atLineEnd() const {
    return pos >= text.size() || text[pos] == '\n' ||
           (text[pos] == '\r' && peek(1) == '\n');
  }

  void skipLineEnd() {
    if (peek() == '\r')
      ++pos;
    if (peek() == '\n')
      newLine();
  }

  // Reads one logical line with its indentation.
  void lexLine() {
    Indent indent{0, 0};
    size_t start = pos;
    for (;; ++pos) {
      if (peek() == ' ') {
        ++indent.column;
        ++indent.alternate;
      } else if (peek() == '\t') {
        indent.column = (indent.column / 8 + 1) * 8;
        ++indent.alternate;
      } else if (peek() == '\f') {
        indent = {0, 0};
      } else {
        break;
      }
    }
    if (peek() == '#')
      comment(pos == lineStart);
    if (atLineEnd()) {
      skipLineEnd();
      return;
    }
    indentation(indent, start);
    lexTokens();
  }

  void indentation(Indent indent, size_t start) {
    const Indent top = indents.back();
    if ((indent.column > top.column) != (indent.alternate > top.alternate) ||
        (indent.column < top.column) != (indent.alternate < top.alternate)) {
      report(DiagnosticId::InvalidIndentation, rangeAt(start, pos - start),
             "tabs and spaces are mixed in the indentation",
             "indent with spaces only");
      indent.alternate = indent.column; // uses the wider one
    }
    if (indent.column > top.column) {
      if (indents.size() > maxIndentation) {
        tooDeep("blocks are nested too deeply",
                "move the inner part into a helper");
        return;
      }
      indents.push_back(indent);
      push(TokenKind::Indent, start, pos - start);
      return;
    }
    while (indent.column < indents.back().column) {
      indents.pop_back();
      push(TokenKind::Dedent, pos, 0);
    }
    if (indent.column != indents.back().column) {
      report(DiagnosticId::InvalidIndentation, rangeAt(start, pos - start),
             "the indentation matches no outer block",
             "line it up with the block it belongs to");
      // Continues as if the line belonged to the enclosing block.
      if (indents.size() == 1)
        indents.back() = {0, 0};
    }
  }

  // Skips the rest of the file, which could not be read correctly.
  void tooDeep(std::string message, std::string hint) {
    report(DiagnosticId::TooComplex, rangeAt(pos, 1), std::move(message),
           std::move(hint));
    push(TokenKind::Invalid, pos, 0);
    brackets.clear();
    // In a placeholder of an f-string, `text` ends with the placeholder.
    text = file->text();
    skipTo(text.size());
    gaveUp = true;
  }

  void comment(bool ownLine) {
    size_t start = pos;
    while (!atLineEnd())
      ++pos;
    std::string_view body = text.substr(start + 1, pos - start - 1);
    size_t skip = body.find_first_not_of(" \t");
    constexpr std::string_view marker = "tessera:";
    if (skip == std::string_view::npos ||
        body.substr(skip, marker.size()) != marker)
      return;
    if (!ownLine) {
      report(DiagnosticId::InvalidHint, rangeAt(start, pos - start),
             "a hint must start its line",
             "write it on a line of its own above the function, not indented");
      return;
    }
    size_t textStart = start + 1 + skip + marker.size();
    while (textStart < pos &&
           (text[textStart] == ' ' || text[textStart] == '\t'))
      ++textStart;
    HintComment hint;
    hint.text = std::string(text.substr(textStart, pos - textStart));
    while (!hint.text.empty() &&
           (hint.text.back() == ' ' || hint.text.back() == '\t'))
      hint.text.pop_back();
    hint.range = rangeAt(textStart, hint.text.size());
    list.hints.push_back(std::move(hint));
  }

  // Reads the tokens up to the end of the logical line.
  void lexTokens() {
    while (pos < text.size()) {
      char c = peek();
      if (c == ' ' || c == '\t' || c == '\f') {
        ++pos;
      } else if (c == '#') {
        comment(false);
      } else if (atLineEnd()) {
        if (!lineEnds())
          continue;
        return;
      } else if (c == '\\' &&
                 (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
        ++pos;
        skipLineEnd();
      } else {
        token();
      }
    }
  }

  // Handles the end of a physical line. Returns true if the logical line ends
  // here, too.
  bool lineEnds() {
    if (brackets.empty()) {
      push(TokenKind::Newline, pos, 0);
      skipLineEnd();
      return true;
    }
    skipLineEnd();
    // A definition or import at the start of a line shows that a bracket above
    // is not closed. Reading continues here to find further errors.
    for (std::string_view word : {"def ", "import ", "from ", "@"})
      if (text.substr(pos, word.size()) == word) {
        closeBrackets();
        push(TokenKind::Newline, pos, 0);
        return true;
      }
    return false;
  }

  static char closing(char open) {
    return open == '(' ? ')' : open == '[' ? ']' : '}';
  }

  void closeBrackets() {
    if (brackets.empty())
      return;
    const Bracket &bracket = brackets.back();
    // An unclosed string contains the closing bracket.
    const bool swallowed =
        std::any_of(list.diagnostics.begin(), list.diagnostics.end(),
                    [&](const Diagnostic &diagnostic) {
                      return diagnostic.id == DiagnosticId::InvalidString &&
                             diagnostic.range.line >= bracket.range.line;
                    });
    if (!swallowed)
      report(DiagnosticId::UnclosedBracket, bracket.range,
             std::string("`") + bracket.open + "` is never closed",
             std::string("add the closing `") + closing(bracket.open) + "`");
    brackets.clear();
    push(TokenKind::Invalid, pos, 0);
  }

  void token() {
    char c = peek();
    size_t start = pos;
    if (isNameStart(c)) {
      while (isNamePart(peek()))
        ++pos;
      size_t length = pos - start;
      if ((peek() == '"' || peek() == '\'') &&
          isStringPrefix(text.substr(start, length))) {
        pos = start;
        return string(length);
      }
      if (static_cast<unsigned char>(peek()) >= 0x80)
        return strangeCharacter(start);
      std::string_view word = text.substr(start, length);
      push(isKeyword(word) ? TokenKind::Keyword : TokenKind::Name, start,
           length);
      return;
    }
    if (isDigit(c) || (c == '.' && isDigit(peek(1))))
      return number();
    if (c == '"' || c == '\'')
      return string(0);
    for (std::string_view op : operators)
      if (text.substr(pos, op.size()) == op) {
        pos += op.size();
        return operatorToken(start, op);
      }
    strangeCharacter(start);
  }

  void operatorToken(size_t start, std::string_view op) {
    char c = op[0];
    if (op.size() == 1 && (c == '(' || c == '[' || c == '{')) {
      if (brackets.size() >= maxBrackets)
        return tooDeep("brackets are nested too deeply",
                       "give parts of the expression names");
      brackets.push_back({c, rangeAt(start, 1)});
    } else if (op.size() == 1 && (c == ')' || c == ']' || c == '}')) {
      char open = c == ')' ? '(' : c == ']' ? '[' : '{';
      if (brackets.empty() || brackets.back().open != open) {
        report(DiagnosticId::UnclosedBracket, rangeAt(start, 1),
               std::string("`") + c +
                   (brackets.empty() ? std::string("` closes nothing")
                                     : std::string("` does not close `") +
                                           brackets.back().open + "`"),
               brackets.empty()
                   ? "remove it, or add the opening bracket"
                   : std::string("write `") + closing(brackets.back().open) +
                         "`: the open bracket is in line " +
                         std::to_string(brackets.back().range.line));
        if (!brackets.empty())
          brackets.pop_back();
        push(TokenKind::Invalid, start, 1);
        return;
      }
      brackets.pop_back();
    }
    push(TokenKind::Operator, start, op.size());
  }

  void literal(TokenKind kind, const LiteralResult &result) {
    size_t start = pos;
    SourceRange range = rangeAt(start, result.length);
    for (size_t i = start; i < start + result.length; ++i)
      if (text[i] == '\n') {
        ++line;
        lineStart = i + 1;
      }
    pos = start + result.length;
    range.endLine = line;
    range.endColumn = uint32_t(pos - lineStart + 1);
    if (!result.error.empty()) {
      SourceRange place = range;
      if (result.errorOffset && place.line == place.endLine) {
        place.column += uint32_t(result.errorOffset);
        place.endColumn = place.column + 1;
      }
      if (result.foreign)
        return foreign(start, result.length, range,
                       Diagnostic::make(result.id, file, place, result.error,
                                        result.hint));
      report(result.id, place, result.error, result.hint);
      kind = TokenKind::Invalid;
    }
    Token token;
    token.kind = kind;
    token.text = text.substr(start, result.length);
    token.range = range;
    token.value = uint32_t(list.values.size());
    list.values.push_back(result.value);
    list.tokens.push_back(token);
  }

  // Marks Python syntax that kernels do not support; reported only if a kernel
  // needs it.
  void foreign(size_t start, size_t length, const SourceRange &range,
               Diagnostic diagnostic) {
    Token &token = push(TokenKind::Foreign, start, length);
    token.range = range;
    token.value = uint32_t(list.foreign.size());
    list.foreign.push_back(std::move(diagnostic));
  }

  void number() { literal(TokenKind::Number, readNumber(text.substr(pos))); }

  void string(size_t prefix) {
    LiteralResult result = readString(text.substr(pos), prefix);
    const std::string_view letters = text.substr(pos, prefix);
    const bool isTemplate = letters.find_first_of("tT") != letters.npos;
    const size_t length = result.formatted || isTemplate
                              ? formattedLength(text.substr(pos), prefix)
                              : 0;
    if (isTemplate && length)
      result.length = length;
    if (result.formatted && !isTemplate && (length || result.error.empty()))
      formatted(prefix, length ? length : result.length);
    else
      literal(TokenKind::String, result);
  }

  // Reads an f-string of `length` bytes, including its quotes and prefix.
  void formatted(size_t prefix, size_t length) {
    std::string quote(1, text[pos + prefix]), raw;
    if (text.substr(pos + prefix, 3) == std::string(3, quote[0]))
      quote = std::string(3, quote[0]);
    for (char c : text.substr(pos, prefix))
      raw += (c | 0x20) == 'r' ? "r" : "";
    size_t end = pos + length - quote.size();
    push(TokenKind::FormatOpen, pos, prefix + quote.size());
    pos += prefix + quote.size();
    std::string piece;
    auto flush = [&] {
      LiteralResult part;
      if (raw.empty())
        part = readString("'''" + piece + "'''", 0);
      else
        part.value = Value(piece);
      piece.clear();
      if (!part.error.empty() && part.foreign)
        return foreign(pos, 0, rangeAt(pos, 0),
                       Diagnostic::make(part.id, file, rangeAt(pos, 1),
                                        part.error, part.hint));
      Token &token = push(TokenKind::String, pos, 0);
      token.value = uint32_t(list.values.size());
      list.values.push_back(part.value);
      if (part.error.empty())
        return;
      token.kind = TokenKind::Invalid;
      report(part.id, token.range, part.error, part.hint);
    };
    while (pos < end) {
      char c = peek();
      bool brace = c == '{' || c == '}';
      if (brace && (pos + 1 >= end || peek(1) != c)) {
        flush();
        if (c == '{' && placeholder(end))
          continue;
        if (gaveUp)
          return;
        report(DiagnosticId::InvalidString, rangeAt(pos, 1),
               "a single brace in an f-string",
               "write {expression}, or {{ and }} for braces");
        push(TokenKind::Invalid, pos, 0);
        break;
      }
      if (raw.empty() && (c == '"' || c == '\''))
        piece += '\\'; // does not end the string
      if (c == '\n' && piece.ends_with('\r'))
        piece.pop_back(); // Python sees \n
      piece += c;
      if (c == '\n') {
        newLine();
        continue;
      }
      pos += brace ? 2 : 1;
      if (c != '\\' || pos >= end || peek() == '\n')
        continue;
      if (peek() == '{' || peek() == '}') { // the backslash itself
        piece += raw.empty() ? "\\" : "";
        continue;
      }
      if (raw.empty() && peek() == 'N' && peek(1) == '{')
        while (pos < end && peek() != '}' && peek() != '\n')
          piece += text[pos++];
      if (pos < end && peek() != '\n')
        piece += text[pos++];
    }
    flush();
    while (pos < end)
      if (text[pos] == '\n')
        newLine();
      else
        ++pos;
    push(TokenKind::FormatClose, end, quote.size());
    pos = end + quote.size();
  }

  // Reads a {expression} of an f-string that ends at `end`. Returns false if it
  // is not closed.
  bool placeholder(size_t end) {
    const FormatField field = scanField(text.substr(0, end), pos);
    if (!field.close)
      return false;
    operatorToken(pos, "{");
    if (gaveUp)
      return false;
    ++pos;
    std::string_view whole = text;
    text = text.substr(0, field.expressionEnd);
    size_t open = brackets.size();
    lexTokens();
    text = whole;
    if (gaveUp)
      return false;
    // The tokens may end earlier, at a bracket that is not closed.
    skipTo(field.expressionEnd);
    if (field.conversion) {
      skipTo(field.conversion);
      push(TokenKind::Operator, field.conversion, 1);
      const size_t name = field.conversion + 1;
      size_t length = 0;
      while (name + length < field.close && isNamePart(text[name + length]))
        ++length;
      if (length)
        push(TokenKind::Name, name, length);
    }
    if (field.format) {
      skipTo(field.format);
      push(TokenKind::Operator, field.format, 1);
    }
    skipTo(field.close);
    if (brackets.size() == open && open)
      operatorToken(pos, "}");
    ++pos;
    return true;
  }

  void strangeCharacter(size_t start) {
    // Takes complete UTF-8 characters and the name that contains them.
    bool ascii = static_cast<unsigned char>(peek()) < 0x80;
    if (ascii)
      ++pos;
    else
      while (static_cast<unsigned char>(peek()) >= 0x80 || isNamePart(peek()))
        ++pos;
    std::string shown(text.substr(start, pos - start));
    unsigned char first = shown[0];
    if (first < 32 || first == 127)
      shown = "byte " + std::to_string(first);
    const SourceRange range = rangeAt(start, pos - start);
    const std::string message = "unexpected character `" + shown + "`";
    if (!ascii) // Python's names may hold it
      return foreign(
          start, pos - start, range,
          Diagnostic::make(DiagnosticId::InvalidText, file, range, message,
                           "names and operators are ASCII; other characters "
                           "belong into comments and strings"));
    report(DiagnosticId::InvalidText, range, message, "remove it");
    push(TokenKind::Invalid, start, pos - start);
  }

  std::shared_ptr<const SourceFile> file;
  std::string_view text;
  size_t pos = 0, lineStart = 0;
  uint32_t line = 1;
  bool gaveUp = false; // pos is the end of the file
  std::vector<Indent> indents = {{0, 0}};
  std::vector<Bracket> brackets;
  TokenList list;
};

} // namespace

TokenList lex(std::shared_ptr<const SourceFile> file) {
  return Lexer(std::move(file)).run();
}

} // namespace tessera::language
