// simulator/machine/Decode.h - decodes a function of the tree to a Program.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/isa/Table.h"
#include "simulator/machine/Program.h"

#include <map>
#include <string>
#include <vector>

namespace tessera::sim {

// Decodes an entry, with the functions it calls inlined. `addresses` holds the
// host address of each module variable in global or constant memory. Throws
// Error that names the line and the instruction.
Program decodeKernel(const ptx::Module &module, const ptx::Function &entry,
                     const std::vector<uint64_t> &addresses);

// Sets Inst::reconverge of all branches: the immediate post-dominator, where
// all lanes meet again; ~0 when there is none.
void findReconvergence(Program &program);

// Functions of the CUDA runtime that the simulator provides; null for others.
// op[k]: rows of the constants with the local addresses of the arguments, then
// that of the result.
Exec builtinFunction(const std::string &name);

class Decoder {
public:
  Decoder(const ptx::Module &module, const std::vector<uint64_t> &addresses);
  Program run(const ptx::Function &entry);

private:
  // One inlined call, or the entry.
  struct Frame {
    const ptx::Function *fn = nullptr;
    uint32_t number = 0;           // Program::frames
    std::vector<uint32_t> rows;    // of registers
    std::vector<uint64_t> offsets; // of variables in their space
    std::vector<uint32_t> starts;  // of instructions: index in code
    std::vector<uint32_t> exits;   // branches to the end of an inlined call
    std::vector<std::pair<uint32_t, uint32_t>> branches; // code, label
    std::vector<std::pair<uint32_t, uint32_t>> tables;   // code, table
  };

  [[noreturn]] void fail(const std::string &what, const std::string &hint);
  void layoutShared(const ptx::Function &entry);
  Frame openFrame(const ptx::Function &fn, bool isEntry);
  void body(Frame &frame, int depth);
  void instruction(Frame &frame, const ptx::Instruction &inst, int depth);
  void operands(Frame &frame, const ptx::Instruction &source,
                const Match &match, Inst &inst);
  void barrierOperands(Frame &frame, const ptx::Instruction &source,
                       const Match &match, Inst &inst);
  void copyOperands(Frame &frame, const ptx::Instruction &source,
                    const Match &match, Inst &inst);
  void movOperands(Frame &frame, const ptx::Instruction &source,
                   const Match &match, Inst &inst);
  void call(Frame &frame, const ptx::Instruction &source, int depth);
  void setSpace(const Match &match, Inst &inst);
  // Fails for an instruction that the module's target does not have.
  void checkTarget(const ptx::Instruction &source);
  void checkVectors(const Match &match, const Inst &inst,
                    const std::vector<uint32_t> &lengths);
  void emit(const Inst &inst);
  void emitMove(uint32_t to, uint32_t from, unsigned bits);

  uint32_t newRow(unsigned bits);
  uint32_t constant(unsigned bits, uint64_t value);
  uint32_t special(ptx::Special which);
  uint32_t registerOf(Frame &frame, const ptx::Operand &operand, unsigned bits,
                      bool relaxed, const char *role);
  uint32_t destination(Frame &frame, const ptx::Operand &operand, unsigned bits,
                       bool relaxed, bool sinkAllowed);
  uint32_t source(Frame &frame, const ptx::Operand &operand, Type type,
                  unsigned bits, bool relaxed);
  uint32_t predicate(Frame &frame, const ptx::Operand &operand, Inst &inst,
                     unsigned position, bool isSource);
  uint32_t address(Frame &frame, const ptx::Operand &operand, Inst &inst,
                   int64_t &offset, bool &wide);
  uint64_t symbolAddress(Frame &frame, const ptx::Operand &operand,
                         ptx::Space &space);
  unsigned registerBits(const Frame &frame, const ptx::Operand &operand) const;

  const ptx::Module &module;
  const std::vector<uint64_t> &addresses;
  Program program;
  std::map<std::pair<unsigned, uint64_t>, uint32_t> constants;
  std::map<ptx::Special, uint32_t> specials;
  // Offsets in shared memory of module variables and of functions' variables.
  std::vector<uint64_t> moduleShared;
  std::map<std::pair<const ptx::Function *, uint32_t>, uint64_t> functionShared;
  uint32_t dynamicBase = 0;
  const ptx::Instruction *current = nullptr;
  std::string where; // chain of inlined functions
};

} // namespace tessera::sim
