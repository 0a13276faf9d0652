// autotune/model/CpuWork.h - what the programs of a launch on the cpu have to
// do.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "autotune/model/LoopsText.h"
#include "runtime/Kernel.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::tune {

// Operations by what they cost. Those on vectors count in vectors of the
// machine: one of 32 floats is two where the machine's have 512 bits.
struct CpuWork {
  double products = 0;   // multiply-adds of vectors
  double arithmetic = 0; // other arithmetic of vectors
  double moves = 0; // loads, stores and broadcasts of vectors; each element of
                    // a gather or scatter
  double scalars = 0;    // operations on single numbers and addresses
  double iterations = 0; // of loops

  CpuWork &operator+=(const CpuWork &other) { return add(other, 1); }
  CpuWork &add(const CpuWork &other, double times);
  bool operator==(const CpuWork &) const = default;
};

// Of one operation, whose blocks do not count; `vectorBits` of the machine.
CpuWork workOf(const LoopsOp &op, unsigned vectorBits);

// Memory that the launch's pointers lead to: what a loop's bounds are read
// from, such as cu_seqlens.
struct ReadableMemory {
  const void *begin = nullptr;
  size_t bytes = 0;
};

// A kernel whose text is followed for single programs: numbers and addresses
// are computed, as are branches and the bounds of loops that depend on them.
// Elements of tiles are not: where a branch depends on one, half of either way
// counts, and a loop whose bounds do has `unknownTrips`. Loops of operations
// and loops with constant bounds are counted and not followed; of others eight
// iterations stand for all, unless numbers go from one to the next.
class CpuWorkCounter {
public:
  static constexpr double unknownTrips = 4;

  CpuWorkCounter(LoopsText text, unsigned vectorBits);

  // The work of program `pid`. `slots`: as the kernel gets them, see
  // CpuModule.h; pointers lead to `memory`.
  CpuWork of(const uint32_t (&pid)[3], const Grid &grid,
             std::span<const int64_t> slots,
             std::span<const ReadableMemory> memory) const;

  uint64_t scratchBytes() const { return text.scratchBytes; }

  // What is known of an operation before anything is followed.
  struct Facts {
    CpuWork own;
    // Of loops: every iteration has the same work, this one.
    bool alike = false;
    CpuWork iteration;
  };

private:
  LoopsText text;
  std::vector<Facts> facts; // by LoopsOp::number
};

// Of all programs of a launch.
struct LaunchWork {
  CpuWork all;     // of all together, from samples
  CpuWork largest; // of the sampled program with the most operations
  double programs = 0;
  uint64_t scratchBytes = 0; // of a program
};

// From up to `samples` programs, evenly along the grid, the last one among
// them.
LaunchWork launchWork(const CpuWorkCounter &counter, const Grid &grid,
                      std::span<const int64_t> slots,
                      std::span<const ReadableMemory> memory, int samples = 32);

} // namespace tessera::tune
