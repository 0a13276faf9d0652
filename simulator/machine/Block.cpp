// simulator/machine/Block.cpp - executes one thread block: scheduling,
// branches, barriers.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/Block.h"

#include <algorithm>
#include <cstring>

namespace tessera::sim {
namespace {

constexpr uint64_t Turn = 20000;       // instructions before another warp runs
constexpr uint64_t ResidentTurn = 500; // where blocks may wait for each other

uint64_t threadsOf(const Dim3 &d) { return uint64_t{d[0]} * d[1] * d[2]; }

void broadcast(Warp &w, uint32_t row, uint8_t bits, uint64_t value) {
  if (bits == 1) {
    *w.row32(row) = value ? ~0u : 0;
  } else if (bits == 64) {
    std::fill_n(w.row64(row), Lanes, value);
  } else {
    std::fill_n(w.row32(row), Lanes, static_cast<uint32_t>(value));
  }
}

} // namespace

void violate(Violation violation) { throw violation; }

Block::Block(Launch &launch) : launch(launch), program(*launch.program) {
  uint64_t threads = threadsOf(launch.block);
  size_t numWarps = (threads + Lanes - 1) / Lanes;
  size_t rowBytes = size_t{program.numRows} * RowBytes;
  storage.resize(numWarps * rowBytes + 64);
  auto base = reinterpret_cast<uintptr_t>(storage.data());
  std::byte *rows = storage.data() + ((64 - base % 64) % 64);
  taints.resize(numWarps * program.numRows);
  localMemory.resize(numWarps * Lanes * program.localBytes);
  localPoison.resize(localMemory.size());
  cleanTaints.assign(program.numRows,
                     launch.options->uninitialized ? PoisonBits : 0);
  for (const ConstantRow &c : program.constants)
    cleanTaints[c.row] = 0;
  for (const SpecialRow &s : program.specials)
    cleanTaints[s.row] = 0;
  warps.resize(numWarps);
  for (size_t i = 0; i < numWarps; ++i) {
    Warp &w = warps[i];
    w.rows = rows + i * rowBytes;
    w.taint = taints.data() + i * program.numRows;
    w.program = &program;
    w.block = this;
    w.id = static_cast<uint32_t>(i);
    w.seen.resize(numWarps);
    w.local = localMemory.data() + i * Lanes * program.localBytes;
    w.localPoison = localPoison.data() + i * Lanes * program.localBytes;
    for (const ConstantRow &c : program.constants)
      broadcast(w, c.row, c.bits, c.value);
  }
  shared.resize(program.staticShared + launch.dynamicShared,
                program.sharedGranule);
  counts.resize(program.code.size() + 1);
  lastAllocation.resize(program.code.size() + 1);
  for (const Allocation &a : launch.memory->allocations())
    touchedLines.emplace_back((a.end - a.base) / 128 / 64 + 2);
}

void Block::start(uint64_t number) {
  linear = number;
  const Dim3 &grid = launch.grid;
  id = {static_cast<uint32_t>(number % grid[0]),
        static_cast<uint32_t>(number / grid[0] % grid[1]),
        static_cast<uint32_t>(number / grid[0] / grid[1])};
  shared.clear(launch.options->uninitialized);
  std::fill(localPoison.begin(), localPoison.end(),
            launch.options->uninitialized ? 1 : 0);
  for (Barrier &b : barrierState)
    b = {};
  atomicOrder.clear();
  atomicKnown.clear();
  fenced = fencedInBlock = false;
  openLoad.clear();
  zeroDivision.clear();
  found = false;
  forget();
  clock = 1;
  chance = Chance(launch.options->seed ^ number * 0xd1342543de82ef95);
  if (launch.options->lanesApart)
    mostGroups = 2u << chance.below(4);
  const Dim3 &block = launch.block;
  uint64_t threads = threadsOf(block);
  for (Warp &w : warps) {
    std::copy(cleanTaints.begin(), cleanTaints.end(), w.taint);
    uint64_t first = uint64_t{w.id} * Lanes;
    w.live = threads - first >= Lanes ? ~0u : (1u << (threads - first)) - 1;
    w.active = w.live;
    w.pc = 0;
    w.carry = 0;
    w.carryTaint = 0;
    w.stack.clear();
    w.groups.clear();
    w.state = Warp::State::Ready;
    w.executed = 0;
    w.now = clock;
    w.floor = 0;
    std::fill(w.seen.begin(), w.seen.end(), 0);
    std::fill_n(w.known, Lanes, KnownEpochs());
    w.knowsAny = false;
    w.copies.clear();
    w.byteTaints.clear();
    std::fill_n(w.committed, Lanes, 0);
    std::fill_n(w.completed, Lanes, 0);
    for (const SpecialRow &s : program.specials) {
      uint32_t *row = w.row32(s.row);
      for (uint32_t l = 0; l < Lanes; ++l) {
        uint64_t t = first + l;
        uint32_t value = 0;
        using ptx::Special;
        switch (s.special) {
        case Special::TidX:
          value = static_cast<uint32_t>(t % block[0]);
          break;
        case Special::TidY:
          value = static_cast<uint32_t>(t / block[0] % block[1]);
          break;
        case Special::TidZ:
          value = static_cast<uint32_t>(t / block[0] / block[1]);
          break;
        case Special::NtidX:
          value = block[0];
          break;
        case Special::NtidY:
          value = block[1];
          break;
        case Special::NtidZ:
          value = block[2];
          break;
        case Special::CtaidX:
        case Special::ClusterIdX:
          value = id[0];
          break;
        case Special::CtaidY:
        case Special::ClusterIdY:
          value = id[1];
          break;
        case Special::CtaidZ:
        case Special::ClusterIdZ:
          value = id[2];
          break;
        case Special::NctaidX:
        case Special::NclusterIdX:
          value = grid[0];
          break;
        case Special::NctaidY:
        case Special::NclusterIdY:
          value = grid[1];
          break;
        case Special::NctaidZ:
        case Special::NclusterIdZ:
          value = grid[2];
          break;
        case Special::LaneId:
          value = l;
          break;
        case Special::WarpId:
          value = w.id;
          break;
        case Special::NwarpId:
          value = static_cast<uint32_t>(warps.size());
          break;
        case Special::SmId:
          value = static_cast<uint32_t>(linear % 108);
          break;
        case Special::NsmId:
          value = 108;
          break;
        case Special::LanemaskEq:
          value = 1u << l;
          break;
        case Special::LanemaskLt:
          value = (1u << l) - 1;
          break;
        case Special::LanemaskLe:
          value = (2u << l) - 1;
          break;
        case Special::LanemaskGt:
          value = ~((2u << l) - 1);
          break;
        case Special::LanemaskGe:
          value = ~((1u << l) - 1);
          break;
        case Special::DynamicSharedSize:
          value = launch.dynamicShared;
          break;
        case Special::TotalSharedSize:
          value = shared.size();
          break;
        case Special::ClusterNctaidX:
        case Special::ClusterNctaidY:
        case Special::ClusterNctaidZ:
        case Special::ClusterNctarank:
          value = 1;
          break;
        default:
          break;
        }
        row[l] = value;
      }
    }
  }
}

bool Block::isConstant(uint64_t address) const {
  Allocation *a = launch.memory->find(address);
  return a && a->isConst;
}

std::string Block::describe(uint32_t inst) const {
  if (inst >= program.info.size())
    return "an unknown instruction";
  const InstInfo &info = program.info[inst];
  std::string where = launch.source->describe(info.location);
  return info.text + " (PTX line " + std::to_string(info.line) +
         (where.empty() ? "" : ", " + where) + ")";
}

void Block::print(const std::string &text) {
  std::lock_guard lock(launch.outputMutex);
  if (launch.output.size() + text.size() <= launch.options->maxOutput)
    launch.output += text;
}

void Block::updateFloor(Warp &w) {
  uint32_t least = ~0u;
  for (uint32_t s : w.seen)
    least = std::min(least, s);
  w.floor = least;
}

void Block::warpSync(Warp &w) {
  w.seen[w.id] = clock;
  w.now = ++clock;
  w.learn(w.knownByAll());
  updateFloor(w);
}

// Atomics on one address are ordered: each synchronizes with the previous one,
// and with everything that happened before that one.
void Block::atomicSync(Warp &w, uint32_t address) {
  std::vector<uint32_t> &last = atomicOrder[address];
  last.resize(warps.size());
  // The next atomic also sees this access.
  w.now = ++clock;
  w.seen[w.id] = clock;
  for (size_t v = 0; v < warps.size(); ++v) {
    w.seen[v] = std::max(w.seen[v], last[v]);
    last[v] = w.seen[v];
  }
  KnownEpochs &known = atomicKnown[address];
  known.join(w.knownByAll());
  w.learn(known);
  updateFloor(w);
}

bool Block::run(uint64_t number, Finding &finding) {
  start(number);
  Progress progress;
  do
    progress = round(finding);
  while (progress == Progress::Running);
  return progress == Progress::Done;
}

// An uninitialized value is often the result of a race that another warp has
// not completed yet. The other warps therefore continue, and a race replaces
// this finding.
bool Block::note(const Warp &w, const Violation &violation, Finding &finding) {
  const bool isRace = violation.check == Check::SharedRace ||
                      violation.check == Check::AsyncRead;
  if (!found || isRace) {
    uint32_t pc = std::min<uint32_t>(
        w.pc, static_cast<uint32_t>(program.code.size() - 1));
    finding = makeFinding(w, program.code[pc], violation);
  }
  found = true;
  return violation.check == Check::Uninitialized;
}

Block::Progress Block::round(Finding &finding) {
  bool progress = false, done = true;
  orderTurns();
  for (uint32_t next : turns) {
    Warp &w = warps[next];
    if (w.state == Warp::State::Ready) {
      try {
        runWarp(w);
      } catch (const Violation &violation) {
        if (!note(w, violation, finding))
          return Progress::Failed;
        w.state = Warp::State::Stopped;
      }
      progress = true;
    }
    done &= w.state == Warp::State::Done;
  }
  if (done)
    return Progress::Done;
  if (progress)
    return Progress::Running;
  if (!found)
    for (Warp &w : warps)
      if (w.state == Warp::State::Waiting) {
        try {
          deadlock();
        } catch (const Violation &violation) {
          note(w, violation, finding);
        }
        break;
      }
  return Progress::Failed;
}

void Block::orderTurns() {
  if (turns.empty())
    for (const Warp &w : warps)
      turns.push_back(w.id);
  if (launch.options->seed)
    for (size_t i = turns.size(); i > 1; --i)
      std::swap(turns[i - 1], turns[chance.below(i)]);
}

// Returns the number of instructions of a turn. Most turns are short, so that
// warps interleave at all points; some are long, so that a warp runs far ahead
// of the others.
uint64_t Block::turn() {
  if (!launch.options->seed)
    return launch.options->resident ? ResidentTurn : Turn;
  return chance.below(8) ? 1 + chance.below(64) : 1 + chance.below(4096);
}

void Block::deadlock() {
  Violation v;
  v.check = Check::Deadlock;
  v.message = "no warp can go on";
  for (const Warp &w : warps)
    if (w.state == Warp::State::Waiting)
      v.history += (v.history.empty() ? "" : "; ") + std::string("warp ") +
                   std::to_string(w.id) + " waits at barrier " +
                   std::to_string(w.barrier) + " in " + describe(w.pc);
  violate(v);
}

uint32_t Block::guarded(const Warp &w, const Inst &i) const {
  if (i.guard == NoRow)
    return w.active;
  if (uint32_t poisoned =
          w.active & static_cast<uint32_t>(w.taint[i.guard] & PoisonBits))
    violate({Check::Uninitialized, firstLane(poisoned),
             "the predicate of this instruction is uninitialized", 0, "", ""});
  return w.active & (*w.row32(i.guard) ^ (i.guardNegated ? ~0u : 0u));
}

void Block::count(Warp &w, const Inst &i, uint32_t mask) {
  ++w.executed;
  ExecCount &c = counts[i.index];
  ++c.issues;
  if (mask) {
    ++c.warps;
    c.lanes += static_cast<uint64_t>(__builtin_popcount(mask));
  }
}

void Block::runWarp(Warp &w) {
  const std::atomic<bool> *stop = launch.options->stop;
  const bool stopped = stop && stop->load(std::memory_order_relaxed);
  if (stopped || w.executed > launch.options->maxInstructions)
    violate(
        {Check::EndlessLoop, 0,
         "the warp has executed " + std::to_string(w.executed) +
             " instructions and " +
             (stopped ? "had not ended at the time limit" : "has not ended"),
         0, "", ""});
  if (launch.options->lanesApart)
    return runApart(w);
  const Inst *code = program.code.data();
  const uint64_t end = w.executed + turn();
  while (w.state == Warp::State::Ready && w.executed < end) {
    // If this path has no live lanes left, resumes the lanes on top of the
    // stack.
    while (!w.stack.empty() && (w.active & w.live) == 0) {
      w.pc = w.stack.back().pc;
      w.active = w.stack.back().mask & w.live;
      w.stack.pop_back();
    }
    if (w.active == 0) {
      w.state = Warp::State::Done;
      break;
    }
    if (!w.stack.empty() && w.pc == w.stack.back().reconverge) {
      const StackEntry &top = w.stack.back();
      w.pc = top.pc;
      w.active = top.mask & w.live;
      w.stack.pop_back();
      continue;
    }
    const Inst &i = code[w.pc];
    uint32_t mask = guarded(w, i);
    count(w, i, mask);
    if (i.flow == Flow::None) {
      if (mask)
        i.exec(w, i, mask);
      ++w.pc;
      continue;
    }
    step(w, i, mask);
  }
}

void Block::step(Warp &w, const Inst &i, uint32_t mask) {
  switch (i.flow) {
  case Flow::Branch:
    return branch(w, i, mask);
  case Flow::BranchTable: {
    // Lanes with the same index as the first active lane take its target.
    if (!mask) {
      ++w.pc;
      return;
    }
    const std::vector<uint32_t> &table =
        program.tables[static_cast<size_t>(i.imm)];
    const uint32_t *index = w.row32(i.op[0]);
    if (uint32_t bad =
            mask & static_cast<uint32_t>(w.taint[i.op[0]] & PoisonBits))
      violate({Check::Uninitialized, firstLane(bad),
               "the index of this branch is uninitialized", 0, "", ""});
    uint32_t first = firstLane(mask), same = 0;
    for (uint32_t l = 0; l < Lanes; ++l)
      same |=
          static_cast<uint32_t>(((mask >> l) & 1) && index[l] == index[first])
          << l;
    if (index[first] >= table.size())
      violate({Check::OutOfBounds, first,
               "branch index " + std::to_string(index[first]) + " of " +
                   std::to_string(table.size()) + " targets",
               0, "", ""});
    if (same != w.active && launch.options->lanesApart) {
      w.groups.push_back({w.pc, w.active & ~same, false});
      w.active = same;
    } else if (same != w.active) {
      // The other lanes execute this branch again after these lanes have
      // reached the reconvergence point.
      if (w.stack.empty() || w.stack.back().reconverge != i.reconverge)
        w.stack.push_back({i.reconverge, i.reconverge, w.active});
      w.stack.push_back({w.pc, i.reconverge, w.active & ~same});
      w.active = same;
    }
    w.pc = table[index[first]];
    return;
  }
  case Flow::Exit:
    exitLanes(w, mask);
    ++w.pc;
    return;
  case Flow::Trap:
    if (mask)
      violate({Check::Trap, firstLane(mask), "the kernel executed a trap", 0,
               "", ""});
    break;
  case Flow::Barrier:
    if (mask)
      return arrive(w, i, mask);
    break;
  default:
    break;
  }
  ++w.pc;
}

// A stack entry contains the point at which the current path ends, and the pc
// and lanes that resume there. A divergent branch pushes one entry for all
// lanes at the reconvergence point, unless the current path ends there, and one
// for the path that waits.
//
//      if (p) A; else B; C     stack (top first) while A runs
//        lanes 0-3 run A         {pc B, reconverge C, lanes 4-7}
//        lanes 4-7 wait          {pc C, reconverge C, lanes 0-7}
void Block::branch(Warp &w, const Inst &i, uint32_t taken) {
  uint32_t other = w.active & ~taken;
  if (other == 0) {
    w.pc = i.target;
    return;
  }
  if (taken == 0) {
    ++w.pc;
    return;
  }
  if (launch.options->lanesApart) {
    w.groups.push_back({w.pc + 1, other, false});
    w.active = taken;
    w.pc = i.target;
    return;
  }
  uint32_t meet = i.reconverge;
  uint32_t next = w.pc + 1, target = i.target;
  // Lanes that exit at once run first. Warp-wide instructions of the other
  // lanes do not wait for lanes that have exited.
  if (program.code[next].flow == Flow::Exit &&
      program.code[next].guard == NoRow) {
    std::swap(next, target);
    std::swap(taken, other);
  } else if (launch.options->seed && chance.below(2)) {
    std::swap(next, target);
    std::swap(taken, other);
  }
  if (w.stack.empty() || w.stack.back().reconverge != meet)
    w.stack.push_back({meet, meet, w.active});
  if (next == meet) {
    w.pc = target;
    w.active = taken;
  } else if (target == meet) {
    w.pc = next;
    w.active = other;
  } else {
    w.stack.push_back({next, meet, other});
    w.pc = target;
    w.active = taken;
  }
}

void Block::exitLanes(Warp &w, uint32_t mask) {
  w.live &= ~mask;
  w.active &= ~mask;
  if (w.live == 0) {
    w.state = Warp::State::Done;
    for (uint32_t b = 0; b < 16; ++b)
      tryRelease(b);
  }
}

uint32_t Block::expectedThreads() const {
  uint32_t threads = 0;
  for (const Warp &w : warps)
    threads += w.state == Warp::State::Done ? 0 : Lanes;
  return threads;
}

uint32_t Block::uniformValue(Warp &w, const Inst &i, uint32_t row,
                             uint32_t mask) {
  const uint32_t *values = w.row32(row);
  uint32_t first = firstLane(mask);
  if (w.taint[row] & PoisonBits & mask)
    violate({Check::Uninitialized, first,
             "an operand of this barrier is uninitialized", 0, "", ""});
  for (uint32_t l = 0; l < Lanes; ++l)
    if (((mask >> l) & 1) && values[l] != values[first])
      violate({Check::DivergentBarrier, l, "lanes disagree about the barrier",
               0, "", ""});
  return values[first];
}

// Operands: op[0] is the destination of a reduction (or NoRow), op[1] the
// barrier, op[2] the number of threads (or NoRow), op[3] the predicate of a
// reduction. mode: 0 sync, 1 arrive, 2 popc, 3 and, 4 or.
void Block::arrive(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t number = uniformValue(w, i, i.op[1], mask);
  if (number >= 16)
    violate({Check::Unsupported, firstLane(mask),
             "barrier " + std::to_string(number) + ": there are 16", 0, "",
             ""});
  if (mask != w.live) {
    std::string missing;
    uint32_t absent = w.live & ~mask;
    violate({Check::DivergentBarrier, firstLane(absent),
             "not all lanes of the warp reach this barrier: " +
                 std::to_string(__builtin_popcount(mask)) + " of " +
                 std::to_string(__builtin_popcount(w.live)) + " do, lane " +
                 std::to_string(firstLane(absent)) + " does not",
             0, "", ""});
  }
  uint32_t threads = 0;
  if (i.op[2] != NoRow) {
    threads = uniformValue(w, i, i.op[2], mask);
    if (threads == 0 || threads % Lanes != 0 || threads > warps.size() * Lanes)
      violate({Check::DivergentBarrier, firstLane(mask),
               "a barrier for " + std::to_string(threads) +
                   " threads: the number is a multiple of 32 and at most the "
                   "block's",
               0, "", ""});
  }
  Barrier &b = barrierState[number];
  if (b.members && b.expected != threads)
    violate({Check::DivergentBarrier, firstLane(mask),
             "warps wait at barrier " + std::to_string(number) +
                 " for different numbers of threads",
             0, "", ""});
  ++barriers;
  b.expected = threads;
  b.arrived += Lanes;
  b.members |= 1u << w.id;
  b.joined.resize(warps.size());
  w.seen[w.id] = w.now;
  for (size_t v = 0; v < warps.size(); ++v)
    b.joined[v] = std::max(b.joined[v], w.seen[v]);
  b.known.join(w.knownByAll());
  if (i.mode >= 2) {
    uint32_t p = w.predicate(i, 3);
    b.reduceCount += static_cast<uint32_t>(__builtin_popcount(p & mask));
    b.reduceAny |= (p & mask) != 0;
    b.reduceAll &= (p & mask) == mask;
    b.reduceTaint |= w.taint[i.op[3]] & mask;
  }
  if (i.mode == 1) {
    w.now = ++clock;
    updateFloor(w);
    ++w.pc;
  } else {
    b.waiting |= 1u << w.id;
    w.barrier = number;
    w.state = Warp::State::Waiting;
  }
  tryRelease(number);
}

void Block::tryRelease(uint32_t number) {
  Barrier &b = barrierState[number];
  if (!b.members)
    return;
  uint32_t wanted = b.expected ? b.expected : expectedThreads();
  if (b.arrived < wanted)
    return;
  Barrier done = std::move(b);
  b = {};
  // A waiting warp has accessed nothing since it arrived, so all of its
  // accesses precede the current clock value.
  for (size_t v = 0; v < warps.size(); ++v)
    if ((done.waiting >> v) & 1)
      done.joined[v] = clock;
  ++clock;
  for (Warp &w : warps) {
    if (!((done.waiting >> w.id) & 1))
      continue;
    const Inst &i = program.code[w.pc];
    for (size_t v = 0; v < warps.size(); ++v)
      w.seen[v] = std::max(w.seen[v], done.joined[v]);
    w.learn(done.known);
    w.now = clock;
    updateFloor(w);
    if (i.mode == 2) {
      std::fill_n(w.row32(i.op[0]), Lanes, done.reduceCount);
      w.setTaint(i.op[0], w.live, done.reduceTaint ? PoisonBits : 0);
    } else if (i.mode >= 3) {
      bool value = i.mode == 3 ? done.reduceAll : done.reduceAny;
      w.setPredicate(i.op[0], w.live, value ? ~0u : 0);
      w.setTaint(i.op[0], w.live, done.reduceTaint ? PoisonBits : 0);
    }
    w.state = Warp::State::Ready;
    ++w.pc;
  }
}

Finding Block::makeFinding(const Warp &w, const Inst &i,
                           const Violation &v) const {
  const InstInfo &info = program.info[i.index];
  Finding f;
  f.check = v.check;
  f.message = v.message;
  f.kernel = program.name;
  f.source = launch.source->describe(info.location);
  f.sourceLine = launch.source->sourceLine(info.location);
  f.ptxLine = info.line;
  f.instruction = info.text;
  f.block = id;
  f.warp = w.id;
  f.lane = v.lane;
  uint64_t t = uint64_t{w.id} * Lanes + v.lane;
  const Dim3 &d = launch.block;
  f.thread = {static_cast<uint32_t>(t % d[0]),
              static_cast<uint32_t>(t / d[0] % d[1]),
              static_cast<uint32_t>(t / d[0] / d[1])};
  f.address = v.address;
  f.place = v.place;
  f.history = v.history;
  if (f.check == Check::Uninitialized && !openLoad.empty()) {
    f.check = Check::GlobalConflict;
    f.message += ", or one that a thread of the block loads where another one "
                 "stores, without a barrier between";
    f.history = openLoad;
  } else if (f.check == Check::Uninitialized && !zeroDivision.empty()) {
    f.check = Check::DivisionByZero;
    f.message += ", or one that comes from a division by zero";
    f.history = zeroDivision;
  }
  return f;
}

} // namespace tessera::sim
