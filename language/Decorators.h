// language/Decorators.h - what decorators and hints say of a kernel.
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
  // Why `function` is None: it is code around the kernel that is not run.
  std::string unread;
};

struct KernelInfo {
  const FunctionDef *function = nullptr;
  Signature signature;
  std::vector<Value::Config> configs; // @triton.autotune
  // Why `configs` is empty although the decorator gives some: code around the
  // kernel computes them, which is not run. Empty where all are read.
  std::string unreadConfigs;
  std::vector<std::string> key;      // its key
  std::vector<Heuristic> heuristics; // in the order they apply
  Hints hints;
  bool debug = false; // triton.jit(debug=True)
};

// Checks decorators, defaults and hints of a jit function. Throws CompileError
// with everything that is wrong.
KernelInfo describeKernel(const Program &program, const FunctionDef &function);

// The value that a heuristic gives its parameter. `arguments` by name: numbers
// as they are, pointers as the DType they point to, None as None.
Value applyHeuristic(
    const KernelInfo &kernel, const Heuristic &heuristic,
    const std::vector<std::pair<std::string, Value>> &arguments);

// A kernel of a file for lists. `problem` says why it cannot be compiled from
// the file: its language is not supported, or it has an error.
struct ListedKernel {
  enum class Outcome { Ok, Unsupported, Error };
  const FunctionDef *function = nullptr;
  Outcome outcome = Outcome::Ok;
  std::optional<KernelInfo> info;   // where the outcome is Ok
  std::vector<Diagnostic> problems; // where it is not
};

// Every kernel of the file in the order of the file, then those inside
// functions and classes of Python. Throws nothing that a file can cause.
std::vector<ListedKernel> listKernels(const Program &program);

} // namespace tessera::language
