// language/ProgramImpl.h - the modules of a Program, private to it.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Program.h"

#include <filesystem>
#include <map>
#include <mutex>

namespace tessera::language {

// What a name was last bound to at module level.
struct Binding {
  const FunctionDef *function = nullptr;
  const Expr *value = nullptr; // of a constant
  int element = -1;            // of a tuple that is taken apart
  std::string path;            // of a library
  // Of an import, until a kernel file or library is found for it.
  const ImportFrom *import = nullptr;
  std::string fromFile, name; // imported from another kernel file
  const Skipped *unread = nullptr;
  std::string type;                  // of `name: type` without a value
  std::optional<Diagnostic> problem; // reported where the name is looked up
};

struct LoadedModule {
  std::unique_ptr<Module> module;
  std::map<std::string, Binding, std::less<>> bindings;
  std::vector<const ImportFrom *> stars; // import *
  bool hasHostCode = false;              // may define more names
  std::vector<Diagnostic> diagnostics;
};

// Whether an import is of a library, whose files are not read.
bool isLibrary(const ImportFrom &import);
// The path of a library by Triton's name of it: tessera.triton and
// tessera.language are Triton's modules of these names.
std::string libraryPath(const std::string &path);

struct Program::Impl {
  FileReader reader;
  bool readsDisk = false;
  KernelLibrary library;
  std::map<std::string, LoadedModule> modules; // by path
  std::vector<std::shared_ptr<const SourceFile>> files;
  const Module *mainModule = nullptr;

  // Constants are evaluated and files read when first asked for.
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
  // The path of the file that a launch names with a function, read; empty if
  // there is none.
  std::string fileOfFunction(const std::string &file);
  std::vector<std::string> functionNames(const std::string &path);
};

} // namespace tessera::language
