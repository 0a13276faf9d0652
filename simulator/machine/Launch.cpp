// simulator/machine/Launch.cpp - loads modules and launches kernels, with
// blocks distributed over the host's cores.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/isa/Targets.h"
#include "simulator/machine/Block.h"
#include "simulator/machine/Decode.h"
#include "simulator/machine/WatchPoint.h"

#include "support/Error.h"
#include "support/Names.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <exception>
#include <numeric>
#include <optional>
#include <thread>

namespace tessera::sim {

class ModuleState {
public:
  ptx::Module tree;
  // A variable in global or constant memory, 128-byte aligned.
  struct Variable {
    std::vector<uint8_t> storage;
    uint8_t *data = nullptr;
    uint64_t bytes = 0;
  };
  std::vector<Variable> variables; // one for each of tree.variables
  std::vector<Program> programs;   // one for each entry with a body

  const Program &find(const std::string &kernel) const {
    std::vector<std::string> names;
    for (const Program &p : programs) {
      if (p.name == kernel)
        return p;
      names.push_back(p.name);
    }
    throw Error("no kernel " + kernel + " in " + tree.name,
                nearestNameHint(kernel, names, "its kernels: "));
  }
};

namespace {

void placeVariables(ModuleState &state) {
  std::vector<ptx::Variable> &list = state.tree.variables;
  state.variables.resize(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const ptx::Variable &v = list[i];
    if (v.space != ptx::Space::Global && v.space != ptx::Space::Const)
      continue;
    ModuleState::Variable &mine = state.variables[i];
    mine.bytes = v.bytes;
    uint64_t align = std::max<uint64_t>(v.align, 128);
    mine.storage.resize(v.bytes + align);
    auto base = reinterpret_cast<uintptr_t>(mine.storage.data());
    mine.data = mine.storage.data() + (align - base % align) % align;
    std::copy(v.init.begin(), v.init.end(), mine.data);
  }
  for (size_t i = 0; i < list.size(); ++i)
    for (const ptx::Relocation &r : list[i].relocations) {
      uint64_t address = 0;
      for (size_t k = 0; k < list.size(); ++k)
        if (list[k].name == r.symbol && state.variables[k].data)
          address = reinterpret_cast<uint64_t>(state.variables[k].data);
      if (!address || !state.variables[i].data ||
          r.offset + 8 > state.variables[i].bytes)
        throw Error(state.tree.name + ":" + std::to_string(list[i].line) +
                        ": no variable " + r.symbol + " in global memory",
                    "initializers may hold addresses of global variables");
      address += static_cast<uint64_t>(r.addend);
      std::memcpy(state.variables[i].data + r.offset, &address, 8);
    }
}

// The order in which blocks start: grid order or, with a seed, offset + step *
// i for a random offset and step.
class BlockOrder {
public:
  BlockOrder(uint64_t seed, uint64_t blocks) : blocks(blocks) {
    if (!seed)
      return;
    Chance chance(seed);
    offset = chance.below(blocks);
    do // step * i must not overflow
      step = 1 + chance.below(std::min(blocks, ~uint64_t{0} / blocks));
    while (std::gcd(step, blocks) != 1);
  }
  // Returns element i of a permutation of 0 to blocks - 1.
  uint64_t at(uint64_t i) const {
    assert(i < blocks && "the grid does not have this block");
    return (step * i % blocks + offset) % blocks;
  }

private:
  uint64_t blocks, offset = 0, step = 1;
};

uint64_t count(const Dim3 &d) { return uint64_t{d[0]} * d[1] * d[2]; }

void checkLaunch(const Program &p, const std::string &target, Dim3 grid,
                 Dim3 block, uint32_t dynamicShared,
                 const std::vector<Param> &params) {
  if (count(grid) == 0 || count(block) == 0 || grid[0] > 0x7fffffff ||
      grid[1] > 65535 || grid[2] > 65535)
    throw Error("kernel " + p.name +
                    ": a grid or block without extent, or one "
                    "beyond the limits",
                "x is at most 2^31 - 1, y and z 65535");
  if (count(block) > 1024 || block[2] > 64)
    throw Error("kernel " + p.name + ": a block of " +
                    std::to_string(count(block)) + " threads",
                "1024 at most, 64 in z");
  for (size_t i = 0; i < 3; ++i)
    if (p.reqntid[0] && block[i] != std::max(p.reqntid[i], 1u))
      throw Error("kernel " + p.name + " requires blocks of " +
                      std::to_string(p.reqntid[0]) + " x " +
                      std::to_string(p.reqntid[1]) + " x " +
                      std::to_string(p.reqntid[2]) + " threads",
                  "launch it with those (.reqntid)");
  if (p.maxntid[0] && count(block) > uint64_t{p.maxntid[0]} *
                                         std::max(p.maxntid[1], 1u) *
                                         std::max(p.maxntid[2], 1u))
    throw Error("kernel " + p.name + " allows fewer threads than " +
                    std::to_string(count(block)),
                "launch smaller blocks (.maxntid)");
  if (p.staticShared > staticSharedLimit)
    throw Error("kernel " + p.name + " declares " +
                    std::to_string(p.staticShared) +
                    " bytes of static shared memory",
                "declare at most " + std::to_string(staticSharedLimit) +
                    " bytes, or make it dynamic (.extern .shared)");
  const uint32_t most = sharedLimit(capabilityOf(target));
  if (uint64_t{p.staticShared} + dynamicShared > most)
    throw Error("kernel " + p.name + " uses " +
                    std::to_string(p.staticShared + uint64_t{dynamicShared}) +
                    " bytes of shared memory",
                "a block may use " + std::to_string(most) + " bytes on " +
                    target + "; choose smaller tiles or fewer stages");
  if (params.size() != p.params.size())
    throw Error("kernel " + p.name + " takes " +
                    std::to_string(p.params.size()) + " parameters, " +
                    std::to_string(params.size()) + " are given",
                "pass every parameter of the .entry; Triton adds two pointers "
                "to scratch memory, which may be null");
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i].bytes.size() != p.params[i].bytes)
      throw Error("parameter " + std::to_string(i) + " of " + p.name + " has " +
                      std::to_string(p.params[i].bytes) + " bytes, " +
                      std::to_string(params[i].bytes.size()) + " are given",
                  "pass pointers and 64-bit integers with 8 bytes, i32 and "
                  "fp32 with 4");
}

