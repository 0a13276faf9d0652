// language/Hints.h - `# tessera:` comments above a kernel.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Program.h"
#include "language/Signature.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::language {

// Limit on the configurations of one hint space(...).
inline constexpr size_t mostOfSpace = 4096;

// # tessera: instance NAME(Q="*bf16:16", D=64, num_warps=4): a signature that
// tools, reports and tests compile. The hint must name every parameter without
// a default.
struct Instance {
  std::string name;
  std::vector<Argument> arguments; // in signature order
  std::optional<int64_t> numWarps, numStages;
};

struct Hints {
  std::vector<Instance> instances;
  std::vector<Value::Config> cpuConfigs; // cpu(BM=32, BN=64)
  // space(BM=[16, 32], BN=[32, 64], where=BM * BN <= 2048): `tessera tune`
  // tries all combinations of these values for which the condition holds.
  struct Space {
    std::vector<std::pair<std::string, std::vector<Value>>> values;
    std::shared_ptr<const Expr> where; // null: all of them
  };
  std::vector<Space> spaces;
  std::optional<int64_t> stages; // stages(k=3)
  bool swapAb = false;           // swap_ab
  bool predicate = false;        // predicate
  bool constantInputs = false;   // constant_inputs
  // grid(cdiv(S*G, BM), H, B): one to three expressions over sizes and
  // constexprs. Null: the hint is not there.
  std::shared_ptr<const Expr> grid;
  // check(X=[N, 64], N=[1, 33]): the shape or value that tools pass for an
  // argument, or the values that they try for a size. In the order of the hint.
  struct Check {
    std::string name;
    std::shared_ptr<const Expr> value;
    SourceRange range; // of the hint
  };
  std::vector<Check> check;
};

// Returns the hints of a function. Appends errors to `diagnostics`.
Hints readHints(const Program &program, const FunctionDef &function,
                const Signature &signature,
                std::vector<Diagnostic> &diagnostics);

} // namespace tessera::language
