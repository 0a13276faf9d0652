// tools/sim/NamedValue.h - prints values of a kernel by their names: adds a
// print after a line and reads its output.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tools {

// Returns the text with prints of the expressions after the statement that
// contains the line (before a `return`). Line numbers do not change. Throws
// Error if the line is outside of a function, or is the head of a loop, a
// branch or a function.
std::string withPrints(const std::string &text, const std::string &file,
                       uint32_t line,
                       const std::vector<std::string> &expressions);

// One expression of a program after one execution of the line.
struct NamedValue {
  std::string expression;
  std::string type;           // "fp32[64, 64]", "int32"
  std::vector<int64_t> shape; // empty: a scalar
  // Row-major texts; "." if the element was not printed.
  std::vector<std::string> elements;
  uint64_t execution = 0, executions = 0; // the shown one, and their number
};

// Returns the values of one program from the output of a launch. `hit` counts
// from 1; nullopt is the last. Omits an expression that was printed less often.
std::vector<NamedValue> printedValues(
    const std::string &output, const std::vector<std::string> &expressions,
    const std::array<uint32_t, 3> &program, std::optional<uint64_t> hit);

} // namespace tessera::tools