// Adds one worker's counts to the report.
void addCounts(const Block &block, Counters &counters) {
  assert(block.counts.size() >= counters.instructions.size() &&
         "the block counts each instruction of the program");
  for (size_t i = 0; i < counters.instructions.size(); ++i) {
    const ExecCount &c = block.counts[i];
    InstructionCount &to = counters.instructions[i];
    to.issues += c.issues;
    to.warps += c.warps;
    to.lanes += c.lanes;
    to.requests += c.requests;
    to.ways += c.ways;
    to.leastWays += c.leastWays;
    to.copyWays += c.copyWays;
    to.leastCopyWays += c.leastCopyWays;
    to.sectors += c.sectors;
    to.lines += c.lines;
  }
  counters.asyncMaxGroups =
      std::max(counters.asyncMaxGroups, block.asyncMaxGroups);
  counters.barriers += block.barriers;
  counters.sharedTouched =
      std::max(counters.sharedTouched, block.sharedTouched);
}

void finishCounters(Counters &counters) {
  for (const InstructionCount &c : counters.instructions) {
    counters.byClass[static_cast<size_t>(c.kind)] += c.issues;
    counters.warpInstructions += c.issues;
    counters.laneInstructions += c.lanes;
    if (c.kind == Class::Tensor)
      counters.tensorInstructions += c.issues;
    bool isShared = c.kind == Class::SharedLoad ||
                    c.kind == Class::SharedStore ||
                    c.kind == Class::SharedAtomic || c.kind == Class::Matrix;
    if (isShared) {
      counters.sharedRequests += c.requests;
      counters.sharedWays += c.ways;
      counters.sharedConflicts += c.ways - c.leastWays;
    } else {
      counters.globalRequests += c.requests;
      counters.globalSectors += c.sectors;
    }
    if (c.copyWays) // copies without a source write zeros
      counters.copyRequests += c.warps;
    counters.copyWays += c.copyWays;
    counters.copyConflicts += c.copyWays - c.leastCopyWays;
  }
}

} // namespace

