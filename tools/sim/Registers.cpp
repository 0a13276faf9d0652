// tools/sim/Registers.cpp - prints registers that a watched line wrote as
// numbers, tables and tiles.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/Registers.h"

#include "simulator/arith/Bits.h"
#include "support/Error.h"
#include "support/Names.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

namespace tessera::tools {

using sim::RegisterValue;
using sim::Type;

namespace {

const std::vector<std::string> &typeNames() {
  static const std::vector<std::string> names = {
      "hex",  "i16",  "u16",  "i32",    "u32",    "i64",   "u64", "fp16",
      "bf16", "fp32", "fp64", "fp16x2", "bf16x2", "i16x2", "pred"};
  return names;
}

bool isFloat(const std::string &name) {
  return name.find("fp") == 0 || name.find("bf") == 0;
}

uint64_t part(const ElementType &type, const RegisterValue &value,
              unsigned lane, unsigned k) {
  uint64_t bits = value.lanes[lane];
  return type.count == 2 ? (bits >> (16 * k)) & 0xffff : bits;
}

double floating(const std::string &name, uint64_t bits) {
  if (name.starts_with("fp16"))
    return sim::f16ToFloat(static_cast<uint16_t>(bits));
  if (name.starts_with("bf16"))
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  if (name == "fp32")
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  return std::bit_cast<double>(bits);
}

int64_t integer(const std::string &name, uint64_t bits) {
  if (name.starts_with("i16"))
    return static_cast<int16_t>(bits);
  if (name == "u16")
    return static_cast<uint16_t>(bits);
  if (name == "i32")
    return static_cast<int32_t>(bits);
  if (name == "u32")
    return static_cast<uint32_t>(bits);
  return static_cast<int64_t>(bits);
}

std::string hexText(const RegisterValue &value, uint64_t bits) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%0*llx",
                static_cast<int>(std::min(value.bits, 64u) / 4),
                static_cast<unsigned long long>(bits));
  return text;
}

std::string padded(const std::string &text, size_t width) {
  return text.size() >= width ? text
                              : std::string(width - text.size(), ' ') + text;
}

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

} // namespace

ElementType elementType(const std::string &name) {
  const std::vector<std::string> &names = typeNames();
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw Error("no type " + name, nearestNameHint(name, names, "types: "));
  return {name, name.ends_with("x2") ? 2u : 1u};
}

ElementType typeOf(const RegisterValue &value) {
  if (value.bits == 1)
    return elementType("pred");
  switch (value.type) {
  case Type::F16:
    return elementType("fp16");
  case Type::Bf16:
    return elementType("bf16");
  case Type::F16x2:
    return elementType("fp16x2");
  case Type::Bf16x2:
    return elementType("bf16x2");
  case Type::F32:
  case Type::Tf32:
    return elementType("fp32");
  case Type::F64:
    return elementType("fp64");
  case Type::S16:
    return elementType("i16");
  case Type::U16:
    return elementType("u16");
  case Type::S32:
    return elementType("i32");
  case Type::U32:
    return elementType("u32");
  case Type::S64:
    return elementType("i64");
  case Type::U64:
    return elementType("u64");
  default:
    return elementType("hex");
  }
}

std::string elementText(const ElementType &type, const RegisterValue &value,
                        unsigned lane, unsigned k) {
  const uint64_t bits = part(type, value, lane, k);
  char text[40];
  if (type.name == "hex")
    return hexText(value, bits);
  if (type.name == "pred")
    return bits ? "true" : "false";
  if (isFloat(type.name)) {
    const int digits = type.name == "fp32" ? 7 : type.name == "fp64" ? 12 : 5;
    std::snprintf(text, sizeof(text), "%.*g", digits,
                  floating(type.name, bits));
    return text;
  }
  if (type.name == "u64")
    return std::to_string(bits);
  return std::to_string(integer(type.name, bits));
}

Json elementJson(const ElementType &type, const RegisterValue &value,
                 unsigned lane, unsigned k) {
  const uint64_t bits = part(type, value, lane, k);
  if (type.name == "hex")
    return hexText(value, bits);
  if (type.name == "pred")
    return bits != 0;
  if (isFloat(type.name)) {
    const double number = floating(type.name, bits);
    if (!std::isfinite(number))
      return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
    return number;
  }
  if (type.name == "u64")
    return bits;
  return integer(type.name, bits);
}

