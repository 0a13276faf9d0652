// simulator/machine/Warp.h - the state of 32 lanes in lockstep.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulator/Findings.h"
#include "simulator/machine/Program.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tessera::sim {

class Block;

// Taint of a row. Bits 0-31: lanes with an uninitialized value. Bits 32-63:
// lanes with the result of a signed overflow.
using Taint = uint64_t;
inline constexpr Taint PoisonBits = 0xffffffff;
inline Taint bothHalves(uint32_t mask) {
  return static_cast<Taint>(mask) << 32 | mask;
}

// cp.async between issue and wait: one per executed instruction.
struct AsyncCopy {
  uint32_t mask = 0; // lanes whose copy is not complete
  uint8_t bytes = 16;
  uint32_t inst = 0;
  uint32_t dest[Lanes];
  uint32_t group[Lanes]; // number of the lane's group it belongs to
  uint8_t poison[Lanes];
  uint8_t data[Lanes][16];
  uint64_t source[Lanes]; // where sourceBytes[lane] of data come from
  uint8_t sourceBytes[Lanes];
};

// What is known of a register of which some bytes are uninitialized; see
// ByteTaint.h.
struct ByteTaint {
  uint32_t mask = 0;     // lanes that this is about
  uint64_t value[Lanes]; // then; it may have been overwritten since
  uint32_t byte[8] = {}; // lanes whose byte is uninitialized
};

struct StackEntry {
  uint32_t pc;
  uint32_t reconverge; // leaves the stack there
  uint32_t mask;
};

// With Options::lanesApart: lanes that stand at one instruction.
struct LaneGroup {
  uint32_t pc;
  uint32_t mask;
  bool waits; // for the lanes that execute it with them
};

// Epochs of global memory (ReleaseHistory.h) before which all that was released
// has happened before what a lane does now: by any block; by its own with
// `.cta` scope; the same of what a fence would add.
struct KnownEpochs {
  uint32_t acquired = 0, inBlock = 0;
  uint32_t acquirable = 0, acquirableInBlock = 0;

  void join(const KnownEpochs &other) {
    acquired = std::max(acquired, other.acquired);
    inBlock = std::max(inBlock, other.inBlock);
    acquirable = std::max(acquirable, other.acquirable);
    acquirableInBlock = std::max(acquirableInBlock, other.acquirableInBlock);
  }
  void fence(bool reachesOthers) {
    if (reachesOthers)
      acquired = std::max(acquired, acquirable);
    inBlock = std::max(inBlock, acquirableInBlock);
  }
};

struct Warp {
  std::byte *rows = nullptr;
  Taint *taint = nullptr;
  const Program *program = nullptr;
  Block *block = nullptr;
  uint32_t id = 0;   // in the block
  uint32_t live = 0; // lanes that have not exited
  uint32_t active = 0;
  uint32_t pc = 0;
  uint32_t carry = 0; // of add.cc and the like, one bit per lane
  Taint carryTaint = 0;
  std::vector<StackEntry> stack;
  std::vector<LaneGroup> groups; // inactive groups (LanesApart.cpp)

  enum class State : uint8_t { Ready, Waiting, Stopped, Done };
  State state = State::Ready;
  uint32_t barrier = 0;  // the barrier that it waits at
  uint64_t executed = 0; // instructions of this block

  // Order of shared-memory accesses: all accesses until the next
  // synchronization carry `now`; those of warp v up to seen[v] happened before.
  uint32_t now = 1;
  uint32_t floor = 0; // the least of `seen`
  std::vector<uint32_t> seen;
  KnownEpochs known[Lanes];
  bool knowsAny = false; // whether any of `known` is not empty

  // What all lanes know.
  KnownEpochs knownByAll() const {
    KnownEpochs all;
    if (knowsAny)
      for (const KnownEpochs &lane : known)
        all.join(lane);
    return all;
  }
  void learn(const KnownEpochs &more) {
    if (!more.acquirable && !more.acquirableInBlock)
      return;
    knowsAny = true;
    for (KnownEpochs &lane : known)
      lane.join(more);
  }

  // cp.async
  std::vector<AsyncCopy> copies;
  uint32_t committed[Lanes] = {}; // groups of a lane
  uint32_t completed[Lanes] = {};

  std::unordered_map<uint32_t, ByteTaint> byteTaints; // by row

  uint8_t *local = nullptr;       // Program::localBytes for each lane
  uint8_t *localPoison = nullptr; // one byte for each, 1: uninitialized

  uint32_t *row32(uint32_t row) const {
    return reinterpret_cast<uint32_t *>(rows + size_t{row} * RowBytes);
  }
  uint64_t *row64(uint32_t row) const {
    return reinterpret_cast<uint64_t *>(rows + size_t{row} * RowBytes);
  }
  template <class T>
  T *lanes(uint32_t row) const {
    return reinterpret_cast<T *>(rows + size_t{row} * RowBytes);
  }
  uint32_t predicate(const Inst &inst, unsigned i) const {
    return *row32(inst.op[i]) ^ ((inst.negated >> i) & 1 ? ~0u : 0u);
  }
  void setPredicate(uint32_t row, uint32_t mask, uint32_t value) {
    uint32_t &word = *row32(row);
    word = (word & ~mask) | (value & mask);
  }
  void setTaint(uint32_t row, uint32_t mask, Taint value) {
    Taint both = bothHalves(mask);
    taint[row] = (taint[row] & ~both) | (value & both);
  }
};

// Thrown by the checks; the block's loop converts it to a Finding.
struct Violation {
  Check check;
  uint32_t lane = 0;
  std::string message;
  uint64_t address = 0;
  std::string place;
  std::string history;
};
[[noreturn]] void violate(Violation violation);

inline uint32_t firstLane(uint32_t mask) {
  return static_cast<uint32_t>(__builtin_ctz(mask));
}

} // namespace tessera::sim
