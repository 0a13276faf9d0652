// ptx/Listing.h - analyzes a kernel as PTX or SASS text: instructions by class,
// loops, source lines.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptx/Tree.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::ptx {

enum class InstructionClass : uint8_t {
  Mma,         // tensor cores
  LoadMatrix,  // ldmatrix
  AsyncCopy,   // cp.async of bytes (not its commit and wait)
  LoadGlobal,  // generic addresses too
  StoreGlobal, //
  LoadShared,
  StoreShared,
  LoadLocal, // stack: spilled registers, arrays
  StoreLocal,
  Atomic,  // red too
  Barrier, // bar, membar, commit and wait of asynchronous copies
  Shuffle, // shfl, redux, vote, match
  Move,    // from register to register
  Branch,  // call, ret and exit too
  Other,   // parameters, constants, prefetches
  Alu,     // all else
};
constexpr size_t numInstructionClasses = 16;
// Returns the name of a class: "mma", "ldmatrix", "cp.async", "ld.global" ...
const char *instructionClassName(InstructionClass kind);

// A place in a source file, as an index into Listing::files. Line 0: unknown.
struct SourcePlace {
  uint32_t file = 0;
  uint32_t line = 0;
};

struct ListedInstruction {
  InstructionClass kind = InstructionClass::Alu;
  std::string opcode;                  // "ld.global.v4.b32"
  uint32_t textLine = 0, lastLine = 0; // first and last one, from 1
  SourcePlace place; // in the kernel; for an inlined call, that of the call
  SourcePlace inner; // in the called function
  // The targets of a branch, as indices into Listing::code; true if the next
  // instruction of the text may follow.
  std::vector<size_t> targets;
  bool fallsThrough = true;
};

struct InstructionCounts {
  std::array<uint32_t, numInstructionClasses> by{};

  uint32_t operator[](InstructionClass kind) const { return by[size_t(kind)]; }
  uint32_t total() const;
  void add(InstructionClass kind) { ++by[size_t(kind)]; }
  void add(const InstructionCounts &other) {
    for (size_t i = 0; i < by.size(); ++i)
      by[i] += other.by[i];
  }
};

struct ListedLoop {
  InstructionCounts counts; // of all its blocks, inner loops included
  // For an innermost loop: counts of one iteration that executes as many tensor
  // instructions, memory accesses and barriers as possible, and otherwise as
  // few instructions as possible. So it excludes code that most iterations skip
  // (a mask that only the last ones need) and includes conditional copies. For
  // other loops: as `counts`.
  InstructionCounts iteration;
  // Indices into Listing::code in the order of the text, from the head on; the
  // instructions before the head come last.
  std::vector<size_t> body;
  uint32_t firstLine = 0, lastLine = 0; // in the kernel's file; 0: unknown
  uint32_t textLine = 0;                // text line of the loop head
  uint32_t depth = 1;                   // 1: outermost
  bool innermost = true;
};

struct Listing {
  std::string kernel;
  std::string target;             // "sm_80"
  std::string version;            // PTX: "8.7"
  std::vector<std::string> files; // last parts of their paths
  std::vector<ListedInstruction> code;
  std::vector<size_t> labels; // the labelled instructions
  InstructionCounts counts;
  std::vector<ListedLoop> loops; // in the order of the text
  uint32_t threads = 0;          // PTX: product of .reqntid
  uint32_t virtualRegisters = 0; // PTX: of 32 bits, 64-bit ones count twice
  uint64_t staticShared = 0;     // PTX: bytes
  uint32_t asyncWait = 0;        // PTX: largest N of cp.async.wait_group N
  Function function;             // PTX: body[i] is code[i] with its operands
};

// Parses PTX and returns the named kernel, or the first one. Throws Error if it
// does not exist, or with `name` and the line if the text is not PTX.
Listing readPtx(std::string_view text, std::string_view kernel = {},
                const std::string &name = "PTX");
// Parses the output of nvdisasm -g -c. With -gp, the places are lines of the
// PTX.
Listing readSass(std::string_view text, std::string_view kernel = {});

// Returns N of cp.async.wait_group N, 0 for cp.async.wait_all, None for other
// instructions.
uint32_t asyncGroupsLeft(const Instruction &instruction);

// Returns the basic blocks of a listing in text order, each a range [first,
// last) of `code`. A block ends before a label and after a branch.
std::vector<std::pair<size_t, size_t>> basicBlocks(const Listing &listing);

// Finds the natural loops of the flow graph; back edges to one head form one
// loop. Sets `loops` and `counts`.
void analyzeLoops(Listing &listing);

// Returns the ratio of other instructions to tensor instructions over the
// innermost loops with tensor instructions; negative without such a loop.
double loopNonTensorPerTensor(const Listing &listing);

} // namespace tessera::ptx
