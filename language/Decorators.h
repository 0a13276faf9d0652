// language/Decorators.h - the decorators, defaults and hints of a kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Hints.h"
#include "language/Program.h"
#include "language/Signature.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::language {

struct Heuristic {
  std::string parameter;
  Value function;   // of one dict: the arguments by name
  std::string text; // canonical source of the function
  // Why `function` is None: the compiler does not run the code that defines it.
  std::string unread;
};

struct KernelInfo {
  const FunctionDef *function = nullptr;
  Signature signature;
  std::vector<Value::Config> configs; // @triton.autotune
  // Why `configs` is empty although the decorator has some: Python code that
  // the compiler does not run computes them. Empty if all configs were read.
  std::string unreadConfigs;
  std::vector<std::string> key;      // its key
  std::vector<Heuristic> heuristics; // in the order they apply
  Hints hints;
  bool debug = false; // triton.jit(debug=True)
};

// Returns the decorators, defaults and hints of a jit function. Throws
// CompileError with all their errors.
KernelInfo describeKernel(const Program &program, const FunctionDef &function);

// Returns the value that a heuristic computes for its parameter. `arguments`
// holds values by name: numbers and None unchanged, pointers as the DType of
// their pointee.
Value applyHeuristic(
    const KernelInfo &kernel, const Heuristic &heuristic,
    const std::vector<std::pair<std::string, Value>> &arguments);

// An entry of listKernels. `outcome` and `problems` give the reason if the
// kernel cannot be compiled: an unsupported construct or an error.
struct ListedKernel {
  enum class Outcome { Ok, Unsupported, Error };
  const FunctionDef *function = nullptr;
  Outcome outcome = Outcome::Ok;
  std::optional<KernelInfo> info;   // if the outcome is Ok
  std::vector<Diagnostic> problems; // otherwise
};

// Returns every kernel of the file in the order of the file, then those inside
// Python functions and classes. The contents of the file never cause an
// exception.
std::vector<ListedKernel> listKernels(const Program &program);

} // namespace tessera::language
