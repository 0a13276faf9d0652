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
// "kernels/tiles.py", or "" if the file does not exist. Imports of that package
// use it if no folder above the importing file has the file. The runtime sets
// it.
using KernelLibrary = std::function<std::string(const std::string &file)>;
void setKernelLibrary(KernelLibrary library);

// The meaning of a module-level name.
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

// The parsed files of a kernel. As in Python, names in the body of a function
// refer to functions and constants of the file that contains the function.
class Program : public std::enable_shared_from_this<Program> {
public:
  // Parses the file. Throws CompileError with all its syntax errors. A pattern
  // (pattern/PatternKernels.h) is loaded with the kernels that it stands for.
  // The kernel files that it imports from are read when one of their names is
  // looked up. Without a reader, files come from disk.
  static std::shared_ptr<const Program>
  load(const std::string &path, std::string text, FileReader reader = nullptr);
  // Returns the program of a request; reads no files but its sources.
  static std::shared_ptr<const Program> load(const CompileRequest &request);
  // Loads a file from disk. Throws Error if it cannot be read.
  static std::shared_ptr<const Program> loadFile(const std::string &path);

  ~Program();

  const Module &main() const;
  // Returns the files read so far. After expand() of a kernel, these are all
  // files that the kernel needs.
  std::vector<std::shared_ptr<const SourceFile>> files() const;

  // Returns the jit function `name` of the main file. If it does not exist,
  // throws Error with the nearest name.
  const FunctionDef &kernel(std::string_view name) const;

  // Returns the meaning of `name` at module level of the file that contains
  // `from`; nullopt if the file does not define it (it may be a Python
  // builtin). Throws CompileError for a constant that cannot be evaluated and
  // for an import that fails.
  std::optional<Symbol> lookup(const FunctionDef &from,
                               std::string_view name) const;

  // The function that a launch passes. Reads its file where that is another
  // one: a path that imports have read, or one from the folder of the main
  // file, the current folder or the package `kernels`. Throws Error for a file
  // or function that does not exist, and for one that kernels cannot call.
  const FunctionDef &function(const Value::KernelFunction &name) const;

  // True if that file has an `import *` whose names are unknown.
  bool hasUnknownNames(const FunctionDef &from) const;

  // Returns the names visible to expressions of that file, for evaluate().
  std::shared_ptr<const Scope> scope(const FunctionDef &from) const;

private:
  Program();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace tessera::language
