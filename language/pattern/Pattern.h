// language/pattern/Pattern.h - the directives and the functions of an attention
// pattern.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// A pattern is a module of the kernel language:
//
//   # tessera: pattern(window=512, sinks=4)
//   @triton.jit
//   def sees(t, pos, window: tl.constexpr, sinks: tl.constexpr):
//       return (pos <= t) & ((t - pos < window) | (pos < sinks))
//
// `sees` defines which keys a query attends to, `modify` changes a score before
// the softmax. Both are optional. The directives are hints above any function
// of the module:
//
//   pattern(NAME=DEFAULT, ...)    parameters: int, float, bool or string
//   per_sequence(prefix=i32)      run-time values, one for each sequence
//   learned(slope=[Hq])           tensors that receive gradients, with shapes
//   select(block=64, ...)         which blocks each query keeps (Selection.h)
//   streams(compressed, ...)      several streams of keys (Selection.h)
//   tiles(BM=64, BN=32, RUN=16)   rows and keys of the CPU's tiles without a
//                                 tuned configuration; RUN: adjacent keys
#pragma once

#include "language/Tree.h"
#include "language/pattern/Selection.h"
#include "support/Diagnostics.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::language {

// A parameter of the directive pattern(...).
struct PatternParameter {
  std::string name;
  Value defaultValue; // Int, double, bool or std::string
  SourceRange range;  // of the directive
};

// A run-time value that each sequence has: per_sequence(prefix=i32).
struct PerSequence {
  std::string name;
  std::string type; // "i32"
  SourceRange range;
};

// A tensor that `modify` reads one element of: learned(slope=[Hq]).
struct LearnedParameter {
  std::string name;
  std::vector<std::string> shape; // names of sizes or integers: {"Hq"}
  SourceRange range;
};

// The tiles of the CPU: tiles(BM=64, BN=32, RUN=16).
struct CpuTiles {
  int64_t rows = 0; // BM
  int64_t keys = 0; // BN
  // Length of the runs of adjacent keys that form a tile of keys with hidden
  // pairs; 0: all keys of a tile are adjacent.
  int64_t run = 0;
  SourceRange range; // of the directive
};

// The functions are owned by the module from which the pattern was read.
struct Pattern {
  const Module *module = nullptr;
  std::vector<PatternParameter> parameters;
  std::vector<PerSequence> perSequence;
  std::vector<LearnedParameter> learned;
  // Of select(...) and streams(...); nullopt: there are derived kernels.
  std::optional<Selection> selection;
  std::optional<CpuTiles> tiles;

  // Null: the default, which is causal for `sees` and the identity for
  // `modify`.
  const FunctionDef *sees = nullptr;
  const FunctionDef *modify = nullptr;
  // Functions that the module defines itself; they replace derived ones. Null:
  // not defined.
  const FunctionDef *seesTile = nullptr;
  const FunctionDef *keyRange = nullptr;
  const FunctionDef *queryRange = nullptr;
  const FunctionDef *modifyGrad = nullptr;
  // modify_grad_NAME of each learned parameter, in the order of `learned`.
  std::vector<const FunctionDef *> modifyGradOf;

  const PatternParameter *findParameter(std::string_view name) const;
  const PerSequence *findPerSequence(std::string_view name) const;
  const LearnedParameter *findLearned(std::string_view name) const;
};

// True if the text contains a directive of a pattern. Searches the text and
// does not parse it. A file of kernels may have a function `sees`, too.
bool isPattern(std::string_view text);

// True if the text of a hint (without `# tessera:`) is a directive of a
// pattern. Such a hint is not a hint of the function below it.
bool isPatternDirective(std::string_view hint);

// Reads the directives and finds the functions of a module. Appends a
// diagnostic for each malformed directive, a parameter that no function takes,
// a function parameter that no directive declares, a duplicate, a value of a
// wrong type and a missing `t`, `pos` or `s`.
Pattern readPattern(const Module &module, std::vector<Diagnostic> &diagnostics);

} // namespace tessera::language
