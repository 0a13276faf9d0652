// simulator/Findings.h - errors and counters of a simulated launch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/isa/Types.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tessera::sim {

enum class Check : uint8_t {
  OutOfBounds,
  Misaligned,
  Uninitialized,
  DivisionByZero, // whose quotient or remainder is used
  SharedRace,
  AsyncRead, // reads data of a copy before waiting for it
  DivergentBarrier,
  Deadlock,
  GlobalConflict,
  AddressOverflow,
  ReadOnly,
  Assertion,
  Trap,
  EndlessLoop,
  DivergentWarp, // a warp-wide instruction lacks lanes of its mask
  Unsupported,
};
const char *checkName(Check check);

// An error of a kernel. It ends the run of its block.
struct Finding {
  Check check = Check::OutOfBounds;
  std::string message; // one sentence
  std::string kernel;
  std::string source;      // "kernel.py:12:4", "" without line information
  uint32_t sourceLine = 0; // of the statement itself, 0 when unknown
  uint32_t ptxLine = 0;
  std::string instruction; // its PTX text
  std::array<uint32_t, 3> block{};
  uint32_t warp = 0, lane = 0;
  std::array<uint32_t, 3> thread{};
  uint64_t address = 0; // of the access, if any
  std::string place;    // "A + 0x40 of 4096 bytes", "shared + 0x80"
  std::string history;  // the access it conflicts with

  std::string text() const; // several readable lines
};

// Counts of one instruction of the kernel, summed over all blocks, so that
// callers can group them in any way.
struct InstructionCount {
  uint32_t ptxLine = 0, sourceLine = 0;
  std::string source;
  std::string opcode;
  Class kind = Class::Other;
  uint64_t warps = 0, lanes = 0; // executions with at least one lane
  uint64_t issues = 0;           // executions, also without active lanes
  uint64_t requests = 0;         // memory accesses by warps
  uint64_t ways = 0;             // shared: passes over the banks
  uint64_t leastWays = 0;        // shared: the fewest for these widths
  uint64_t copyWays = 0;         // cp.async: passes that write its bytes
  uint64_t leastCopyWays = 0;    // cp.async: the fewest for its width
  uint64_t sectors = 0;          // global: 32-byte sectors
  uint64_t lines = 0;            // global: 128-byte lines
};

struct Counters {
  std::vector<InstructionCount> instructions;
  std::array<uint64_t, NumClasses> byClass{}; // warp instructions
  uint64_t warpInstructions = 0, laneInstructions = 0;
  uint64_t tensorInstructions = 0;
  uint64_t sharedRequests = 0, sharedWays = 0;
  uint64_t sharedConflicts = 0; // passes beyond the fewest
  // cp.async writes shared memory, too. Apart from the figures above, to which
  // the constants of the cost model are fitted (autotune/model/Profile.cpp).
  uint64_t copyRequests = 0, copyWays = 0, copyConflicts = 0;
  uint64_t globalRequests = 0, globalSectors = 0;
  uint64_t l2Lines = 0;        // different 128-byte lines touched by the launch
  uint64_t asyncMaxGroups = 0; // committed and not waited for, most in a thread
  uint64_t barriers = 0;
  uint64_t blocks = 0, warps = 0;
  uint32_t sharedBytes = 0;   // of a block, as launched
  uint32_t sharedTouched = 0; // end of the highest byte that a block accessed

  void add(const Counters &other);
};

struct Report {
  std::string kernel;
  std::vector<Finding> findings; // of the first block with an error
  std::string output;            // of vprintf
  Counters counters;

  bool ok() const { return findings.empty(); }
  std::string text() const;
  // Throws Error with text() if there are findings.
  void throwIfBad() const;
};

} // namespace tessera::sim
