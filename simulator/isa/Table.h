// simulator/isa/Table.h - the instruction table: maps the text of an opcode to
// its row.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/isa/Types.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::sim {

// What an instruction means; a family of types shares one.
enum class Sem : uint16_t {
#define SIM_SEMANTICS(name) name,
#include "simulator/isa/Semantics.def"
#undef SIM_SEMANTICS
};

// One element of a suffix pattern: alternatives of which one stands there.
struct SuffixGroup {
  std::vector<std::string_view> alternatives;
  bool optional = false;
  bool isType = false;
};

// A letter of the operand signature (Instructions.def explains them).
struct OperandRule {
  enum class Role : uint8_t {
    Dest,            // D
    DestPair,        // Q: register, or register|predicate
    DestPredicate,   // P
    DestPredicates,  // PP: p or p|q
    Source,          // S
    SourcePredicate, // p
    DestVector,      // V
    SourceVector,    // U
    Address,         // A
    Immediate,       // I
    Label,           // L
  };
  Role role;
  int8_t typeIndex = -1; // of the suffix's types; -1: `fixed`
  Type fixed = Type::None;
  bool wide = false;    // twice the width of the type
  bool relaxed = false; // the register may be wider
  bool optional = false;
  uint8_t count = 0; // of a vector; 0: what .v2, .v4, .v8 say
};

struct InstructionRow {
  std::string_view mnemonic;
  std::vector<SuffixGroup> suffix;
  std::vector<OperandRule> operands;
  Sem sem;
  Class kind;
};

// An opcode found in the table.
struct Match {
  const InstructionRow *row = nullptr;
  std::array<Type, 6> types{}; // in the order of the suffix
  unsigned numTypes = 0;
  std::vector<std::string_view> modifiers; // those that are no types

  bool has(std::string_view modifier) const {
    for (std::string_view m : modifiers)
      if (m == modifier)
        return true;
    return false;
  }
  Type type(unsigned i = 0) const { return i < 6 ? types[i] : Type::None; }
};

// Finds the row of "add.sat.s32". `candidates` counts the rows of the same
// mnemonic that have the suffix but another number of operands; `operands`
// picks among rows that differ in it. Returns false, with a hint, when there is
// none.
bool matchInstruction(std::string_view opcode, unsigned operands, Match &match,
                      std::string &hint);

// All rows, in the order of the table.
const std::vector<InstructionRow> &instructionTable();

} // namespace tessera::sim