Param pointer(const void *address) {
  auto value = reinterpret_cast<uint64_t>(address);
  return scalar(value);
}

Module Module::load(std::string_view ptx, const std::string &name) {
  auto state = std::make_shared<ModuleState>();
  state->tree = ptx::parsePtx(ptx, name);
  placeVariables(*state);
  std::vector<uint64_t> addresses;
  for (const ModuleState::Variable &v : state->variables)
    addresses.push_back(reinterpret_cast<uint64_t>(v.data));
  for (const ptx::Function &fn : state->tree.functions)
    if (fn.isEntry && fn.hasBody)
      state->programs.push_back(decodeKernel(state->tree, fn, addresses));
  return Module(std::move(state));
}

std::vector<std::string> Module::kernels() const {
  std::vector<std::string> names;
  for (const Program &p : state->programs)
    names.push_back(p.name);
  return names;
}

const std::string &Module::target() const { return state->tree.target; }

std::vector<uint32_t> Module::parameterBytes(const std::string &kernel) const {
  std::vector<uint32_t> bytes;
  for (const ParamSlot &slot : state->find(kernel).params)
    bytes.push_back(slot.bytes);
  return bytes;
}

Dim3 Module::requiredBlock(const std::string &kernel) const {
  return state->find(kernel).reqntid;
}

uint32_t Module::staticShared(const std::string &kernel) const {
  return state->find(kernel).staticShared;
}

