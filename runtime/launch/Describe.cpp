// runtime/launch/Describe.cpp - what a kernel file says of its kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/Describe.h"

#include "language/Evaluate.h"
#include "runtime/launch/FindFile.h"
#include "support/Error.h"

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
    // All kernels of a file share one parsed program.
    if (const auto other = known->lower_bound({found, ""});
        other != known->end() && other->first.first == found && other->second)
      made->program = other->second->program;
    else
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
  for (const auto &[field, dimension] :
       {std::pair{std::string_view(".token"), 0}, {".head", 1}})
    if (parameter.ends_with(field))
      return StrideName{
          std::string(parameter.substr(0, parameter.size() - field.size())) +
              ".ptr",
          dimension};
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

} // namespace tessera::runtime
