// codegen/gpu/emit/RegisterLimit.h - how many registers ptxas may give a
// thread.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptx/Ptxas.h"

#include <cstdint>
#include <functional>
#include <string>

namespace tessera::codegen::gpu {

// ptxas knows neither how much shared memory a launch asks for nor how many
// blocks an SM could hold, and guesses: it gives loads of a small kernel 148
// registers where 32 do with as many instructions, and now and then gives up
// and puts 33 KB of a large kernel on the stack, "32 registers". So it is asked
// again with --minnctapersm, which bounds the registers. The PTX stays as it
// is: it must not depend on which ptxas there is.
struct Assembled {
  ptx::Cubin cubin;
  uint32_t minBlocks = 0; // AssembleOptions::minBlocks; 0: none
  uint32_t attempts = 0;  // runs of ptxas
};

struct RegisterLimitOptions {
  ptx::AssembleOptions assemble;
  uint64_t sharedBytes = 0; // per block, all of it
  uint32_t threads = 0;     // per block
};

// The most blocks per SM that ptxas makes without a spill and with at most an
// eighth more instructions than it wants; if it always spills, what spills
// least. Depends on the text and the ptxas only. PTX that has a register
// directive is assembled as it is. Throws what assemble() throws for the first
// run; should a later one fail, what there is counts.
Assembled assembleForOccupancy(const std::string &ptx,
                               const RegisterLimitOptions &options);

// The same with a given ptxas, asked for so many blocks: for tests.
using Assembler = std::function<ptx::Cubin(uint32_t minBlocks)>;
Assembled assembleForOccupancy(const std::string &ptx,
                               const RegisterLimitOptions &options,
                               const Assembler &assembler);

// Instructions in a cubin, of 16 bytes each since sm_70; 0 if it cannot be
// read.
uint64_t codeSize(const std::string &cubin);

} // namespace tessera::codegen::gpu
