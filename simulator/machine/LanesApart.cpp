// simulator/machine/LanesApart.cpp - independent thread scheduling of a warp's
// lanes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Since Volta every thread has a separate program counter, and lanes of a warp
// converge only where the ISA requires it. Here the lanes at one instruction
// form a group. Groups run alternately and are split and joined at random. A
// group waits at an instruction that lanes execute together until all of these
// lanes arrive.
//
//      shfl.sync mask 0xff    lanes 0-3 arrive: the group waits
//                             lanes 4-7 still run the code before
//                             lanes 4-7 arrive: one group, shfl executes
#include "simulator/machine/Block.h"

#include <algorithm>

namespace tessera::sim {
namespace {

// Returns the register with the member mask of a .sync instruction, or NoRow.
uint32_t membersOf(const Inst &i) {
  switch (i.sem) {
  case Sem::Shfl:
    return i.op[5];
  case Sem::Vote:
  case Sem::Redux:
  case Sem::Elect:
    return i.op[2];
  case Sem::MatchSync:
    return i.op[i.mode ? 3 : 2];
  case Sem::WarpBarrier:
    return i.op[0];
  default:
    return NoRow;
  }
}

// True if all lanes of the warp that have not exited execute it together.
bool isAligned(const Inst &i) {
  return i.flow == Flow::Barrier || i.sem == Sem::Mma ||
         i.sem == Sem::Ldmatrix || i.sem == Sem::Stmatrix ||
         i.sem == Sem::Movmatrix;
}

uint32_t randomLanes(Chance &chance) {
  switch (chance.below(3)) {
  case 0: // one lane
    return 1u << chance.below(Lanes);
  case 1: { // by one bit of the lane number
    constexpr uint32_t withBit[] = {0xaaaaaaaa, 0xcccccccc, 0xf0f0f0f0,
                                    0xff00ff00, 0xffff0000};
    return withBit[chance.below(5)];
  }
  default:
    return static_cast<uint32_t>(chance.below(uint64_t{1} << Lanes));
  }
}

} // namespace

// Returns the waiting lanes that resume together with a waiting group.
// `complete`: true if the group waits for no other lanes. `samePlace`: true if
// they wait at one instruction, which all instructions but bar.warp.sync
// require.
uint32_t Block::together(const Warp &w, const LaneGroup &group, bool &samePlace,
                         bool &complete) const {
  const Inst &i = program.code[group.pc];
  const uint32_t row = membersOf(i);
  samePlace = true;
  uint32_t lanes = 0;
  if (row == NoRow) {
    for (const LaneGroup &other : w.groups)
      if (other.waits && other.pc == group.pc)
        lanes |= other.mask;
    complete = lanes == w.live;
    return lanes;
  }
  if (w.taint[row] & PoisonBits & group.mask) { // execution reports it
    complete = true;
    return group.mask;
  }
  const uint32_t named = w.row32(row)[firstLane(group.mask)];
  for (const LaneGroup &other : w.groups) {
    const Inst &at = program.code[other.pc];
    if (!other.waits || (other.pc != group.pc && (i.sem != Sem::WarpBarrier ||
                                                  at.sem != Sem::WarpBarrier)))
      continue;
    const uint32_t *names = w.row32(membersOf(at));
    uint32_t alike = 0;
    for (uint32_t l = 0; l < Lanes; ++l)
      alike |= uint32_t{names[l] == named} << l;
    lanes |= other.mask & alike;
    samePlace &= other.pc == group.pc || !(other.mask & alike);
  }
  complete = (named & w.live & ~lanes) == 0;
  return lanes;
}

// Resumes waiting lanes once all expected lanes have arrived. With `stuck`,
// when no lane can run, resumes the first group, whose instruction then reports
// the missing lanes. Returns false if no lane resumes.
bool Block::converge(Warp &w, bool stuck) {
  for (size_t g = 0; g < w.groups.size(); ++g) {
    const LaneGroup group = w.groups[g];
    if (!group.waits)
      continue;
    const Inst &i = program.code[group.pc];
    bool samePlace = true, complete = true;
    uint32_t lanes = together(w, group, samePlace, complete);
    if (!complete && !stuck)
      continue;
    if (!complete) { // include lanes with other masks
      lanes = 0;
      for (const LaneGroup &other : w.groups)
        if (other.waits && other.pc == group.pc)
          lanes |= other.mask;
    }
    if (complete && !samePlace) { // bar.warp.sync at several instructions
      warpSync(w);
      std::vector<LaneGroup> released;
      for (LaneGroup &other : w.groups) {
        if (!other.waits || !(other.mask & lanes))
          continue;
        count(w, program.code[other.pc], other.mask & lanes);
        released.push_back({other.pc + 1, other.mask & lanes, false});
        other.mask &= ~lanes;
      }
      w.groups.insert(w.groups.end(), released.begin(), released.end());
      return true;
    }
    for (LaneGroup &other : w.groups)
      if (other.waits)
        other.mask &= ~lanes;
    w.pc = group.pc;
    w.active = lanes;
    count(w, i, lanes);
    if (i.flow == Flow::Barrier) {
      arrive(w, i, lanes);
    } else {
      i.exec(w, i, lanes);
      ++w.pc;
    }
    return true;
  }
  return false;
}

// Splits the active lanes at random: some continue, the others run later.
void Block::splitGroup(Warp &w) {
  if (w.groups.size() + 1 >= mostGroups || chance.below(2))
    return;
  const uint32_t part = w.active & randomLanes(chance);
  if (!part || part == w.active)
    return;
  w.groups.push_back({w.pc, w.active & ~part, false});
  w.active = part;
}

// Chooses the lanes that run next and makes them active. Returns false if no
// lane can run: the warp waits at a barrier or is done.
bool Block::chooseGroup(Warp &w) {
  if (w.active & w.live)
    w.groups.push_back({w.pc, w.active & w.live, false});
  w.active = 0;
  bool anyWaits = false;
  for (size_t g = 0; g < w.groups.size(); ++g) {
    LaneGroup &group = w.groups[g];
    group.mask &= w.live;
    anyWaits |= group.mask && group.waits;
    for (size_t other = 0; other < g; ++other)
      if (group.mask && !group.waits && w.groups[other].mask &&
          !w.groups[other].waits && w.groups[other].pc == group.pc &&
          chance.below(2)) {
        w.groups[other].mask |= group.mask;
        group.mask = 0;
      }
  }
  const auto forget = [&] {
    std::erase_if(w.groups, [](const LaneGroup &g) { return g.mask == 0; });
  };
  forget();
  if (anyWaits && converge(w, false)) {
    forget();
    return w.state == Warp::State::Ready;
  }
  const auto ready = std::count_if(w.groups.begin(), w.groups.end(),
                                   [](const LaneGroup &g) { return !g.waits; });
  if (ready == 0) {
    converge(w, true);
    forget();
    return w.state == Warp::State::Ready;
  }
  uint64_t left = chance.below(static_cast<uint64_t>(ready));
  for (size_t g = 0; g < w.groups.size(); ++g) {
    if (w.groups[g].waits || left--)
      continue;
    w.pc = w.groups[g].pc;
    w.active = w.groups[g].mask;
    w.groups.erase(w.groups.begin() + static_cast<std::ptrdiff_t>(g));
    break;
  }
  splitGroup(w);
  return true;
}

void Block::stepApart(Warp &w) {
  const Inst &i = program.code[w.pc];
  const uint32_t mask = guarded(w, i);
  if (mask && (isAligned(i) || membersOf(i) != NoRow)) {
    w.groups.push_back({w.pc, mask, true});
    w.active &= ~mask;
    ++w.pc; // for lanes whose predicate is false
    return;
  }
  count(w, i, mask);
  if (i.flow != Flow::None)
    return step(w, i, mask);
  if (mask)
    i.exec(w, i, mask);
  ++w.pc;
}

void Block::runApart(Warp &w) {
  const uint64_t stop = w.executed + turn();
  while (w.state == Warp::State::Ready && w.executed < stop) {
    if ((w.active & w.live) == 0 && w.groups.empty()) {
      w.state = Warp::State::Done;
      return;
    }
    if (!chooseGroup(w))
      return;
    // Most runs are short, so that lanes interleave at all points; some are
    // long, so that a group runs far ahead of the others.
    const uint64_t pause = std::min(
        stop, w.executed + 1 +
                  (chance.below(8) ? chance.below(16) : chance.below(4096)));
    while (w.state == Warp::State::Ready && (w.active & w.live) &&
           w.executed < pause)
      stepApart(w);
  }
}

} // namespace tessera::sim
