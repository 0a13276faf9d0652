// language/ParseHost.cpp - skips Python code around kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/ParserImpl.h"

#include <algorithm>

namespace tessera::language {

// True if a statement of code around kernels starts here: code that prepares
// launches, tests, and so on. Only its imports are read, as in `try: from x
// import y`.
bool Parser::hostStatementStarts() const {
  if (functionDepth || !at(TokenKind::Keyword))
    return false;
  for (std::string_view word :
       {"class", "try", "except", "finally", "with", "async", "if", "elif",
        "else", "for", "while", "assert", "del", "raise", "global", "await",
        "return", "yield"})
    if (at(word))
      return true;
  return false;
}

// True at `match x:` and `type X = ...`, whose first word can also be a name.
bool Parser::softKeywordStarts() const {
  if (functionDepth || !at(TokenKind::Name))
    return false;
  if (peek().text == "type")
    return peek(1).kind == TokenKind::Name;
  if (peek().text != "match")
    return false;
  size_t end = position;
  while (list.tokens[end].kind != TokenKind::Newline &&
         list.tokens[end].kind != TokenKind::End)
    ++end;
  return list.tokens[end - 1].is(":") && end + 1 < list.tokens.size() &&
         list.tokens[end + 1].kind == TokenKind::Indent;
}

// Skips the rest of the logical line and the block that follows it.
void Parser::skipLines() {
  const size_t start = position;
  skippedHostCode = true;
  while (!at(TokenKind::Newline) && !at(TokenKind::End))
    next();
  if (at(TokenKind::Newline))
    next();
  if (at(TokenKind::Indent))
    skipBlock();
  findNestedKernels(start, position);
}

void Parser::skipHostCode(Block &block) {
  const size_t start = position;
  const std::string word(peek().text);
  if (at("class")) {
    if (!parseClass(block, false))
      skipLines();
    return;
  }
  for (std::string_view branch :
       {"if", "elif", "else", "try", "except", "finally", "with"})
    if (at(branch)) {
      skippedHostCode = true;
      return takeHostNames(block, branch);
    }
  skipLines();
  pushUnread(block, start, "`" + word + "` is code around kernels",
             "assign the name once, with its final value");
}

// Keeps the names that skipped code may bind, with the reason, for a kernel
// that uses one of them.
void Parser::pushUnread(Block &block, size_t start, std::string why,
                        std::string hint) {
  auto node = std::make_unique<Skipped>();
  node->names = namesBound(start, position);
  node->why = std::move(why);
  node->hint = std::move(hint);
  node->range = list.tokens[start].range;
  if (!node->names.empty())
    block.push_back(std::move(node));
}

// Skips a statement around kernels that contains unsupported Python.
void Parser::skipUnread(Block &block, size_t start, size_t reported) {
  const Diagnostic reason = list.diagnostics[reported];
  list.diagnostics.erase(list.diagnostics.begin() + ptrdiff_t(reported),
                         list.diagnostics.end());
  position = start;
  skipLines();
  pushUnread(block, start, reason.message, reason.hint);
}

namespace {

// Collects names that statements may bind: before `=`, between `for` and `in`,
// before `:=`, after `as`. It may collect more names than Python binds, but not
// fewer.
class BoundNames {
public:
  void take(const Token &token, const Token *last, const Token &after) {
    if (token.kind == TokenKind::Newline || token.is(";"))
      return endLine();
    if (isFirst)
      header = token.kind == TokenKind::Keyword ? token.text : "";
    isFirst = false;
    if (token.is("(") || token.is("[") || token.is("{"))
      calls.push_back(last && (last->kind == TokenKind::Name || last->is(")") ||
                               last->is("]")));
    else if ((token.is(")") || token.is("]") || token.is("}")) &&
             !calls.empty())
      calls.pop_back();
    else if (token.kind == TokenKind::Name && !(last && last->is(".")))
      takeName(token, last, after);
    else if (calls.empty())
      takeOperator(token);
  }

  void endLine() {
    line.clear();
    isFirst = isTarget = true;
  }

