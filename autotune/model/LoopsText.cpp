// autotune/model/LoopsText.cpp - the stage "loops" of a kernel for the cpu,
// read back.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/LoopsText.h"

#include "support/Error.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

namespace tessera::tune {

namespace {

using Names = std::vector<std::string_view>;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// "%57#1", "%c0_i64" ... in their order.
Names namesIn(std::string_view text) {
  Names names;
  for (size_t at = text.find('%'); at != std::string_view::npos;
       at = text.find('%', at)) {
    size_t end = at + 1;
    while (end < text.size() &&
           (std::isalnum(uint8_t(text[end])) || text[end] == '_' ||
            text[end] == '#' || text[end] == '-'))
      ++end;
    names.push_back(text.substr(at, end - at));
    at = end;
  }
  return names;
}

// Without "{alignment = 4 : i64, ...}", which has colons and names of its own.
std::string withoutAttributes(std::string_view text) {
  std::string result;
  int depth = 0;
  for (const char c : text) {
    depth += c == '{';
    if (depth == 0)
      result += c;
    depth -= c == '}' && depth > 0;
  }
  return result;
}

class Reader {
public:
  explicit Reader(std::string_view text) : text(text) {}

  LoopsText read() {
    while (const auto line = next())
      if (line->starts_with("module attributes"))
        readScratch(*line);
      else if (line->starts_with("llvm.func") && line->ends_with("{"))
        readFunction(*line);
    if (result.arguments.empty())
      fail("there is no llvm.func");
    return std::move(result);
  }

private:
  [[noreturn]] void fail(const std::string &what) const {
    throw Error("loops:" + std::to_string(lineNumber) + ": " + what,
                "the cost model of the cpu reads what --emit loops writes");
  }

  // The next line that is not empty; none at the end.
  std::optional<std::string_view> next() {
    while (position < text.size()) {
      const size_t end = std::min(text.find('\n', position), text.size());
      const auto line = trimmed(text.substr(position, end - position));
      position = end + 1;
      ++lineNumber;
      if (!line.empty())
        return line;
    }
    return std::nullopt;
  }

  void readScratch(std::string_view line) {
    constexpr std::string_view name = "tessera.scratch_bytes = ";
    const size_t at = line.find(name);
    if (at != std::string_view::npos)
      std::from_chars(line.data() + at + name.size(), line.data() + line.size(),
                      result.scratchBytes);
  }

  void readFunction(std::string_view line) {
    scopes.emplace_back();
    const std::string signature = withoutAttributes(line); // names are views
    for (const std::string_view name : namesIn(signature))
      result.arguments.push_back(define(name));
    if (readBlock(result.body) != "}")
      fail("a function that does not end");
    scopes.pop_back();
  }

  int define(std::string_view name, int count = 1) {
    const int first = result.values;
    result.values += count;
    scopes.back()[std::string(name)] = first;
    return first;
  }

  int find(std::string_view name) const {
    int index = 0;
    if (const size_t number = name.find('#'); number != name.npos) {
      std::from_chars(name.data() + number + 1, name.data() + name.size(),
                      index);
      name = name.substr(0, number);
    }
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
      if (const auto found = scope->find(name); found != scope->end())
        return found->second + index;
    fail("there is no value " + std::string(name));
  }

  // The line that ends it.
  std::string_view readBlock(std::vector<LoopsOp> &block) {
    while (const auto line = next()) {
      if (line->starts_with("}"))
        return *line;
      if (!line->starts_with("^"))
        block.push_back(readOp(*line));
    }
    fail("a block that does not end");
  }

  LoopsOp readOp(std::string_view line) {
    LoopsOp op;
    op.number = result.operations++;
    std::string_view resultName;
    int count = 0;
    if (line.starts_with("%")) {
      const size_t equals = line.find(" = ");
      if (equals == line.npos)
        fail("a value that is nothing");
      resultName = line.substr(0, equals);
      count = 1;
      if (const size_t colon = resultName.find(':'); colon != line.npos) {
        std::from_chars(resultName.data() + colon + 1,
                        resultName.data() + resultName.size(), count);
        resultName = resultName.substr(0, colon);
      }
      line = line.substr(equals + 3);
    }
    const bool opens = line.ends_with("{");
    const size_t space = line.find(' ');
    op.name = line.substr(0, std::min({space, line.find('('), line.size()}));
    op.rest = withoutAttributes(line.substr(op.name.size()));
    if (const size_t colon = op.rest.rfind(" : "); colon != op.rest.npos)
      op.type = op.rest.substr(colon + 3);
    if (opens)
      readNest(op, op.rest);
    else
      for (const std::string_view name : namesIn(op.rest))
        op.operands.push_back(find(name));
    if (op.name == "scf.yield" || op.name == "scf.condition" ||
        op.name == "llvm.return")
      op.kind = LoopsOp::Kind::End;
    if (count) { // after its operands, which may have the same name outside
      op.results = count;
      op.firstResult = define(resultName, count);
    }
    return op;
  }

  void readNest(LoopsOp &op, std::string_view rest) {
    const Names names = namesIn(rest);
    if (op.name == "scf.for")
      readFor(op, names);
    else if (op.name == "scf.while")
      readWhile(op, names);
    else if (op.name == "scf.if" && !names.empty())
      readIf(op, names);
    else
      fail("a block of " + op.name);
  }

  // %counter = %lower to %upper step %step iter_args(%carried = %first, ...)
  void readFor(LoopsOp &op, const Names &names) {
    op.kind = LoopsOp::Kind::For;
    if (names.size() < 4 || names.size() % 2)
      fail("bounds of a loop are missing");
    for (size_t i : {1, 2, 3})
      op.operands.push_back(find(names[i]));
    for (size_t i = 5; i < names.size(); i += 2)
      op.operands.push_back(find(names[i]));
    scopes.emplace_back();
    op.arguments.push_back(define(names[0]));
    for (size_t i = 4; i < names.size(); i += 2)
      op.arguments.push_back(define(names[i]));
    readBlock(op.first);
    scopes.pop_back();
  }

  // (%carried = %first, ...) ... } do { ^bb0(%carried: i32, ...):
  void readWhile(LoopsOp &op, const Names &names) {
    op.kind = LoopsOp::Kind::While;
    for (size_t i = 1; i < names.size(); i += 2)
      op.operands.push_back(find(names[i]));
    scopes.emplace_back();
    for (size_t i = 0; i < names.size(); i += 2)
      op.arguments.push_back(define(names[i]));
    if (!readBlock(op.first).starts_with("} do {"))
      fail("a while without a body");
    scopes.back().clear();
    const auto head = next();
    if (!head || !head->starts_with("^"))
      fail("a while whose body takes nothing");
    for (const std::string_view name : namesIn(*head))
      op.secondArguments.push_back(define(name));
    readBlock(op.second);
    scopes.pop_back();
  }

  void readIf(LoopsOp &op, const Names &names) {
    op.kind = LoopsOp::Kind::If;
    op.operands.push_back(find(names[0]));
    scopes.emplace_back();
    const bool both = readBlock(op.first).starts_with("} else {");
    scopes.back().clear();
    if (both)
      readBlock(op.second);
    scopes.pop_back();
  }

  const std::string_view text;
  size_t position = 0;
  int64_t lineNumber = 0;
  std::vector<std::map<std::string, int, std::less<>>> scopes;
  LoopsText result;
};

} // namespace

LoopsText readLoops(std::string_view text) { return Reader(text).read(); }

} // namespace tessera::tune
