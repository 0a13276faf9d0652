// language/ProgramImpl.h - the modules of a Program; only its sources include
// this.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Program.h"

#include <filesystem>
#include <map>
#include <mutex>

namespace tessera::language {

// The last binding of a name at module level.
struct Binding {
  const FunctionDef *function = nullptr;
  const Expr *value = nullptr; // the expression of a constant
  int element = -1;            // index, if the name unpacks a tuple
  std::string path;            // of a library
  // An import that has not been resolved to a kernel file or library yet.
  const ImportFrom *import = nullptr;
  std::string fromFile, name; // imported from another kernel file
  const Skipped *unread = nullptr;
  std::string type;                  // if `name: type` has no value
  std::optional<Diagnostic> problem; // reported where the name is looked up
};

struct LoadedModule {
  std::unique_ptr<Module> module;
  std::map<std::string, Binding, std::less<>> bindings;
  std::vector<const ImportFrom *> stars; // import *
  bool hasHostCode = false;              // skipped code may define more names
  std::vector<Diagnostic> diagnostics;
};

// True if an import is from a library, whose files are not read.
bool isLibrary(const ImportFrom &import);
// Returns the path of a library under Triton's name: tessera.triton and
// tessera.language are names of Triton's modules.
std::string libraryPath(const std::string &path);

struct Program::Impl {
  FileReader reader;
  bool readsDisk = false;
  KernelLibrary library;
  std::map<std::string, LoadedModule> modules; // key: path
  std::vector<std::shared_ptr<const SourceFile>> files;
  const Module *mainModule = nullptr;

  // Constants are evaluated and files are read on first use.
  std::recursive_mutex mutex;
  std::map<std::pair<const Expr *, int>, Value> values;
  std::vector<const Expr *> active;

  void load(const std::string &path, std::string text);
  void bind(LoadedModule &loaded, const Stmt &stmt);
  void resolve(LoadedModule &loaded, Binding &binding);
  std::string findFile(const LoadedModule &loaded, const ImportFrom &import,
                       std::optional<Diagnostic> &problem);
  std::optional<Diagnostic> distrust(const LoadedModule &loaded,
                                     const ImportFrom &import,
                                     const std::filesystem::path &folder,
                                     const std::string &path);
  std::string circle(LoadedModule &loaded, const std::string &alias);
  void checkCircles(LoadedModule &loaded, const std::string &alias);
  std::optional<Symbol> lookup(const Program &program, const std::string &path,
                               std::string_view name, unsigned depth);
  std::optional<Symbol> lookupStars(const Program &program,
                                    LoadedModule &loaded, std::string_view name,
                                    unsigned depth);
  std::optional<Symbol> imported(const Program &program, LoadedModule &loaded,
                                 const Binding &binding,
                                 const std::string &alias, unsigned depth);
  Value constant(const Program &program, const LoadedModule &loaded,
                 const Binding &binding);
  // Reads the file of a function that a launch passes and returns its path;
  // empty if there is none.
  std::string fileOfFunction(const std::string &file);
  std::vector<std::string> functionNames(const std::string &path);
};

} // namespace tessera::language