Report Module::launch(const std::string &kernel, Dim3 grid, Dim3 block,
                      uint32_t dynamicShared, const std::vector<Param> &params,
                      const Memory &memory, const Options &options) const {
  const Program &program = state->find(kernel);
  checkLaunch(program, state->tree.target, grid, block, dynamicShared, params);
  GlobalMemory global(memory, program.globalGranule);
  for (size_t i = 0; i < state->variables.size(); ++i) {
    const ModuleState::Variable &v = state->variables[i];
    if (!v.data || v.bytes == 0)
      continue;
    Allocation a;
    a.name = state->tree.variables[i].name;
    a.base = reinterpret_cast<uint64_t>(v.data);
    a.end = a.base + v.bytes;
    a.isConst = state->tree.variables[i].space == ptx::Space::Const;
    a.writable = !a.isConst;
    global.add(std::move(a));
  }
  global.finish();

  uint64_t first = 0, blocks = count(grid);
  Launch launch;
  launch.program = &program;
  std::optional<WatchPoint> point;
  if (const Watch *watch = options.watch) {
    const auto &b = watch->block;
    for (size_t i = 0; i < 3; ++i)
      if (b[i] >= grid[i])
        throw Error("no block " + std::to_string(b[0]) + "," +
                        std::to_string(b[1]) + "," + std::to_string(b[2]) +
                        " in the grid",
                    "it has " + std::to_string(grid[0]) + " x " +
                        std::to_string(grid[1]) + " x " +
                        std::to_string(grid[2]) + " blocks");
    uint64_t watched = b[0] + grid[0] * (b[1] + uint64_t{grid[1]} * b[2]);
    point.emplace(state->tree, program, *watch, watched);
    launch.watch = &*point;
    launch.program = &point->program();
    if (watch->alone) {
      first = watched;
      blocks = 1;
    }
  }
  const std::vector<uint64_t> &chosen = options.blocks;
  if (!chosen.empty() && !options.watch) {
    if (!std::is_sorted(chosen.begin(), chosen.end()) ||
        chosen.back() >= blocks)
      throw Error("the blocks to run are not ascending, or one of them is "
                  "outside of the grid",
                  "it has " + std::to_string(blocks) + " blocks");
    blocks = chosen.size();
  }
  const BlockOrder order(options.seed, blocks);
  const auto numberOf = [&](uint64_t i) {
    uint64_t at = first + order.at(i - first);
    return chosen.empty() || options.watch ? at : chosen[at];
  };
  launch.source = &state->tree;
  launch.options = &options;
  launch.memory = &global;
  launch.grid = grid;
  launch.block = block;
  launch.dynamicShared = dynamicShared;
  launch.params.resize(program.paramBytes + 16);
  for (size_t i = 0; i < params.size(); ++i)
    std::copy(params[i].bytes.begin(), params[i].bytes.end(),
              launch.params.begin() + program.params[i].offset);
  launch.params.resize(program.paramBytes);

  Report report;
  report.kernel = kernel;
  for (size_t i = 0; i < program.code.size(); ++i) {
    const InstInfo &info = program.info[i];
    InstructionCount c;
    c.ptxLine = info.line;
    c.sourceLine = state->tree.sourceLine(info.location);
    c.source = state->tree.describe(info.location);
    c.opcode = info.opcode;
    c.kind = program.code[i].kind;
    report.counters.instructions.push_back(std::move(c));
  }
  unsigned threads = options.serial    ? 1
                     : options.threads ? options.threads
                                       : std::thread::hardware_concurrency();
  threads =
      static_cast<unsigned>(std::min<uint64_t>(std::max(threads, 1u), blocks));
  std::atomic<uint64_t> next{first}, firstBad{~uint64_t{0}};
  // True if the finding is that a block waits forever.
  std::atomic<bool> waiting{false};
  std::mutex mutex;
  Finding finding;
  std::exception_ptr error;
  std::vector<std::vector<uint64_t>> lines;
  for (const Allocation &a : global.allocations())
    lines.emplace_back((a.end - a.base) / 128 / 64 + 2);
  const auto addMachine = [&](const Block &machine) {
    std::lock_guard lock(mutex);
    addCounts(machine, report.counters);
    for (size_t i = 0; i < lines.size(); ++i)
      for (size_t k = 0; k < lines[i].size(); ++k)
        lines[i][k] |= machine.touchedLines[i][k];
  };
  auto work = [&](bool reports) {
    try {
      Block machine(launch);
      // No block after one with a finding is run, but those before it are, so
      // that the finding is always that of the first block. If a block waits
      // forever, the blocks that would run at the same time still run: their
      // errors may be the reason for the wait.
      const auto runs = [&](uint64_t b) {
        return b < firstBad.load() || (waiting && b - first < threads);
      };
      for (uint64_t b; (b = next++) < first + blocks && runs(b);) {
        if (reports && options.progress)
          options.progress(b - first, blocks);
        Finding mine;
        if (machine.run(numberOf(b), mine))
          continue;
        std::lock_guard lock(mutex);
        // The stopped block may have held a lock for which another block waits
        // forever, so its finding replaces the other one's.
        const bool waits = mine.check == Check::EndlessLoop;
        const bool known = firstBad.load() != ~uint64_t{0};
        const bool replaces = known && finding.check == Check::EndlessLoop;
        if (!known || (waits ? replaces && b < firstBad.load()
                             : replaces || b < firstBad.load()))
          finding = std::move(mine);
        waiting = finding.check == Check::EndlessLoop;
        firstBad = std::min(firstBad.load(), b);
      }
      addMachine(machine);
    } catch (...) {
      std::lock_guard lock(mutex);
      error = std::current_exception();
      firstBad = 0;
    }
  };
  std::vector<std::thread> workers;
  if (options.resident) {
    const auto numbers = [&](uint64_t i) { return numberOf(first + i); };
    if (!runResident(launch, numbers, blocks, addMachine, finding))
      firstBad = 0;
  } else {
    for (unsigned i = 1; i < threads; ++i)
      workers.emplace_back(work, false);
    work(true);
  }
  for (std::thread &worker : workers)
    worker.join();
  if (error)
    std::rethrow_exception(error);
  if (firstBad.load() != ~uint64_t{0})
    report.findings.push_back(std::move(finding));
  report.output = std::move(launch.output);
  Counters &c = report.counters;
  finishCounters(c);
  c.blocks = blocks;
  c.warps = blocks * ((count(block) + 31) / 32);
  c.sharedBytes = program.staticShared + dynamicShared;
  for (const std::vector<uint64_t> &bits : lines)
    for (uint64_t word : bits)
      c.l2Lines += static_cast<uint64_t>(__builtin_popcountll(word));
  return report;
}

} // namespace tessera::sim
