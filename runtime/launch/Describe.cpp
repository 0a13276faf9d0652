// runtime/launch/Describe.cpp - what a kernel file says of its kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/Describe.h"

#include "language/Evaluate.h"
#include "language/pattern/Pattern.h"
#include "runtime/launch/FindFile.h"
#include "support/Error.h"
#include "support/Names.h"
#include "support/Text.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <mutex>
#include <utility>

namespace tessera::runtime {

using language::Value;

std::shared_ptr<const Description> describeKernel(const std::string &file,
                                                  const std::string &kernel) {
  static std::mutex mutex;
  static auto *const known = new std::map<std::pair<std::string, std::string>,
                                          std::shared_ptr<const Description>>;
  const std::string found = findKernelFile(file);
  std::lock_guard<std::mutex> guard(mutex);
  auto &entry = (*known)[{found, kernel}];
  if (!entry) {
    auto made = std::make_shared<Description>();
    made->file = found;
    made->program = language::Program::loadFile(found);
    made->info =
        language::describeKernel(*made->program, made->program->kernel(kernel));
    entry = std::move(made);
  }
  return entry;
}

std::vector<std::string> kernelNames(const std::string &file) {
  const auto program = language::Program::loadFile(findKernelFile(file));
  std::vector<std::string> names;
  for (const language::StmtPtr &statement : program->main().body)
    if (const auto *function = statement->as<language::FunctionDef>();
        function && function->isJit)
      names.push_back(function->name);
  return names;
}

Value evaluateHint(const Description &kernel, const language::Expr &expr,
                   const Sizes &sizes, const std::string &what) {
  auto scope = std::make_shared<language::MapScope>();
  scope->parent = kernel.program->scope(*kernel.info.function);
  scope->values["cdiv"] = Value::Named{"triton.cdiv"};
  scope->values["next_power_of_2"] = Value::Named{"triton.next_power_of_2"};
  std::string names;
  for (const auto &[name, value] : sizes) {
    scope->values[name] = Value(value);
    names += (names.empty() ? "" : ", ") + name;
  }
  try {
    return language::evaluate(expr, scope, kernel.info.function->file);
  } catch (const CompileError &error) {
    const std::string reason = error.diagnostics.empty()
                                   ? error.message
                                   : error.diagnostics[0].message;
    throw Error(what + " of kernel `" + kernel.info.signature.kernel + "` in " +
                    kernel.file + ": " + reason,
                "it may use cdiv, next_power_of_2, module constants and: " +
                    names);
  }
}

Grid gridOf(const Description &kernel, const Sizes &sizes) {
  const std::string &name = kernel.info.signature.kernel;
  const auto &hint = kernel.info.hints.grid;
  if (!hint)
    throw Error("kernel `" + name + "` of " + kernel.file +
                    " does not say its grid",
                "write above it, for example: # tessera: grid(cdiv(S*G, BM), "
                "H, B)");
  const Value value = evaluateHint(kernel, *hint, sizes, "the grid");
  Grid grid = {1, 1, 1};
  size_t at = 0;
  for (const Value &item : *value.sequence()) {
    const auto size = item.asInt();
    if (!size || *size < 0 || *size > std::numeric_limits<int32_t>::max())
      throw Error("the grid of kernel `" + name + "` of " + kernel.file +
                      " has " + item.repr() + " in dimension " +
                      std::to_string(at),
                  "each must be a whole number of 0 to 2^31 - 1; divide with "
                  "cdiv(N, BLOCK)");
    grid[at++] = uint32_t(*size);
  }
  return grid;
}

std::optional<StrideName> strideName(std::string_view parameter) {
  if (parameter.size() < 3 || parameter.front() != 's' ||
      (parameter.back() != 't' && parameter.back() != 'h'))
    return std::nullopt;
  StrideName result;
  for (char c : parameter.substr(1, parameter.size() - 2)) {
    if (c < 'a' || c > 'z')
      return std::nullopt;
    result.tensor += char(c - 'a' + 'A');
  }
  result.dimension = parameter.back() == 't' ? 0 : 1;
  return result;
}

namespace {

struct LoadedPattern {
  std::shared_ptr<const language::Program> program; // owns the functions
  language::Pattern pattern;
};

LoadedPattern loadPattern(const std::string &file) {
  const auto program = language::Program::loadFile(findKernelFile(file));
  const SourceFile &source = *program->main().file;
  if (!language::isPattern(source.text()))
    throw Error(source.path() + " is not a pattern",
                "a pattern has a line `# tessera: pattern(...)` above its "
                "function sees or modify; attention.kernel names a file of "
                "kernels");
  std::vector<Diagnostic> ignored; // the program has been loaded
  return {program, language::readPattern(program->main(), ignored)};
}

// Reads "top=8, block=32".
std::vector<std::pair<std::string, int64_t>>
integersOf(const std::string &parameters, const std::string &file) {
  std::vector<std::pair<std::string, int64_t>> result;
  for (std::string_view rest = parameters; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = trimSpaces(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (item.empty())
      continue;
    const auto given = nameAndValueOf(item);
    const auto value = given
                           ? numberFromText<int64_t>(trimSpaces(given->second))
                           : std::nullopt;
    if (!value)
      throw Error("attention parameter `" + std::string(item) + "` of " + file,
                  "write NAME=INTEGER, separated by commas: top=8, block=32");
    result.emplace_back(trimSpaces(given->first), *value);
  }
  return result;
}

} // namespace

std::vector<std::string> learnedOfPattern(const std::string &file) {
  const LoadedPattern loaded = loadPattern(file);
  std::vector<std::string> names;
  for (const auto &learned : loaded.pattern.learned) {
    std::string name = learned.name;
    for (char &c : name)
      c = char(std::toupper(static_cast<unsigned char>(c)));
    names.insert(name == "SINK" ? names.begin() : names.end(), name);
  }
  return names;
}

std::optional<language::Selection>
selectionOfPattern(const std::string &file, const std::string &parameters) {
  std::optional<language::Selection> selection =
      loadPattern(file).pattern.selection;
  if (!selection)
    return selection;
  for (const auto &[name, value] : integersOf(parameters, file)) {
    const auto known = selection->names();
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error(file + " has no parameter `" + name + "`",
                  nearestNameHint(name, known, "parameters"));
    *selection->find(name) = value;
  }
  if (const auto wrong = selection->problem())
    throw Error(file + ": " + wrong->first, wrong->second);
  return selection;
}

} // namespace tessera::runtime
