// simulator/Sim.h - runs PTX on the CPU and checks it: the public interface.
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

// One kernel parameter: its bytes, little end first.
struct Param {
  std::vector<uint8_t> bytes;
};
Param pointer(const void *address);
template <class T>
Param scalar(const T &value) {
  const auto *first = reinterpret_cast<const uint8_t *>(&value);
  return {{first, first + sizeof(T)}};
}

// What a kernel may touch. `initialized` = false makes reads of bytes that no
// kernel has written an error once they reach a store, an address or a branch.
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

// What is a conflict of accesses to one place that nothing orders. Different:
// two stores of different values, by two blocks or two threads of one; a store
// that changes a value and a load by another block, or one by another thread
// whose value is used (with `uninitialized`). All: equal stores of two blocks
// too.
enum class GlobalConflicts : uint8_t { Off, Different, All };

struct Options {
  // 0: blocks in the order of the grid, warps in turns of thousands of
  // instructions. Else any of 2^64 - 1 random schedules, the same for the same
  // seed: order of blocks, order and length of the turns of warps, side of a
  // divergent branch that runs first. A correct kernel gives the same results.
  uint64_t seed = 0;
  // Lanes of a warp run apart (independent thread scheduling), in an order that
  // `seed` chooses, until the ISA makes them wait for one another: at barriers,
  // at instructions with a member mask for the lanes that it names, and at
  // those that all lanes execute together (mma, ldmatrix). Counters are those
  // of the instructions that were executed: more than in lockstep.
  bool lanesApart = false;
  // cp.async reads its source when it is issued; else as late as it may, when
  // its group has been waited for.
  bool copiesReadAtIssue = false;
  TensorCores tensorCores = TensorCores::Fused; // how products are added
  // So many blocks run at once on the calling thread, each some instructions at
  // a time, as on a GPU where they wait for one another; when one ends, the
  // next one starts. If all of them repeat the same instructions on the same
  // values, the finding is a deadlock. 0: each block runs to its end.
  unsigned resident = 0;
  bool serial = false;  // blocks one after the other on the calling thread
  unsigned threads = 0; // 0: one per core
  bool races = true;    // of shared memory
  bool uninitialized = true;
  bool overflow = true; // signed 32-bit overflow that reaches an address
  bool counters = true; // bank conflicts, sectors, lines
  GlobalConflicts conflicts = GlobalConflicts::Different;
  // A block that executes more warp instructions than this does not end.
  uint64_t maxInstructions = uint64_t{1} << 33;
  uint64_t maxOutput = 1 << 20; // bytes that vprintf may write
  // Only these blocks run: their numbers in the grid, x fastest, ascending.
  // Empty: all of them. Not with `watch`.
  std::vector<uint64_t> blocks;
  const Watch *watch = nullptr; // one block looked at (simulator/Watch.h)
  // Called on the launching thread before each block that it runs, with how
  // many have been started by all threads. May be empty.
  std::function<void(uint64_t started, uint64_t blocks)> progress;
};

// A loaded PTX module. Its .global variables live as long as it does. Copies
// share one; launches of one module must not overlap.
class Module {
public:
  // Throws Error for text that does not parse, an instruction that is not in
  // the table, or recursion.
  static Module load(std::string_view ptx, const std::string &name = "<ptx>");

  std::vector<std::string> kernels() const;
  // "sm_80"
  const std::string &target() const;
  // Sizes of the kernel's parameters in bytes. Throws Error for no such kernel.
  std::vector<uint32_t> parameterBytes(const std::string &kernel) const;
  // .reqntid, or zeros.
  Dim3 requiredBlock(const std::string &kernel) const;
  // Bytes of static shared memory.
  uint32_t staticShared(const std::string &kernel) const;

  // Runs a kernel. dynamicShared in bytes. Throws Error for a bad launch (no
  // such kernel, wrong parameters, sizes beyond the limits of the target); what
  // the kernel does wrong is in the report.
  Report launch(const std::string &kernel, Dim3 grid, Dim3 block,
                uint32_t dynamicShared, const std::vector<Param> &params,
                const Memory &memory, const Options &options = {}) const;

private:
  explicit Module(std::shared_ptr<ModuleState> state)
      : state(std::move(state)) {}
  std::shared_ptr<ModuleState> state;
};

} // namespace tessera::sim
