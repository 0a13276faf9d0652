// language/ProgramImports.cpp - finds the files that a kernel file imports
// from.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/ProgramImpl.h"

#include "support/Error.h"
#include "support/Trust.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace tessera::language {

namespace fs = std::filesystem;

// Returns "a/b.py" for the module a.b.
static std::string relativePath(std::string module) {
  std::replace(module.begin(), module.end(), '.', '/');
  return module + ".py";
}

// Returns an error if a user who cannot change the importing file can change
// the file `path`, which an import found from `folder`. `folder` and what it
// contains are checked; the folders above it contain the importing file, too.
std::optional<Diagnostic> Program::Impl::distrust(const LoadedModule &loaded,
                                                  const ImportFrom &import,
                                                  const fs::path &folder,
                                                  const std::string &path) {
  if (!readsDisk)
    return std::nullopt;
  const fs::path from = loaded.module->file->path();
  TrustedContext context = TrustedContext::of(from);
  std::error_code ignored;
  const fs::path own =
      fs::weakly_canonical(fs::absolute(from, ignored), ignored).parent_path();
  const fs::path start =
      fs::weakly_canonical(fs::absolute(folder, ignored), ignored);
  context.above = start == own ? own : start.parent_path();
  if (const auto found = findDistrust(path, context))
    return Diagnostic::make(
        DiagnosticId::ImportFailed, loaded.module->file, import.range,
        "`" + path + "` is not imported: " + found->reason, found->hint);
  return std::nullopt;
}

// Returns the kernel file that an import names; empty if there is none, or if
// the file is not trusted, which sets `problem`.
std::string Program::Impl::findFile(const LoadedModule &loaded,
                                    const ImportFrom &import,
                                    std::optional<Diagnostic> &problem) {
  const fs::path relative = relativePath(import.module);
  fs::path folder = fs::path(loaded.module->file->path()).parent_path();
  auto exists = [&](const fs::path &candidate) {
    std::string path = candidate.lexically_normal().generic_string();
    if (modules.contains(path))
      return path;
    std::optional<std::string> text = reader(path);
    if (!text)
      return std::string();
    if (!problem)
      problem = distrust(loaded, import, folder, path);
    if (problem)
      return std::string();
    load(path, std::move(*text));
    return path;
  };
  const auto module = [&](const fs::path &base) {
    const std::string found = exists(base / relative);
    return found.empty() && !import.module.empty()
               ? exists(base / relativePath(import.module + ".__init__"))
               : found;
  };
  if (import.level) {
    for (unsigned i = 1; i < import.level; ++i)
      folder /= "..";
    return module(folder);
  }
  // Looks in the file's folder, then in each folder above: `from
  // kernels.nsa.x`.
  for (unsigned up = 0; up < 8; ++up) {
    if (std::string found = module(folder); !found.empty())
      return found;
    if (!folder.has_relative_path())
      break;
    folder = folder.parent_path();
  }
  if (!library || *relative.begin() != "kernels")
    return {};
  const std::string path = library(relative.generic_string());
  if (!path.empty() && !modules.contains(path))
    load(path, readsDisk ? readFile(path) : reader(path).value_or(""));
  return path;
}

bool isLibrary(const ImportFrom &import) {
  const std::string root = import.module.substr(0, import.module.find('.'));
  return !import.level &&
         (root == "triton" || root == "torch" || root == "math" ||
          root == "typing" || root == "__future__" ||
          import.module == "tessera" || import.module == "tessera.triton" ||
          import.module.starts_with("tessera.language"));
}

std::string libraryPath(const std::string &path) {
  for (const auto &[from, to] : {std::pair<std::string_view, std::string_view>{
                                     "tessera.triton", "triton"},
                                 {"tessera.language", "triton.language"},
                                 {"tessera.jit", "triton.jit"}})
    if (path.starts_with(from) &&
        (path.size() == from.size() || path[from.size()] == '.'))
      return std::string(to) + path.substr(from.size());
  return path;
}

// Resolves an import when its name is first looked up.
void Program::Impl::resolve(LoadedModule &loaded, Binding &binding) {
  if (!binding.import)
    return;
  const ImportFrom &import = *std::exchange(binding.import, nullptr);
  if (!isLibrary(import) && !(import.level && import.module.empty())) {
    std::string path = findFile(loaded, import, binding.problem);
    if (binding.problem)
      return;
    if (!path.empty()) {
      binding.fromFile = path;
      binding.name = import.name;
      return;
    }
  }
  if (!import.level) {
    binding.path = libraryPath(import.module + "." + import.name);
    return;
  }
  if (import.name == "triton") { // as in `from .compat import triton`
    binding.path = import.name;
    return;
  }
  binding.problem = Diagnostic::make(
      DiagnosticId::ImportFailed, loaded.module->file, import.range,
      import.module.empty()
          ? "a kernel file can only be imported from by name"
          : "no kernel file for `" + std::string(import.level, '.') +
                import.module + "`",
      import.module.empty()
          ? "write from ." + import.name + " import NAME"
          : "imports are looked up in the folder of the file that imports: no "
            "regular file `" +
                relativePath(import.module) + "` there");
}

// Returns "a.py imports it from b.py, b.py from a.py" if the imports of a name
// form a cycle; otherwise an empty text.
std::string Program::Impl::circle(LoadedModule &loaded,
                                  const std::string &alias) {
  LoadedModule *at = &loaded;
  std::string name = alias, chain;
  for (size_t steps = 0; steps <= modules.size(); ++steps) {
    auto found = at->bindings.find(name);
    if (found != at->bindings.end())
      resolve(*at, found->second);
    if (found == at->bindings.end() || found->second.fromFile.empty())
      return {};
    const Binding &binding = found->second;
    chain += (steps ? ", " : "") + at->module->file->path() +
             (steps ? " from " : " imports it from ") + binding.fromFile;
    name = binding.name;
    at = &modules.at(binding.fromFile);
    if (at == &loaded && name == alias)
      return chain;
  }
  return {};
}

// Throws if the imports of a name form a cycle; the error has the position of
// each.
void Program::Impl::checkCircles(LoadedModule &loaded,
                                 const std::string &alias) {
  if (circle(loaded, alias).empty())
    return;
  std::vector<Diagnostic> found;
  for (auto &[path, module] : modules)
    for (const StmtPtr &stmt : module.module->body)
      if (const auto *from = stmt->as<ImportFrom>();
          from && from->alias == alias)
        if (std::string chain = circle(module, alias); !chain.empty())
          found.push_back(Diagnostic::make(
              DiagnosticId::ImportFailed, module.module->file, from->range,
              "`" + from->name +
                  "` is imported in a circle and defined nowhere",
              chain + ": define it in one of the files"));
  throw CompileError(std::move(found));
}

} // namespace tessera::language
