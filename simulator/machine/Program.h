// simulator/machine/Program.h - a kernel decoded for execution.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Registers live in rows of 32 lanes x 4 bytes; a 64-bit register has two rows
// (32 x 8 bytes), a 128-bit one four, a predicate one (a lane mask in its first
// word). Constants and special registers have rows like any register, so that
// an operand is nothing but a row's number.
#pragma once

#include "ptx/Tree.h"
#include "simulator/isa/Table.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera::sim {

struct Warp;
struct Inst;

inline constexpr uint32_t RowBytes = 128;
inline constexpr uint32_t Lanes = 32;
inline constexpr uint32_t NoRow = ~uint32_t{0};

// Windows of generic addresses; everything below is a global address of the
// host.
inline constexpr uint64_t SharedWindow = 0x0100'0000'0000'0000;
inline constexpr uint64_t LocalWindow = 0x0200'0000'0000'0000;
inline constexpr uint64_t ParamWindow = 0x0300'0000'0000'0000;
inline constexpr uint64_t WindowMask = 0xff00'0000'0000'0000;

enum class MemSpace : uint8_t { Generic, Global, Shared, Local, Const, Param };

// Executes for the lanes of `mask`, which is not empty.
using Exec = void (*)(Warp &warp, const Inst &inst, uint32_t mask);

// What the block's loop does itself.
enum class Flow : uint8_t {
  None, // calls exec
  Branch,
  BranchTable,
  Exit,
  Trap,
  Assert,
  Barrier,
  Nop,
};

struct Inst {
  Exec exec = nullptr;
  uint32_t op[14] = {};    // rows: destinations, then sources, in operand order
  uint32_t guard = NoRow;  // row of the predicate
  uint32_t negated = 0;    // bit i: predicate op[i] is negated
  uint32_t index = 0;      // in Program::code
  uint32_t target = 0;     // branch
  uint32_t reconverge = 0; // where both sides of a branch meet
  int64_t imm = 0;         // offset of an address, table of lop3, ...
  Sem sem = Sem::Nop;
  Class kind = Class::Other;
  Flow flow = Flow::None;
  MemSpace space = MemSpace::Generic;
  uint8_t count = 1;           // elements of a vector access
  uint8_t bytes = 4;           // of an element
  uint8_t mode = 0, mode2 = 0; // of the family
  bool guardNegated = false;
  bool uniform = false;    // bra.uni
  bool wideAddress = true; // the address register has 64 bits
  bool flag = false;
  bool nonCoherent = false; // ld.global.nc
  uint8_t order = 0;        // of a strong memory access: OrderBits
};

// What an atomic, a strong load or store orders. Relaxed ones order through the
// fences around them.
// BlockScope: `.cta`, which orders nothing between blocks.
enum OrderBits : uint8_t {
  Acquires = 1,
  Releases = 2,
  Strong = 4,
  BlockScope = 8
};

// For messages and counters; not touched while running.
struct InstInfo {
  uint32_t line = 0; // of the PTX text
  uint32_t location = ptx::None;
  std::string text; // opcode and operands, shortened
  std::string opcode;
  const ptx::Instruction *source = nullptr; // null: made by the decoder
  uint32_t frame = 0;                       // Program::frames
};

// A row that holds the same in every launch or is filled at the start of one.
struct ConstantRow {
  uint32_t row;
  uint8_t bits; // 1, 32, 64
  uint64_t value;
};
struct SpecialRow {
  uint32_t row;
  ptx::Special special;
};

struct ParamSlot {
  std::string name;
  uint32_t offset = 0, bytes = 0;
};

struct Program {
  std::string name;
  std::vector<Inst> code;
  std::vector<InstInfo> info;
  std::vector<std::vector<uint32_t>> tables; // brx.idx targets
  uint32_t numRows = 0;
  // The entry and its inlined calls: where their registers are.
  struct FrameRows {
    const ptx::Function *fn;
    std::vector<uint32_t> rows;
  };
  std::vector<FrameRows> frames;
  std::vector<ConstantRow> constants;
  std::vector<SpecialRow> specials;
  std::vector<ParamSlot> params;
  uint32_t paramBytes = 0;
  uint32_t staticShared = 0;   // bytes; dynamic shared memory follows
  uint32_t localBytes = 0;     // of a lane
  uint32_t sharedGranule = 16; // bytes: narrowest access to shared memory
  uint32_t globalGranule = 16; // narrowest store to global memory
  std::array<uint32_t, 3> reqntid{}, maxntid{};
};

} // namespace tessera::sim
