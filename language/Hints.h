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

// Most configurations of one hint space(...).
inline constexpr size_t mostOfSpace = 4096;

// # tessera: instance NAME(Q="*bf16:16", D=64, num_warps=4): one signature
// that tools, reports and tests compile. Every parameter without a default is
// named.
struct Instance {
  std::string name;
  std::vector<Argument> arguments; // in signature order
  std::optional<int64_t> numWarps, numStages;
};

struct Hints {
  std::vector<Instance> instances;
  std::vector<Value::Config> cpuConfigs; // cpu(BM=32, BN=64)
  // space(BM=[16, 32], BN=[32, 64], where=BM * BN <= 2048): values that
  // `tessera tune` tries, all combinations for which the condition holds.
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
  // check(X=[N, 64], N=[1, 33]): what tools pass for an argument, or let a size
  // run through. In the order written.
  struct Check {
    std::string name;
    std::shared_ptr<const Expr> value;
    SourceRange range; // of the hint
  };
  std::vector<Check> check;
};

// Appends what is wrong to `diagnostics`.
Hints readHints(const Program &program, const FunctionDef &function,
                const Signature &signature,
                std::vector<Diagnostic> &diagnostics);

} // namespace tessera::language
