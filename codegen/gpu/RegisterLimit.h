// codegen/gpu/RegisterLimit.h - how many registers ptxas may give a thread.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codegen/gpu/Ptxas.h"

#include <cstdint>
#include <functional>
#include <string>

namespace tessera::codegen {

// ptxas knows neither how much shared memory a launch asks for nor how many
// blocks an SM could hold, and guesses: it gives loads of a small kernel 148
// registers where 32 do with as many instructions, and now and then gives up
// and puts 33 KB of a large kernel on the stack, "32 registers". So it is asked
// again with .minnctapersm (PTX ISA, "Performance-Tuning Directives"), which
// bounds the registers.
struct Assembled {
  std::string ptx; // with the directive, if one was chosen
  Cubin cubin;
  uint32_t minBlocks = 0; // of .minnctapersm; 0: none
  uint32_t attempts = 0;  // runs of ptxas
};

struct RegisterLimitOptions {
  AssembleOptions assemble;
  uint64_t sharedBytes = 0; // per block, all of it
  uint32_t threads = 0;     // per block
};

// The most blocks per SM that ptxas makes without a spill and with at most an
// eighth more instructions than it wants; if it always spills, what spills
// least. Depends on the text and the ptxas only. PTX that has a register
// directive is assembled as it is. Throws what assemble() throws.
Assembled assembleForOccupancy(const std::string &ptx,
                               const RegisterLimitOptions &options);

// The same with a given ptxas: for tests.
using Assembler = std::function<Cubin(const std::string &ptx)>;
Assembled assembleForOccupancy(const std::string &ptx,
                               const RegisterLimitOptions &options,
                               const Assembler &assembler);

// Instructions in a cubin, of 16 bytes each since sm_70; 0 if it cannot be
// read.
uint64_t codeSize(const std::string &cubin);

// The text with `.minnctapersm blocks` behind the entry's .reqntid.
std::string withMinBlocks(const std::string &ptx, uint32_t blocks);

} // namespace tessera::codegen
