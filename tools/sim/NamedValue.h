// tools/sim/NamedValue.h - values of a kernel by their names: a print that is
// added behind a line, and what it wrote.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tools {

// The text with prints of the expressions behind the statement that holds the
// line (in front of a `return`). No line moves. Throws Error where the line is
// in no function, or is the head of a loop, a branch or a function.
std::string withPrints(const std::string &text, const std::string &file,
                       uint32_t line,
                       const std::vector<std::string> &expressions);

// One expression of a program after one execution of the line.
struct NamedValue {
  std::string expression;
  std::string type;           // "fp32[64, 64]", "int32"
  std::vector<int64_t> shape; // empty: a scalar
  // Row-major texts; "." where the element was not printed.
  std::vector<std::string> elements;
  uint64_t execution = 0, executions = 0; // the one shown, of how many
};

// From what the launch wrote, of one program. `hit` counts from 1; nullopt is
// the last. An expression that was printed less often is left out.
std::vector<NamedValue> printedValues(
    const std::string &output, const std::vector<std::string> &expressions,
    const std::array<uint32_t, 3> &program, std::optional<uint64_t> hit);

} // namespace tessera::tools
