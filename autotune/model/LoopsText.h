// autotune/model/LoopsText.h - the stage "loops" of a kernel for the cpu, read
// back.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tune {

// An operation, or a loop or a condition with what it holds. Values are
// numbered; those of several results follow each other.
struct LoopsOp {
  enum class Kind { Plain, For, While, If, End };

  Kind kind = Kind::Plain;
  int number = 0;   // of the operation, from 0
  std::string name; // "arith.addi"
  std::string rest; // what follows the name, without attributes in braces
  std::string type; // what follows the last colon, "(...) -> i32" and all
  int firstResult = -1, results = 0;
  // For: lower bound, upper bound, step, then what the loop carries at first.
  // While: what it carries at first. If: the condition. End: what it passes
  // on, of scf.condition after the condition.
  std::vector<int> operands;
  // For: the counter, then what is carried. While: what `first` gets.
  std::vector<int> arguments;
  std::vector<int> secondArguments; // While: what `second` gets
  // For: the body. While: up to its condition, and its body. If: both ways.
  std::vector<LoopsOp> first, second;
};

struct LoopsText {
  std::vector<int> arguments; // slots, program, grid, scratch: pointers
  std::vector<LoopsOp> body;
  int values = 0, operations = 0; // there are so many
  uint64_t scratchBytes = 0;
};

// Throws Error, with the number of the line, where the text is none of the
// compiler's (compiler/Compile.h, the stage "loops").
LoopsText readLoops(std::string_view text);

} // namespace tessera::tune
