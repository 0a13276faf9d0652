// tools/diff/Assembly.h - counts the instructions of a compiled kernel by
// class.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tools {

// Returns the classes in the order in which reports list them: "fma", "float
// and vector arithmetic", ...
const std::vector<std::string> &instructionClasses();

// Returns the class of one line of AT&T assembly, or an empty string if it is
// not an instruction.
std::string instructionClass(std::string_view line);

std::map<std::string, int64_t> countInstructions(std::string_view assembly);

// Counts the operations of MLIR text by name ("tile.load", "scf.for").
std::map<std::string, int64_t> countOperations(std::string_view text);

// Counts the instructions of PTX text by opcode ("ld.global.f32"), without
// predicates. Throws Error with the line if the text is not PTX, as ptxCode()
// does.
std::map<std::string, int64_t> countPtx(std::string_view text);

// Returns PTX without empty lines, comments, source locations and debug
// sections, which change with every line of the source. If `entry` is not
// empty, also removes the other entries.
std::string ptxCode(std::string_view text, std::string_view entry);

} // namespace tessera::tools
