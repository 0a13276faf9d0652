// simulator/machine/Resident.cpp - runs blocks that are resident at the same
// time and may wait for each other.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// The blocks run alternately on the calling thread. A kernel whose blocks wait
// for other blocks terminates only if those are resident: here, as on a GPU, no
// block starts before another one ends.
//
// A deadlock is proven. If a warp is in a state (registers, pc, masks) in which
// it was before, with the same memory, it repeats the same steps. If this holds
// for all warps of all resident blocks, and no store changed global memory
// meanwhile, the state repeats forever.
#include "simulator/machine/Block.h"

#include <algorithm>
#include <memory>
#include <string_view>

namespace tessera::sim {
namespace {

constexpr size_t mostStates = 1 << 12; // per warp; more: a long computation

// Comparing states reads all of a block's memory. Blocks that wait for a block
// at work have many turns without a store, and states that repeat at all also
// repeat every 16th turn.
constexpr uint64_t turnsBetweenLooks = 16;

size_t hashOf(const void *data, size_t bytes) {
  return std::hash<std::string_view>()(
      {static_cast<const char *>(data), bytes});
}

size_t joined(size_t a, size_t b) {
  return (a ^ b) * 0x9e3779b97f4a7c15 + (a >> 29);
}

size_t stateOf(const Warp &w, size_t rowBytes) {
  size_t hash = hashOf(w.rows, rowBytes);
  for (uint32_t part : {w.pc, w.active, w.live, w.carry, uint32_t(w.state)})
    hash = joined(hash, part);
  for (const StackEntry &entry : w.stack)
    hash = joined(joined(hash, entry.pc), entry.mask);
  for (const LaneGroup &group : w.groups)
    hash = joined(joined(hash, group.pc), group.mask);
  return hash;
}

// The blocks that have started but not ended.
class ResidentBlocks {
public:
  ResidentBlocks(Launch &launch, const BlockNumbers &numbers, uint64_t count)
      : launch(launch), numbers(numbers), count(count),
        chance(launch.options->seed ^ 0x6a09e667f3bcc909) {
    const uint64_t most = std::min<uint64_t>(launch.options->resident, count);
    for (uint64_t i = 0; i < most; ++i) {
      machines.push_back(std::make_unique<Block>(launch));
      running.push_back(machines.back().get());
      startNext(*running.back());
    }
  }

  bool run(Finding &finding) {
    while (!running.empty()) {
      const uint64_t before = launch.changes, begun = next;
      if (launch.options->seed)
        for (size_t i = running.size(); i > 1; --i)
          std::swap(running[i - 1], running[chance.below(i)]);
      if (!runEach(finding))
        return false;
      if (launch.changes != before || next != begun) {
        turns = 0;
        for (Block *block : running)
          block->forget();
      } else if (++turns % turnsBetweenLooks == 0 && !running.empty() &&
                 allRepeat()) {
        finding = deadlock();
        return false;
      }
    }
    return true;
  }

  const std::vector<std::unique_ptr<Block>> &all() const { return machines; }

private:
  void startNext(Block &block) {
    if (launch.options->progress)
      launch.options->progress(next, count);
    block.start(numbers(next++));
  }

  // Runs one turn of each block. Returns false if one has a finding.
  bool runEach(Finding &finding) {
    for (size_t i = 0; i < running.size();) {
      switch (running[i]->round(finding)) {
      case Block::Progress::Failed:
        return false;
      case Block::Progress::Running:
        ++i;
        break;
      case Block::Progress::Done:
        if (next < count)
          startNext(*running[i++]);
        else
          running.erase(running.begin() + static_cast<ptrdiff_t>(i));
      }
    }
    return true;
  }

  bool allRepeat() {
    bool all = true;
    for (Block *block : running)
      all &= block->repeats(); // each one records its state
    return all;
  }

  Finding deadlock() const {
    constexpr size_t shown = 4;
    std::string message = "the " + std::to_string(running.size()) +
                          " blocks that run wait for one another";
    if (next < count)
      message += ", or for one of the " + std::to_string(count - next) +
                 " that have not started";
    std::string history;
    for (size_t i = 0; i < std::min(running.size(), shown); ++i)
      history += (i ? "; " : "") + running[i]->describeWait();
    if (running.size() > shown)
      history += "; and " + std::to_string(running.size() - shown) + " more";
    return running.front()->waitsForOthers(message, history);
  }

  Launch &launch;
  const BlockNumbers &numbers;
  uint64_t count, next = 0;
  uint64_t turns = 0; // since the last store to global memory, or start
  Chance chance;
  std::vector<std::unique_ptr<Block>> machines;
  std::vector<Block *> running;
};

const Warp *readyWarp(const std::vector<Warp> &warps) {
  for (const Warp &w : warps)
    if (w.state == Warp::State::Ready)
      return &w;
  return nullptr;
}

} // namespace

bool Block::repeats() {
  const size_t memory = joined(hashOf(shared.data(), shared.size()),
                               hashOf(localMemory.data(), localMemory.size()));
  if (states.empty() || memory != sharedState)
    states.assign(warps.size(), {});
  sharedState = memory;
  bool all = true;
  for (const Warp &w : warps) {
    if (w.state != Warp::State::Ready)
      continue;
    std::unordered_set<size_t> &seen = states[w.id];
    if (seen.size() == mostStates)
      seen.clear();
    all &= !seen.insert(stateOf(w, size_t{program.numRows} * RowBytes)).second;
  }
  return all;
}

std::string Block::describeWait() const {
  const Warp *w = readyWarp(warps);
  return "block " + std::to_string(id[0]) + "," + std::to_string(id[1]) + "," +
         std::to_string(id[2]) + " repeats " +
         describe(w ? w->pc : warps[0].pc);
}

Finding Block::waitsForOthers(const std::string &message,
                              const std::string &history) const {
  const Warp *w = readyWarp(warps);
  const Warp &at = w ? *w : warps[0];
  Violation violation{Check::Deadlock, 0, message, 0, "", history};
  const auto last = static_cast<uint32_t>(program.code.size() - 1);
  return makeFinding(at, program.code[std::min(at.pc, last)], violation);
}

bool runResident(Launch &launch, const BlockNumbers &numbers, uint64_t count,
                 const std::function<void(const Block &)> &finished,
                 Finding &finding) {
  ResidentBlocks blocks(launch, numbers, count);
  const bool good = blocks.run(finding);
  for (const std::unique_ptr<Block> &machine : blocks.all())
    finished(*machine);
  return good;
}

} // namespace tessera::sim
