// runtime/launch/Describe.h - what a kernel file says of its kernels: hints,
// names of arguments, grids.
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

// Parsed once a process. Throws Error and CompileError like Kernel::fromFile.
std::shared_ptr<const Description> describeKernel(const std::string &file,
                                                  const std::string &kernel);
// Names of the jit functions of a file, in its order.
std::vector<std::string> kernelNames(const std::string &file);

// Integers that expressions of hints see: T tokens, TC compressed tokens, S the
// longest sequence, B sequences, H key/value heads, constexprs, and what else
// the caller has.
using Sizes = std::map<std::string, int64_t, std::less<>>;

// The value of an expression of a hint; `what` names it in messages. Throws
// Error when it uses a name that is not known.
language::Value evaluateHint(const Description &kernel,
                             const language::Expr &expr, const Sizes &sizes,
                             const std::string &what);

// The kernel's hint `grid(...)`, evaluated; dimensions may be 0. Throws Error
// when there is no such hint, or a dimension is no whole number.
Grid gridOf(const Description &kernel, const Sizes &sizes);

// By convention `sqt` is the token stride of Q and `sqh` its head stride, and
// so for every tensor: the tensor's name in capitals and the dimension. Of a
// tuple Q with the fields ptr, token and head, `Q.token` is the token stride of
// the tensor `Q.ptr`.
struct StrideName {
  std::string tensor;
  int dimension = 0;
};
std::optional<StrideName> strideName(std::string_view parameter);

} // namespace tessera::runtime
