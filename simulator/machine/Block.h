// simulator/machine/Block.h - one thread block: warps, shared memory, barriers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/Sim.h"
#include "simulator/machine/GlobalMemory.h"
#include "simulator/machine/SharedMemory.h"
#include "simulator/machine/Warp.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

namespace tessera::sim {

class WatchPoint;

// The numbers of a random schedule: splitmix64, the same everywhere.
class Chance {
public:
  explicit Chance(uint64_t seed) : state(seed) {}
  // 0 to limit - 1; limit is not 0.
  uint64_t below(uint64_t limit) {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (z ^ z >> 31) % limit;
  }

private:
  uint64_t state;
};

// What all blocks of a launch share.
struct Launch {
  const Program *program = nullptr;
  const ptx::Module *source = nullptr;
  const Options *options = nullptr;
  GlobalMemory *memory = nullptr;
  WatchPoint *watch = nullptr;
  Dim3 grid{1, 1, 1}, block{1, 1, 1};
  uint32_t dynamicShared = 0;
  std::vector<uint8_t> params;

  std::mutex outputMutex;
  std::string output;

  // Stores and atomics that changed global memory, with Options::resident.
  uint64_t changes = 0;
};

// The blocks that a launch runs: their numbers in the grid, in their order.
using BlockNumbers = std::function<uint64_t(uint64_t index)>;

// Runs `count` blocks, Options::resident of them concurrently. Calls `finished`
// with each machine at the end. Returns true if no block has an error.
bool runResident(Launch &launch, const BlockNumbers &numbers, uint64_t count,
                 const std::function<void(const Block &)> &finished,
                 Finding &finding);

struct ExecCount {
  uint64_t issues = 0, warps = 0, lanes = 0;
  uint64_t requests = 0, ways = 0, leastWays = 0, sectors = 0, lines = 0;
  uint64_t copyWays = 0, leastCopyWays = 0;
};

// A worker's machine: runs one block after the other.
class Block {
public:
  explicit Block(Launch &launch);

  // Runs block `linear` of the grid to its end. Returns true without an error;
  // else sets `finding`.
  bool run(uint64_t linear, Finding &finding);

  // The same in parts: start(), then round() while the block is running. A
  // round has a turn of each warp.
  enum class Progress : uint8_t { Running, Done, Failed };
  void start(uint64_t linear);
  Progress round(Finding &finding);

  // Remembers the state of every warp. Returns true if the block did nothing
  // since `forget` that it would not do again as long as no other block changes
  // global memory: each warp has been in its present state before, and shared
  // memory is the same.
  bool repeats();
  void forget() { states.clear(); }
  // Returns the finding that this block waits for other blocks indefinitely.
  Finding waitsForOthers(const std::string &message,
                         const std::string &history) const;
  // "block 3,0,0 repeats ld.acquire.gpu.global.u32 ... (PTX line 40)"
  std::string describeWait() const;

  Launch &launch;
  const Program &program;
  SharedMemory shared;
  std::vector<Warp> warps;
  Dim3 id{};
  uint64_t linear = 0;

  // Counters of this worker.
  std::vector<ExecCount> counts;                   // per instruction
  std::vector<std::vector<uint64_t>> touchedLines; // per allocation, one bit
  uint64_t asyncMaxGroups = 0, barriers = 0;
  uint32_t sharedTouched = 0;           // end of the last byte
  std::vector<uint32_t> lastAllocation; // per instruction: where it was last

  // Whether there was a fence, after which relaxed accesses release: of gpu or
  // sys scope, of `.cta`.
  bool fenced = false, fencedInBlock = false;
  // The first load of this block that another thread's store may come before or
  // after. Its value counts as uninitialized.
  std::string openLoad;
  // The first integer division of this block by zero. PTX does not say what its
  // result is, which counts as uninitialized.
  std::string zeroDivision;

  bool isConstant(uint64_t address) const;
  // "st.shared.b32 (line 40, kernel.py:12:4)"
  std::string describe(uint32_t inst) const;
  // Called by Exec functions.
  void warpSync(Warp &w);
  void atomicSync(Warp &w, uint32_t address);
  // Advances the warp's time: later accesses are not ordered before the atomic.
  void afterAtomic(Warp &w) { w.now = ++clock; }
  void print(const std::string &text);

private:
  struct Barrier {
    uint32_t arrived = 0;         // threads
    uint32_t expected = 0;        // threads; 0: all of the block
    uint32_t waiting = 0;         // warps
    std::vector<uint32_t> joined; // order: what arriving warps have seen
    KnownEpochs known;
    uint32_t members = 0; // warps that arrived
    uint32_t reduceCount = 0, reduceAny = 0, reduceAll = 1;
    Taint reduceTaint = 0;
  };

  // Stores the finding of a violation. Returns true if the other warps
  // continue.
  bool note(const Warp &w, const Violation &violation, Finding &finding);
  // The warps in the order of their next turns.
  void orderTurns();
  // Returns the number of instructions of a turn.
  uint64_t turn();
  void runWarp(Warp &w);
  // Returns the lanes of `active` that execute the instruction.
  uint32_t guarded(const Warp &w, const Inst &i) const;
  void count(Warp &w, const Inst &i, uint32_t mask);
  // Independent thread scheduling (LanesApart.cpp).
  void runApart(Warp &w);
  bool chooseGroup(Warp &w);
  bool converge(Warp &w, bool stuck);
  uint32_t together(const Warp &w, const LaneGroup &group, bool &samePlace,
                    bool &complete) const;
  void splitGroup(Warp &w);
  void stepApart(Warp &w);
  void step(Warp &w, const Inst &i, uint32_t mask);
  void branch(Warp &w, const Inst &i, uint32_t taken);
  void exitLanes(Warp &w, uint32_t mask);
  void arrive(Warp &w, const Inst &i, uint32_t mask);
  void tryRelease(uint32_t barrier);
  uint32_t uniformValue(Warp &w, const Inst &i, uint32_t row, uint32_t mask);
  [[noreturn]] void deadlock();
  Finding makeFinding(const Warp &w, const Inst &i, const Violation &v) const;
  void updateFloor(Warp &w);
  uint32_t expectedThreads() const;

  std::vector<std::byte> storage;
  std::vector<Taint> taints;
  std::vector<Taint> cleanTaints; // at the start of a block
  std::vector<uint8_t> localMemory, localPoison;
  Barrier barrierState[16];
  std::map<uint32_t, std::vector<uint32_t>> atomicOrder; // by shared address
  std::map<uint32_t, KnownEpochs> atomicKnown;
  uint32_t clock = 1;
  std::vector<uint32_t> turns; // numbers of warps
  Chance chance{0};
  uint32_t mostGroups = 1; // most lane groups of a warp
  bool found = false;      // the running block has a finding
  std::vector<std::unordered_set<size_t>> states; // hashes, by warp
  size_t sharedState = 0; // hash of shared and local memory at the last look
};

} // namespace tessera::sim
