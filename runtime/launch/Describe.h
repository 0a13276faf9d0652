// runtime/launch/Describe.h - evaluates what a kernel file declares about its
// kernels: hints, argument names, grids.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Decorators.h"
#include "language/Program.h"
#include "runtime/Kernel.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

struct Description {
  std::string file; // as found
  std::shared_ptr<const language::Program> program;
  language::KernelInfo info;

  bool has(std::string_view parameter) const {
    return info.signature.find(parameter) >= 0;
  }
};

// Parses a file once per process. Throws Error and CompileError like
// Kernel::fromFile.
std::shared_ptr<const Description> describeKernel(const std::string &file,
                                                  const std::string &kernel);
// Returns the names of a file's jit functions, in its order.
std::vector<std::string> kernelNames(const std::string &file);

// Variables of hint expressions: T tokens, TC compressed tokens, S the longest
// sequence, B sequences, H key/value heads, constexprs, and names that the
// caller adds.
using Sizes = std::map<std::string, int64_t, std::less<>>;

// Evaluates an expression of a hint; `what` names it in messages. Throws Error
// if the expression uses an unknown name.
language::Value evaluateHint(const Description &kernel,
                             const language::Expr &expr, const Sizes &sizes,
                             const std::string &what);

// Evaluates the kernel's hint `grid(...)`; dimensions may be 0. Throws Error if
// the kernel lacks the hint or a dimension is not an integer.
Grid gridOf(const Description &kernel, const Sizes &sizes);

// A parameter that is a stride of a tensor, recognized by its name. `sqt` is
// the token stride of Q and `sqh` its head stride: `s`, the tensor's name in
// lower case, the dimension. For a tuple Q with the fields ptr, token and head,
// `Q.token` is the token stride of the tensor `Q.ptr`.
struct StrideName {
  std::string tensor;
  int dimension = 0;
};
std::optional<StrideName> strideName(std::string_view parameter);

} // namespace tessera::runtime
