// simulator/Watch.h - observes a running block: registers after the
// instructions of a source line.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/isa/Types.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::sim {

struct RegisterValue {
  std::string name; // "%f12"
  // The type in the instructions that use it; None if they do not have one
  // (.b32). F16x2 or Bf16x2 for a register with two halves.
  Type type = Type::None;
  unsigned bits = 32; // of the register; 1: a predicate
  std::array<uint64_t, 32> lanes{};
  uint32_t uninitialized = 0; // lanes, one bit each
};

// One execution of a watched instruction by one warp.
struct WatchStep {
  uint32_t warp = 0;
  uint32_t lanes = 0;       // lanes that executed it
  uint32_t instruction = 0; // in the order of the kernel
  uint64_t execution = 0;   // of this instruction by this warp, from 1
  uint32_t ptxLine = 0;
  std::string text;   // of the instruction
  std::string source; // "kernel.py:12:4", with the lines it was inlined into
  std::vector<RegisterValue> registers; // after it
};

struct Watch {
  std::array<uint32_t, 3> block{};
  // Selects the instructions of a source line: written there or inlined into
  // it. An empty file is the kernel's; other files are compared by the last
  // part of their path.
  std::string file;
  uint32_t line = 0;
  uint32_t ptxLine = 0; // with line 0: of the PTX text
  // Registers to report; empty: those that the instruction writes.
  std::vector<std::string> registers;
  bool alone = true; // only the watched block runs
  std::function<void(const WatchStep &)> step;
};

} // namespace tessera::sim
