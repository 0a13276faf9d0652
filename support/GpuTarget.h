// support/GpuTarget.h - resource limits of a GPU's compute capability.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Number of blocks of a kernel that one SM holds, and the resource that limits
// it.
struct Occupancy {
  uint32_t blocks = 0; // 0: the kernel cannot be launched
  uint32_t warps = 0;  // of all those blocks
  // The tightest limit: "registers", "shared memory", "warps" or "blocks".
  // Among equal limits, the first in this order.
  std::string limit;
};

// "sm_80": the name says all that the compiler has to know. Numbers: CUDA C++
// Programming Guide, table "Technical Specifications per Compute Capability";
// granularities: the occupancy calculator of the CUDA toolkit
// (cuda_occupancy.h).
// Maximum number of programs along x of a launch with normal code. Such code
// can assume that a program id times a tile of up to 1,024 rows fits into 32
// bits. Larger grids use separately compiled code.
inline constexpr uint32_t narrowGrid = 1u << 21;

struct GpuTarget {
  std::string name;               // "sm_80"
  uint32_t computeCapability = 0; // 80

  uint32_t sharedPerBlock = 0; // most bytes a block may ask for (opt-in)
  uint32_t sharedPerSm = 0;    // bytes
  // Bytes of an SM's shared memory that the system reserves for each block, and
  // the allocation unit of a block's own shared memory.
  uint32_t sharedReserved = 1024;
  uint32_t sharedUnit = 128;

  uint32_t registersPerSm = 65536; // of 32 bits
  uint32_t registersPerBlock = 65536;
  uint32_t registersPerThread = 255;
  // Allocation unit of a warp's registers. Each warp is located in one of the
  // SM's partitions.
  uint32_t registerUnit = 256;
  uint32_t partitions = 4;

  uint32_t threadsPerBlock = 1024;
  uint32_t threadsPerSm = 0;
  uint32_t warpsPerSm = 0;
  uint32_t blocksPerSm = 0;

  // Emitted PTX version, 87 for 8.7, which ptxas 12.8 reads.
  uint32_t ptxVersion = 87;

  bool hasBf16Atomics() const { return computeCapability >= 90; }

  // Returns the blocks per SM of a kernel. `registers`: per thread;
  // `sharedBytes`: shared memory per block (static and dynamic); `threads`: per
  // block.
  Occupancy occupancy(uint32_t registers, uint64_t sharedBytes,
                      uint32_t threads) const;

  // Parses a target. Throws Error with the known targets for any other text.
  static GpuTarget parse(std::string_view text);
  // Returns the names of all targets, "sm_80" ..., in ascending order.
  static std::vector<std::string> names();
  // True if the text has the form of a GPU target: "sm_80", also "sm_999".
  static bool looksLike(std::string_view text) {
    return text.substr(0, 3) == "sm_";
  }
};

} // namespace tessera
