// tools/check/MaskedTiles.cpp - counts the tiles that an attention kernel
// computes although they are entirely masked.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/check/MaskedTiles.h"

#include "support/Error.h"
#include "support/File.h"
#include "support/ScratchFolder.h"

#include <cmath>
#include <vector>

namespace tessera::tools {

using namespace language;

namespace {

// Long enough to cover most windows, short enough to run in a test.
constexpr int64_t kTokens = 2048;
constexpr const char *kCounts = "TILES";

// Returns the called name: "where" for tl.where(...).
std::string_view calledName(const Expr &expr) {
  const auto *call = expr.as<Call>();
  const auto *function = call ? call->function->as<Attribute>() : nullptr;
  return function ? std::string_view(function->attribute) : "";
}

bool holdsDot(const Expr &expr) {
  if (calledName(expr) == "dot")
    return true;
  if (const auto *call = expr.as<Call>()) {
    for (const ExprPtr &argument : call->arguments)
      if (holdsDot(*argument))
        return true;
    return holdsDot(*call->function);
  }
  if (const auto *operation = expr.as<BinOp>())
    return holdsDot(*operation->left) || holdsDot(*operation->right);
  if (const auto *attribute = expr.as<Attribute>())
    return holdsDot(*attribute->value);
  return false;
}

// True for float("-inf") or 0.0.
bool leavesOut(const Expr &expr) {
  if (const auto *call = expr.as<Call>()) {
    const auto *function = call->function->as<Name>();
    const auto *text = call->arguments.size() == 1
                           ? call->arguments[0]->as<Constant>()
                           : nullptr;
    return function && function->id == "float" && text &&
           text->value.repr().find("-inf") != std::string::npos;
  }
  const auto *constant = expr.as<Constant>();
  const auto number = constant ? constant->value.asFloat() : std::nullopt;
  return number && *number == 0.0;
}

std::string textOf(const SourceFile &file, const SourceRange &range) {
  std::string text;
  for (uint32_t line = range.line; line <= range.endLine; ++line) {
    std::string_view part = file.line(line);
    if (line == range.endLine)
      part = part.substr(0, range.endColumn - 1);
    if (line == range.line)
      part.remove_prefix(range.column - 1);
    text += (text.empty() ? "" : " ") + std::string(part);
  }
  return text;
}

// Lines to insert after lines of the file, by line number.
using Additions = std::map<uint32_t, std::string>;

void addCounters(const SourceFile &file, const Block &block, bool inLoop,
                 Additions &additions) {
  for (const StmtPtr &statement : block) {
    if (const auto *loop = statement->as<For>())
      addCounters(file, loop->body, true, additions);
    else if (const auto *loop = statement->as<While>())
      addCounters(file, loop->body, true, additions);
    else if (const auto *branch = statement->as<If>()) {
      addCounters(file, branch->body, inLoop, additions);
      addCounters(file, branch->orelse, inLoop, additions);
    }
    const auto *assign = statement->as<Assign>();
    const auto *where = assign ? assign->value->as<Call>() : nullptr;
    if (!inLoop || !where || calledName(*where) != "where" ||
        where->arguments.size() != 3 || !holdsDot(*where->arguments[1]) ||
        !leavesOut(*where->arguments[2]))
      continue;
    const std::string indent(assign->range.column - 1, ' ');
    const std::string mask = textOf(file, where->arguments[0]->range);
    additions[assign->range.endLine] += indent + "tl.atomic_add(" + kCounts +
                                        ", 1)\n" + indent + "tl.atomic_add(" +
                                        kCounts + " + 1, 1 - tl.max(tl.where(" +
                                        mask + ", 1, 0)))\n";
  }
}

} // namespace

std::optional<std::string> withTileCounters(const Description &kernel) {
  const FunctionDef &function =
      kernel.program->kernel(kernel.info.signature.kernel);
  const SourceFile &file = *function.file;
  Additions additions;
  addCounters(file, function.body, false, additions);
  if (additions.empty() || &file != kernel.program->main().file.get())
    return std::nullopt;
  size_t instances = 0;
  std::string text;
  for (uint32_t number = 1; number <= file.lineCount(); ++number) {
    std::string line(file.line(number));
    for (const Instance &instance : kernel.info.hints.instances) {
      const std::string head = "# tessera: instance " + instance.name + "(";
      if (line.starts_with(head) && line.find('=') != std::string::npos) {
        line.insert(head.size(), std::string(kCounts) + "=\"*i32:16\", ");
        ++instances;
      }
    }
    if (number == function.nameRange.line) {
      const size_t open = line.find('(', function.nameRange.endColumn - 1);
      if (open == std::string::npos)
        return std::nullopt;
      line.insert(open + 1, std::string(kCounts) + ", ");
    }
    text += line + "\n";
    if (const auto more = additions.find(number); more != additions.end())
      text += more->second;
  }
  if (instances != kernel.info.hints.instances.size())
    return std::nullopt;
  return text;
}

std::optional<MaskedTiles> countMaskedTiles(const Description &kernel,
                                            const Instance &instance) {
  if (!kernel.has("CU") || kernel.has(kCounts))
    return std::nullopt;
  const auto text = withTileCounters(kernel);
  if (!text)
    return std::nullopt;
  const ScratchFolder scratch("check");
  const std::string file =
      (scratch.path() / std::filesystem::path(kernel.file).filename()).string();
  writeFile(file, *text);
  const auto counting =
      runtime::describeKernel(file, kernel.info.signature.kernel);
  for (const Instance &same : counting->info.hints.instances) {
    if (same.name != instance.name)
      continue;
    Shape shape = packedShape({kTokens}, 1);
    shape.tensors[kCounts] = {2};
    const Problem problem(counting, same, shape);
    Tensors tensors = problem.tensors();
    tensors.at(kCounts).fill(0);
    try {
      problem.run(*counting, tensors);
    } catch (const CompileError &) {
      return std::nullopt; // the mask is not a block; the kernel compiles
    }
    return MaskedTiles{kTokens, std::llround(tensors.at(kCounts).at(0)),
                       std::llround(tensors.at(kCounts).at(1))};
  }
  return std::nullopt;
}

} // namespace tessera::tools