std::string laneTable(const std::vector<Column> &columns, size_t width) {
  std::vector<std::vector<std::string>> cells; // title first
  for (const Column &column : columns) {
    std::vector<std::string> cell = {column.title};
    for (unsigned lane = 0; lane < 32; ++lane) {
      std::string text;
      if (!((column.lanes >> lane) & 1))
        text = ".";
      else
        for (unsigned k = 0; k < column.type.count; ++k)
          text +=
              (k ? " " : "") + elementText(column.type, column.value, lane, k);
      if ((column.lanes & column.value.uninitialized) >> lane & 1)
        text += "?";
      cell.push_back(text);
    }
    cells.push_back(std::move(cell));
  }
  std::string result;
  for (size_t first = 0; first < cells.size();) {
    // Takes as many columns as fit, at least one.
    std::vector<size_t> widths;
    size_t used = 4;
    for (size_t c = first; c < cells.size(); ++c) {
      size_t most = 0;
      for (const std::string &text : cells[c])
        most = std::max(most, text.size());
      if (!widths.empty() && used + most + 2 > width)
        break;
      widths.push_back(most + 2);
      used += most + 2;
    }
    for (unsigned row = 0; row <= 32; ++row) {
      std::string line =
          row ? padded(std::to_string(row - 1), 4) : std::string("lane");
      for (size_t c = 0; c < widths.size(); ++c)
        line += padded(cells[first + c][row], widths[c]);
      result += trimmed(line) + "\n";
    }
    first += widths.size();
    if (first < cells.size())
      result += "\n";
  }
  return result;
}

std::vector<std::string>
assembleTile(const std::vector<std::vector<Column>> &warps,
             const layout::LinearLayout &layout,
             const std::vector<int64_t> &shape) {
  using layout::Dim;
  size_t elements = 0;
  for (const std::vector<Column> &columns : warps) {
    size_t mine = 0;
    for (const Column &column : columns)
      mine += column.type.count;
    elements = std::max(elements, mine);
  }
  const auto wanted = static_cast<size_t>(layout.inSize(Dim::Register));
  if (elements != wanted)
    throw Error("the layout has " + std::to_string(wanted) +
                    " elements a lane, the registers hold " +
                    std::to_string(elements),
                "name the registers of the tile in its order with --registers, "
                "and with --as how many elements one holds");
  if (layout.inSize(Dim::Warp) > static_cast<int64_t>(warps.size()))
    throw Error("the layout has " + std::to_string(layout.inSize(Dim::Warp)) +
                    " warps, the block " + std::to_string(warps.size()),
                "see tessera layout --help for warps=");
  size_t total = 1;
  for (int64_t size : shape)
    total *= static_cast<size_t>(size);
  std::vector<std::string> cells(total, ".");
  for (size_t w = 0; w < warps.size(); ++w) {
    int64_t index = 0;
    for (const Column &column : warps[w])
      for (unsigned k = 0; k < column.type.count; ++k, ++index)
        for (unsigned lane = 0; lane < 32; ++lane) {
          if (!((column.lanes >> lane) & 1))
            continue;
          const std::vector<int64_t> at =
              layout.at({{Dim::Register, index},
                         {Dim::Lane, lane},
                         {Dim::Warp,
                          static_cast<int64_t>(w) % layout.inSize(Dim::Warp)}});
          size_t cell = 0;
          for (size_t axis = 0; axis < shape.size(); ++axis)
            cell = cell * static_cast<size_t>(shape[axis]) +
                   static_cast<size_t>(at[axis]);
          std::string text = elementText(column.type, column.value, lane, k);
          if (column.value.uninitialized >> lane & 1)
            text += "?";
          if (cells[cell] == "." || cells[cell] == text)
            cells[cell] = text;
          else if (!cells[cell].ends_with("!"))
            cells[cell] += "!";
        }
  }
  return cells;
}

std::string tileTable(const std::vector<std::string> &cells,
                      const std::vector<int64_t> &shape, size_t width) {
  const auto columns = static_cast<size_t>(shape.back());
  const size_t rows = cells.size() / columns;
  size_t most = std::to_string(columns - 1).size();
  for (const std::string &cell : cells)
    most = std::max(most, cell.size());
  const size_t head = std::to_string(rows - 1).size() + 1;
  const size_t across =
      std::max<size_t>(1, (std::max(width, head + 1) - head) / (most + 2));
  std::string result;
  for (size_t first = 0; first < columns; first += across) {
    const size_t last = std::min(columns, first + across);
    std::string line(head, ' ');
    for (size_t c = first; c < last; ++c)
      line += padded(std::to_string(c), most + 2);
    result += line + "\n";
    for (size_t r = 0; r < rows; ++r) {
      line = padded(std::to_string(r), head);
      for (size_t c = first; c < last; ++c)
        line += padded(cells[r * columns + c], most + 2);
      result += line + "\n";
    }
    if (last < columns)
      result += "\n";
  }
  return result;
}

} // namespace tessera::tools
