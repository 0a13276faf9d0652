// codegen/gpu/emit/RegisterLimit.h - limits the registers per thread in ptxas.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptx/Ptxas.h"

#include <cstdint>
#include <functional>
#include <string>

namespace tessera::codegen::gpu {

// The result of ptxas. ptxas does not know the dynamic shared memory of a
// launch and so not how many blocks fit on an SM. It may use 148 registers
// where 32 suffice, or spill 33 KB of a large kernel. assembleForOccupancy()
// therefore runs it again with --minnctapersm, which limits the registers. It
// does not change the PTX, which must not depend on the installed ptxas.
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

// Returns the cubin for the most blocks per SM that ptxas reaches without
// spills and with at most an eighth more instructions than without a limit. If
// every run spills, returns the one that spills least. The result depends only
// on the text and on ptxas. PTX with a register directive is assembled once,
// without a limit. Throws what assemble() throws for the first run; if a later
// run fails, the earlier results are used.
Assembled assembleForOccupancy(const std::string &ptx,
                               const RegisterLimitOptions &options);

// The same with a given assembler, which takes the number of blocks; for tests.
using Assembler = std::function<ptx::Cubin(uint32_t minBlocks)>;
Assembled assembleForOccupancy(const std::string &ptx,
                               const RegisterLimitOptions &options,
                               const Assembler &assembler);

// Returns the number of instructions in a cubin, which have 16 bytes each since
// sm_70; 0 if the cubin cannot be read.
uint64_t codeSize(const std::string &cubin);

} // namespace tessera::codegen::gpu