  std::vector<std::string> names;

private:
  void takeName(const Token &token, const Token *last, const Token &after) {
    if (after.is(":=") || (last && last->is("as")))
      names.emplace_back(token.text);
    else if (isTarget && !after.is("(") && !after.is("[") && !after.is(".") &&
             std::find(calls.begin(), calls.end(), true) == calls.end())
      line.emplace_back(token.text);
  }

  void takeOperator(const Token &token) {
    const bool isAssignment = token.kind == TokenKind::Operator &&
                              token.text.ends_with("=") && token.text != "==" &&
                              token.text != "!=" && token.text != "<=" &&
                              token.text != ">=" && token.text != ":=";
    if (isAssignment || (token.is("in") && header == "for"))
      names.insert(names.end(), line.begin(), line.end());
    if (isAssignment || token.is("in") || (token.is(":") && !header.empty()))
      line.clear();
    if (token.is(":")) {
      isTarget = !header.empty(); // otherwise an annotation follows
      header = "";
    }
  }

  std::vector<std::string> line; // targets, if `=` follows
  std::vector<bool> calls;       // per open bracket: true for a call
  std::string_view header;       // the keyword that the line begins with
  bool isFirst = true, isTarget = true;
};

} // namespace

// Returns the token after the line and the block that begin at the token.
size_t Parser::endOfBlock(size_t at) const {
  const auto &tokens = list.tokens;
  while (tokens[at].kind != TokenKind::Newline &&
         tokens[at].kind != TokenKind::End)
    ++at;
  at += tokens[at].kind == TokenKind::Newline;
  size_t open = 0;
  do {
    if (tokens[at].kind == TokenKind::Indent)
      ++open;
    else if (open && tokens[at].kind == TokenKind::Dedent && --open == 0)
      return at + 1;
    at += open ? 1 : 0;
  } while (open && tokens[at].kind != TokenKind::End);
  return at;
}

std::vector<std::string> Parser::namesBound(size_t from, size_t to) const {
  BoundNames bound;
  for (size_t i = from; i < to; ++i) {
    const Token &after = list.tokens[std::min(i + 1, list.tokens.size() - 1)];
    if (list.tokens[i].is("def") || list.tokens[i].is("class")) {
      bound.names.emplace_back(after.text);
      i = endOfBlock(i) - 1; // its body binds local names
      bound.endLine();
    } else {
      bound.take(list.tokens[i], i > from ? &list.tokens[i - 1] : nullptr,
                 after);
    }
  }
  return std::move(bound.names);
}

// Returns the dotted name that begins at the token: "a.b.c".
std::string Parser::dottedName(size_t at) const {
  std::string name;
  for (; list.tokens[at].kind == TokenKind::Name; at += 2) {
    name += list.tokens[at].text;
    if (!list.tokens[at + 1].is("."))
      break;
    name += ".";
  }
  return name;
}

// True if a decorator of this name makes a kernel: triton.jit under any name of
// its import, not the `jit` of other packages.
bool Parser::isTritonJit(std::string_view written, bool nestedInHost) const {
  const std::string_view root = written.substr(0, written.find('.'));
  const auto found = imported.find(root);
  if (found == imported.end())
    return written == "triton.jit" ||
           (!nestedInHost && (written == "jit" ||
                              (!hasStarImport && written.ends_with(".jit"))));
  const std::string path =
      found->second + std::string(written.substr(root.size()));
  if (!path.ends_with(".jit") || path.starts_with("triton.experimental."))
    return false;
  return path.starts_with("triton.") || path.starts_with("tessera.") ||
         path.ends_with(".triton.jit") ||
         (path.starts_with(".") && written == "jit");
}

// Finds kernels inside functions and classes of Python, so that tools can
// report why these cannot be compiled from the file alone.
void Parser::findNestedKernels(size_t from, size_t to) {
  const size_t last = position;
  for (size_t i = from; i + 1 < to; ++i) {
    const TokenKind before =
        i > 0 ? list.tokens[i - 1].kind : TokenKind::Newline;
    if (!list.tokens[i].is("@") ||
        (before != TokenKind::Newline && before != TokenKind::Indent &&
         before != TokenKind::Dedent))
      continue;
    bool isKernel = false;
    while (i + 1 < to && list.tokens[i].is("@")) {
      isKernel |= isTritonJit(dottedName(i + 1), /*nestedInHost=*/true);
      while (i + 1 < to && list.tokens[i].kind != TokenKind::Newline)
        ++i;
      ++i;
    }
    if (!isKernel || i + 1 >= to || !list.tokens[i].is("def") ||
        list.tokens[i + 1].kind != TokenKind::Name)
      continue;
    auto node = std::make_unique<FunctionDef>(list.tokens[i].range);
    node->file = file;
    node->isJit = true;
    node->name = std::string(list.tokens[i + 1].text);
    node->nameRange = list.tokens[i + 1].range;
    position = i + 2;
    const size_t reported = list.diagnostics.size();
    links = 0;
    try {
      parseParameters(*node);
    } catch (const Recover &) {
      node->parameters.clear();
    }
    list.diagnostics.erase(list.diagnostics.begin() + ptrdiff_t(reported),
                           list.diagnostics.end());
    nested.push_back(std::move(node));
  }
  position = last;
}

static const std::string *boundName(const Stmt &stmt) {
  if (const auto *import = stmt.as<Import>())
    return &import->alias;
  if (const auto *from = stmt.as<ImportFrom>())
    return &from->alias;
  if (const auto *function = stmt.as<FunctionDef>())
    return &function->name;
  const Expr *target = nullptr;
  if (const auto *assign = stmt.as<Assign>(); assign)
    target = assign->targets.size() == 1 ? assign->targets[0].get() : nullptr;
  else if (const auto *annotated = stmt.as<AnnAssign>())
    target = annotated->value ? annotated->target.get() : nullptr;
  const auto *name = target ? target->as<Name>() : nullptr;
  return name ? &name->id : nullptr;
}

static bool binds(const Stmt &stmt, const std::string &name) {
  if (const auto *skipped = stmt.as<Skipped>())
    return std::find(skipped->names.begin(), skipped->names.end(), name) !=
           skipped->names.end();
  const std::string *bound = boundName(stmt);
  return bound && *bound == name;
}

// Takes the names that a skipped branch binds, as in `try: from x import y`. If
// several branches bind one name, `try` is preferred to `except`, and `else` to
// `if`, whose condition is not evaluated.
void Parser::takeHostNames(Block &block, std::string_view word) {
  Deeper deeper(*this);
  const size_t start = position;
  const bool replaces = word == "else" || word == "elif";
  while (!at(TokenKind::Newline) && !at(TokenKind::End))
    next();
  Block found;
  if (at(TokenKind::Newline))
    next();
  if (at(TokenKind::Indent)) {
    next();
    while (!at(TokenKind::Dedent) && !at(TokenKind::End))
      parseStatement(found);
    if (at(TokenKind::Dedent))
      next();
  } else {
    pushUnread(found, start, "`" + std::string(word) + "` on one line",
               "write the statement on a line of its own");
  }
  const auto keep = [&](const std::string &name, StmtPtr &stmt) {
    auto known = std::find_if(block.begin(), block.end(),
                              [&](auto &other) { return binds(*other, name); });
    if (known == block.end())
      block.push_back(std::move(stmt));
    else if (replaces && hostNames.contains(name) && !(*known)->is<Skipped>())
      *known = std::move(stmt);
    else if (replaces)
      block.push_back(std::move(stmt));
    else
      return;
    hostNames.insert(name);
  };
  for (StmtPtr &stmt : found) {
    if (auto *skipped = stmt->as<Skipped>()) {
      if (!replaces)
        std::erase_if(skipped->names, [&](const std::string &name) {
          return std::any_of(block.begin(), block.end(),
                             [&](auto &other) { return binds(*other, name); });
        });
      hostNames.insert(skipped->names.begin(), skipped->names.end());
      if (!skipped->names.empty())
        block.push_back(std::move(stmt));
    } else if (const std::string *name = boundName(*stmt); name) {
      if (*name == "*")
        block.push_back(std::move(stmt));
      else
        keep(std::string(*name), stmt);
    }
  }
}

} // namespace tessera::language
