// simulator/Sim.h - the public interface of the simulator, which runs PTX on
// the CPU and checks every access.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
//   auto module = sim::Module::load(ptxText, "matmul.ptx");
//   sim::Memory memory;
//   memory.add("A", a.data(), a.size() * 4);           // known bounds
//   sim::Report report = module.launch("matmul", {8, 8, 1}, {128, 1, 1}, 49152,
//                                      {sim::pointer(a.data()),
//                                      sim::scalar(n)}, memory, {});
//   report.throwIfBad();
//
// Addresses in kernels are host addresses; those outside of what `memory` lists
// are errors. docs/simulator.md describes machine, checks and counters.
#pragma once

#include "simulator/Findings.h"
#include "simulator/arith/TensorCores.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::sim {

struct Program;
struct Watch;
class ModuleState;

using Dim3 = std::array<uint32_t, 3>;

// One kernel parameter: its bytes, little-endian.
struct Param {
  std::vector<uint8_t> bytes;
};
Param pointer(const void *address);
template <class T>
Param scalar(const T &value) {
  const auto *first = reinterpret_cast<const uint8_t *>(&value);
  return {{first, first + sizeof(T)}};
}

// The memory that a kernel may access. With `initialized` = false, bytes that
// no kernel has written are uninitialized: a value read from them is an error
// once it reaches a store, an address or a branch.
struct Memory {
  struct Range {
    std::string name;
    void *address = nullptr;
    uint64_t bytes = 0;
    bool writable = true;
    bool initialized = true;
    bool atomics = false; // may write, though stores may not (a lock)
  };
  std::vector<Range> ranges;

  void add(std::string name, void *address, uint64_t bytes,
           bool writable = true, bool initialized = true) {
    ranges.push_back({std::move(name), address, bytes, writable, initialized});
  }
  void add(std::string name, const void *address, uint64_t bytes) {
    ranges.push_back(
        {std::move(name), const_cast<void *>(address), bytes, false, true});
  }
};

// Which unordered accesses to one location are conflicts. Different: two stores
// of different values, by two blocks or by two threads of a block; a store that
// changes a value and a load by another block, or a load by another thread
// whose value is used (with `uninitialized`). All: also equal stores of two
// blocks.
enum class GlobalConflicts : uint8_t { Off, Different, All };

struct Options {
  // 0: blocks in grid order; warps alternate in turns of thousands of
  // instructions. Other values select a reproducible random schedule: order of
  // blocks, order and length of the warps' turns, and the side of a divergent
  // branch that runs first. A correct kernel gives the same results.
  uint64_t seed = 0;
  // Independent thread scheduling: lanes of a warp run separately, in an order
  // that `seed` selects, until the ISA requires them to synchronize. They do so
  // at barriers, at instructions with a member mask (the named lanes), and at
  // instructions that all lanes execute together (mma, ldmatrix). Counters
  // count the executed instructions: more than in lockstep.
  bool lanesApart = false;
  // True: cp.async reads its source at issue. False: as late as allowed, when
  // its group is waited for.
  bool copiesReadAtIssue = false;
  TensorCores tensorCores = TensorCores::Fused; // how products are added
  // Number of blocks that run concurrently on the calling thread, a few
  // instructions at a time, like GPU blocks that wait for each other. When one
  // ends, the next starts. If all of them repeat the same instructions on the
  // same values, the finding is a deadlock. 0: each block runs to its end.
  unsigned resident = 0;
  bool serial = false;  // blocks one after the other on the calling thread
  unsigned threads = 0; // 0: one per core
  bool races = true;    // of shared memory
  bool uninitialized = true;
  bool overflow = true; // signed 32-bit overflow that reaches an address
  bool counters = true; // bank conflicts, sectors, lines
  GlobalConflicts conflicts = GlobalConflicts::Different;
  // A block that executes more warp instructions counts as endless.
  uint64_t maxInstructions = uint64_t{1} << 33;
  // Once it is true, each block that runs ends with the finding endless-loop.
  // Another thread may set it. Null: nothing stops the launch.
  const std::atomic<bool> *stop = nullptr;
  uint64_t maxOutput = 1 << 20; // bytes that vprintf may write
  // Runs only these blocks: their numbers in the grid, x fastest, ascending.
  // Empty: all. Not allowed with `watch`.
  std::vector<uint64_t> blocks;
  const Watch *watch = nullptr; // observes one block (simulator/Watch.h)
  // Called on the launching thread before each block that it runs, with the
  // number of blocks that all threads have started. May be empty.
  std::function<void(uint64_t started, uint64_t blocks)> progress;
};

// A loaded PTX module. Its .global variables live as long as the module. Copies
// share one module; launches of one module must not overlap.
class Module {
public:
  // Loads a module. Throws Error for text that does not parse, an instruction
  // outside of the table, or recursion.
  static Module load(std::string_view ptx, const std::string &name = "<ptx>");

  std::vector<std::string> kernels() const;
  // Returns the target: "sm_80".
  const std::string &target() const;
  // Returns the sizes of the kernel's parameters in bytes. Throws Error for an
  // unknown kernel.
  std::vector<uint32_t> parameterBytes(const std::string &kernel) const;
  // Returns .reqntid, or zeros.
  Dim3 requiredBlock(const std::string &kernel) const;
  // Returns the bytes of static shared memory.
  uint32_t staticShared(const std::string &kernel) const;

  // Runs a kernel. `dynamicShared` is in bytes. Throws Error for an invalid
  // launch (unknown kernel, wrong parameters, sizes above the limits of the
  // target). Errors of the kernel are in the report.
  Report launch(const std::string &kernel, Dim3 grid, Dim3 block,
                uint32_t dynamicShared, const std::vector<Param> &params,
                const Memory &memory, const Options &options = {}) const;

private:
  explicit Module(std::shared_ptr<ModuleState> state)
      : state(std::move(state)) {}
  std::shared_ptr<ModuleState> state;
};

} // namespace tessera::sim
