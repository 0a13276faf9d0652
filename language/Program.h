// language/Program.h - a kernel file with the files it imports from; its names.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Evaluate.h"
#include "language/Tree.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::language {

struct CompileRequest;

// Returns the text of a file; nullopt if the file does not exist.
using FileReader =
    std::function<std::optional<std::string>(const std::string &path)>;

// Returns the path of a file of the package `kernels`, for example of
// "kernels/tiles.py", or "" if there is none. Imports of that package use it
// where no folder above the importing file has the file. The runtime sets it.
using KernelLibrary = std::function<std::string(const std::string &file)>;
void setKernelLibrary(KernelLibrary library);

// What a module-level name stands for.
struct Symbol {
  enum class Kind {
    Function, // a def of this file or of a kernel file it imports from
    Constant, // a module-level value
    Library,  // a module or a member of one: path "triton.language.load"
    Unread,   // bound by code around kernels that is not read, or only declared
  };
  Kind kind = Kind::Constant;
  const FunctionDef *function = nullptr;
  Value value;
  std::string path;
  std::string why, hint; // of Unread: "k.py:3: `:=` is not supported"
  std::string type;      // of an Unread that is only declared: `name: type`

  // Returns the error message for the use of an Unread symbol.
  std::string unreadMessage(std::string_view name) const;
};

// All files a kernel needs, parsed. Functions and constants are found from
// the function whose body names them, as Python would: in its own file.
class Program : public std::enable_shared_from_this<Program> {
public:
  // Parses the file. Throws CompileError with all its syntax errors. A pattern
  // (pattern/PatternKernels.h) is loaded with the kernels that it stands for.
  // The kernel files that it imports from are read when one of their names is
  // looked up. Without a reader, files come from disk.
  static std::shared_ptr<const Program>
  load(const std::string &path, std::string text, FileReader reader = nullptr);
  // The program of a request, from its sources alone.
  static std::shared_ptr<const Program> load(const CompileRequest &request);
  // From a file on disk. Throws Error when it cannot be read.
  static std::shared_ptr<const Program> loadFile(const std::string &path);

  ~Program();

  const Module &main() const;
  // The files read so far: all that a kernel needs once it is expanded.
  std::vector<std::shared_ptr<const SourceFile>> files() const;

  // The jit function of the main file. Throws Error with the nearest name.
  const FunctionDef &kernel(std::string_view name) const;

  // What `name` means at module level of the file that `from` stands in; none
  // for a name not defined there (it may be Python's own). Throws
  // CompileError for a constant that cannot be evaluated and for an import that
  // fails.
  std::optional<Symbol> lookup(const FunctionDef &from,
                               std::string_view name) const;

  // The function that a launch passes. Reads its file where that is another
  // one: a path that imports have read, or one from the folder of the main
  // file, the current folder or the package `kernels`. Throws Error for a file
  // or function that does not exist, and for one that kernels cannot call.
  const FunctionDef &function(const Value::KernelFunction &name) const;

  // Whether that file has an `import *` whose names are not known.
  bool hasUnknownNames(const FunctionDef &from) const;

  // The names an expression of that file sees, for evaluate().
  std::shared_ptr<const Scope> scope(const FunctionDef &from) const;

private:
  Program();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tessera::language
