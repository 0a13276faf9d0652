// simulator/machine/WatchPoint.h - a program with hooks after the instructions
// of a line.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Executing functions are replaced in a copy of the program, so that a launch
// that is not watched pays nothing.
#pragma once

#include "simulator/Watch.h"
#include "simulator/machine/Program.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace tessera::sim {

class WatchPoint {
public:
  // Inserts the hooks. Throws Error if the line does not have instructions or
  // the kernel does not have a register. `block`: the linear number of the
  // watched block.
  WatchPoint(const ptx::Module &module, const Program &program,
             const Watch &watch, uint64_t block);

  const Program &program() const { return copy; }
  // Called by the hook.
  void executed(Warp &w, const Inst &i, uint32_t mask);

private:
  struct Shown {
    uint32_t row;
    unsigned bits;
    Type type;
    std::string name;
  };
  bool matches(const ptx::Module &module, uint32_t inst) const;
  std::vector<Shown> results(const InstInfo &info) const;
  Shown shown(uint32_t frame, uint32_t reg) const;
  void inferTypes();
  void infer(uint32_t frame);
  void vote(uint32_t frame, const ptx::Operand &operand, Type type);

  const ptx::Module &module;
  const Watch &watch;
  uint64_t block;
  Program copy;
  std::vector<Exec> original;
  std::vector<std::vector<Shown>> registers; // of each instruction
  std::vector<std::vector<Type>> types;      // of each frame's registers
  std::vector<std::vector<uint64_t>> counts; // of each warp's instructions
};

} // namespace tessera::sim
