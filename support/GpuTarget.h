// support/GpuTarget.h - what a GPU of a compute capability can hold.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// How many blocks of a kernel one SM holds at once, and what ends it.
struct Occupancy {
  uint32_t blocks = 0; // 0: the kernel cannot be launched
  uint32_t warps = 0;  // of all those blocks
  // "registers", "shared memory", "warps" or "blocks": the tightest limit; of
  // several equal ones the first in this order.
  std::string limit;
};

// "sm_80": the name says all that the compiler has to know. Numbers: CUDA C++
// Programming Guide, table "Technical Specifications per Compute Capability";
// granularities: the occupancy calculator of the CUDA toolkit
// (cuda_occupancy.h).
// Programs along x of a usual launch, at most. Code that may take this for
// granted knows that a program's number times a tile of up to 1,024 rows fits
// into 32 bits; launches of more programs have code of their own.
inline constexpr uint32_t narrowGrid = 1u << 21;

struct GpuTarget {
  std::string name;               // "sm_80"
  uint32_t computeCapability = 0; // 80

  uint32_t sharedPerBlock = 0; // most bytes a block may ask for (opt-in)
  uint32_t sharedPerSm = 0;    // bytes
  // Bytes of an SM's shared memory that the system takes for every block, and
  // the unit in which a block's own is allocated.
  uint32_t sharedReserved = 1024;
  uint32_t sharedUnit = 128;

  uint32_t registersPerSm = 65536; // of 32 bits
  uint32_t registersPerBlock = 65536;
  uint32_t registersPerThread = 255;
  // Registers are allocated to warps in this unit, each warp in one of the
  // SM's partitions.
  uint32_t registerUnit = 256;
  uint32_t partitions = 4;

  uint32_t threadsPerBlock = 1024;
  uint32_t threadsPerSm = 0;
  uint32_t warpsPerSm = 0;
  uint32_t blocksPerSm = 0;

  // Version of the PTX that is emitted, 87 for 8.7: what ptxas 12.8 reads.
  uint32_t ptxVersion = 87;

  bool hasBf16Atomics() const { return computeCapability >= 90; }

  // Blocks per SM of a kernel with this many registers per thread, bytes of
  // shared memory per block (static and dynamic) and threads per block.
  Occupancy occupancy(uint32_t registers, uint64_t sharedBytes,
                      uint32_t threads) const;

  // Throws Error that names the known targets for any other text.
  static GpuTarget parse(std::string_view text);
  // "sm_80", ... in ascending order.
  static std::vector<std::string> names();
  // Whether the text is meant as a GPU target: "sm_80", also "sm_999".
  static bool looksLike(std::string_view text) {
    return text.substr(0, 3) == "sm_";
  }
};

} // namespace tessera
