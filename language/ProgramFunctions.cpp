// language/ProgramFunctions.cpp - functions that a launch passes to a kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/ProgramImpl.h"

#include "support/ArgumentError.h"
#include "support/Names.h"

#include <filesystem>

namespace tessera::language {

namespace fs = std::filesystem;

std::string Program::Impl::fileOfFunction(const std::string &file) {
  if (modules.contains(file))
    return file;
  const fs::path folder = fs::path(mainModule->file->path()).parent_path();
  std::vector<std::string> candidates = {
      (folder / file).lexically_normal().generic_string(),
      fs::path(file).lexically_normal().generic_string()};
  if (library && file.starts_with("kernels/"))
    candidates.push_back(library(file));
  for (const std::string &path : candidates) {
    if (path.empty())
      continue;
    if (!modules.contains(path)) {
      std::optional<std::string> text = reader(path);
      if (!text)
        continue;
      load(path, std::move(*text));
    }
    return path;
  }
  return {};
}

std::vector<std::string> Program::Impl::functionNames(const std::string &path) {
  std::vector<std::string> names;
  for (const auto &[name, binding] : modules.at(path).bindings)
    if (binding.function || binding.import || !binding.fromFile.empty())
      names.push_back(name);
  return names;
}

const FunctionDef &
Program::function(const Value::KernelFunction &wanted) const {
  std::lock_guard lock(impl->mutex);
  const std::string &main = impl->mainModule->file->path();
  std::string path =
      wanted.file.empty() ? main : impl->fileOfFunction(wanted.file);
  // The canonical text of a request has the functions of all files.
  if (path.empty() && impl->lookup(*this, main, wanted.name, 0))
    path = main;
  if (path.empty())
    throw ArgumentError(
        "the function `" + wanted.name + "` is passed from `" + wanted.file +
            "`, and that kernel file does not exist",
        "name the file from the folder of " + main +
            " or from the current folder, or import the function "
            "there and pass its name alone");
  if (const auto &wrong = impl->modules.at(path).diagnostics; !wrong.empty())
    throw CompileError(wrong);
  const auto symbol = impl->lookup(*this, path, wanted.name, 0);
  if (!symbol || symbol->kind != Symbol::Kind::Function)
    throw ArgumentError(
        path + " has no function `" + wanted.name + "`",
        nearestNameHint(wanted.name, impl->functionNames(path), "functions"));
  const FunctionDef &found = *symbol->function;
  if (!found.isJit && !found.isConstexpr && !found.isPlain)
    throw ArgumentError("`" + wanted.name + "` of " + path +
                            " is not a function that kernels call",
                        "decorate it with @triton.jit");
  return found;
}

} // namespace tessera::language
