// simulator/isa/Targets.h - which GPUs execute an instruction, and how much
// shared memory a block may use on them.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera::sim {

// Returns the smallest compute capability that executes the instruction, 80 for
// sm_80; 0 if every GPU of the PTX ISA 8.7 does. `opcode` is the mnemonic with
// its suffixes: "atom.global.add.noftz.bf16".
uint32_t requiredCapability(std::string_view opcode);

// Returns the 80 of "sm_80", "sm_80a" or "sm_80, texmode_independent"; 0 if the
// text does not name a compute capability.
uint32_t capabilityOf(std::string_view target);

// Bytes of static shared memory that every GPU allows a block.
inline constexpr uint32_t staticSharedLimit = 48 * 1024;
// Returns the bytes of shared memory, static and dynamic, that a block may use
// (CUDA C++ Programming Guide, table "Technical Specifications per Compute
// Capability"). An unknown capability has the limit of the largest.
uint32_t sharedLimit(uint32_t capability);

} // namespace tessera::sim
