// tools/sim/Registers.h - prints registers that a watched line wrote as
// numbers, tables and tiles.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dialect/layout/LinearLayout.h"
#include "simulator/Watch.h"
#include "support/Json.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::tools {

// Interpretation of a register's bits. A register of 32 bits holds two elements
// of 16 bits ("fp16x2") or one element; other registers hold one.
struct ElementType {
  std::string name; // "fp32", "fp16x2", "i32", "hex", "pred"
  unsigned count = 1;
};
// Returns the type named "fp32" and so on. Throws Error with the nearest name.
ElementType elementType(const std::string &name);
// Returns the type that the instructions imply, or else hex.
ElementType typeOf(const sim::RegisterValue &value);

// Return element k of a lane: as readable text, or as a JSON number (a string
// for hex, inf and nan).
std::string elementText(const ElementType &type,
                        const sim::RegisterValue &value, unsigned lane,
                        unsigned k);
Json elementJson(const ElementType &type, const sim::RegisterValue &value,
                 unsigned lane, unsigned k);

// A register of one warp after an instruction.
struct Column {
  std::string title; // "%f12", with its PTX line if the name occurs twice
  ElementType type;
  sim::RegisterValue value;
  uint32_t lanes = 0; // that executed the instruction
};
// Returns tables with a row for each lane and a column for each register, as
// many columns to a table as `width` allows. "." marks a lane that did not
// execute; "?" follows an uninitialized value.
std::string laneTable(const std::vector<Column> &columns, size_t width);

// Assembles a tile from the registers of all warps: warps[w] are the columns of
// warp w; their elements in order are the registers of the layout. Returns
// row-major texts: "." for an element that was not computed, and "!" after an
// element whose copies differ. Throws Error if the numbers do not fit.
std::vector<std::string>
assembleTile(const std::vector<std::vector<Column>> &warps,
             const layout::LinearLayout &layout,
             const std::vector<int64_t> &shape);
std::string tileTable(const std::vector<std::string> &cells,
                      const std::vector<int64_t> &shape, size_t width);

} // namespace tessera::tools
