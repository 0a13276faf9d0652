// tools/inspect/Stalls.cpp - estimates how long a warp waits before each
// instruction, and why.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/Stalls.h"

#include "autotune/model/Devices.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <string_view>

namespace tessera::tools {
namespace {

using ptx::InstructionClass;
using ptx::ListedInstruction;
using ptx::Listing;

// Cycles from issue to the first instruction that can use the result. Estimates
// for an A100; compare them with published microbenchmarks (arXiv 2208.11174
// for memory and arithmetic, 2206.02874 for ldmatrix.x4 and mma.m16n8k16).
constexpr double sharedLatency = 23, matrixLatency = 29, mmaLatency = 33,
                 specialLatency = 20, arithmeticLatency = 4;

struct Latency {
  double cycles;
  const char *reason;
};

using Registers = std::vector<std::string>;

// Registers that an instruction reads and writes, and its ordering constraints.
struct Step {
  Registers reads, writes;
  Latency latency{};
  double pipeCycles = 0;                // of the tensor cores
  bool memory = false, ordered = false; // ordered: with all memory accesses
  bool ends = false;                    // its block
  int commits = 0, waits = -1;          // of cp.async groups
};

// Adds the registers of an operand. A text without declarations has only names.
void addRegisters(const ptx::Operand &operand, Registers &to) {
  using Kind = ptx::Operand::Kind;
  if (operand.kind == Kind::Register || operand.kind == Kind::Name)
    to.push_back(operand.text);
  for (const ptx::Operand &item : operand.items)
    addRegisters(item, to);
}

bool isSpecial(const std::string &opcode) {
  static const std::array<std::string_view, 10> names = {
      "ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh", "div", "rem"};
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return opcode.starts_with(std::string(name) + ".");
  });
}

Latency latencyOf(const ListedInstruction &instruction,
                  const tune::GpuData &gpu) {
  switch (instruction.kind) {
  case InstructionClass::LoadGlobal:
  case InstructionClass::Atomic:
    return {gpu.dramLatency, "global memory"};
  case InstructionClass::LoadLocal:
    return {gpu.l2Latency, "local memory"};
  case InstructionClass::LoadShared:
    return {sharedLatency, "shared memory"};
  case InstructionClass::LoadMatrix:
    return {matrixLatency, "shared memory"};
  case InstructionClass::Shuffle:
    return {sharedLatency, "other lanes"};
  case InstructionClass::Mma:
    return {mmaLatency, "tensor core result"};
  default:
    return isSpecial(instruction.opcode)
               ? Latency{specialLatency, "special function"}
               : Latency{arithmeticLatency, "arithmetic"};
  }
}

bool isMemory(InstructionClass kind) {
  switch (kind) {
  case InstructionClass::LoadMatrix:
  case InstructionClass::AsyncCopy:
  case InstructionClass::LoadGlobal:
  case InstructionClass::StoreGlobal:
  case InstructionClass::LoadShared:
  case InstructionClass::StoreShared:
  case InstructionClass::LoadLocal:
  case InstructionClass::StoreLocal:
  case InstructionClass::Atomic:
  case InstructionClass::Barrier:
    return true;
  default:
    return false;
  }
}

Step stepOf(const ListedInstruction &instruction,
            const ptx::Instruction &parsed, const tune::GpuData &gpu) {
  Step step;
  step.latency = latencyOf(instruction, gpu);
  step.memory = isMemory(instruction.kind);
  step.ends = !instruction.targets.empty() || !instruction.fallsThrough;
  const std::string &opcode = instruction.opcode;
  const bool result = !opcode.starts_with("st.") &&
                      !opcode.starts_with("red.") && !step.ends &&
                      instruction.kind != InstructionClass::AsyncCopy &&
                      instruction.kind != InstructionClass::Barrier;
  step.ordered = step.memory && (!result || opcode.starts_with("atom."));
  if (instruction.kind == InstructionClass::Mma)
    step.pipeCycles =
        sim::multiplyAdds(opcode) * gpu.rates.issueWarps / gpu.rates.tensorFma;
  if (opcode.starts_with("cp.async.commit"))
    step.commits = 1;
  if (const uint32_t left = ptx::asyncGroupsLeft(parsed); left != ptx::None)
    step.waits = int(left);
  for (const ptx::Operand &operand : parsed.operands)
    addRegisters(operand, result && &operand == &parsed.operands.front()
                              ? step.writes
                              : step.reads);
  if (!parsed.guard.empty())
    step.reads.push_back(parsed.guard);
  return step;
}

// Simulates one warp that executes the code.
class Walk {
public:
  Walk(const std::vector<Step> &steps, double copyLatency)
      : steps(steps), copyLatency(copyLatency),
        stalls(steps.size(), Stall{0, ""}) {}

  // Issues the instructions [first, last) in the best order. An instruction
  // that ends the block is issued last.
  void run(size_t first, size_t last);
  std::vector<Stall> take() { return std::move(stalls); }

private:
  struct Ready {
    double at = 0;
    const char *reason = "";
  };
  Ready readyOf(const Step &step) const;
  void issue(size_t index, const Ready &ready);
  std::vector<std::vector<size_t>> orderOf(size_t first, size_t last) const;

  const std::vector<Step> &steps;
  const double copyLatency;
  std::vector<Stall> stalls;
  double now = 0, pipeFree = 0; // the next cycle; the tensor core's
  std::map<std::string, Ready> registers;
  std::deque<double> groups; // cycle at which each group completes
};

Walk::Ready Walk::readyOf(const Step &step) const {
  Ready ready{now, ""};
  const auto wait = [&](double at, const char *reason) {
    if (at > ready.at)
      ready = {at, reason};
  };
  for (const std::string &name : step.reads)
    if (const auto found = registers.find(name); found != registers.end())
      wait(found->second.at, found->second.reason);
  if (step.pipeCycles > 0)
    wait(pipeFree, "tensor core busy");
  if (step.waits >= 0 && size_t(step.waits) < groups.size())
    wait(groups[groups.size() - 1 - size_t(step.waits)], "asynchronous copies");
  return ready;
}

void Walk::issue(size_t index, const Ready &ready) {
  const Step &step = steps[index];
  stalls[index] = {ready.at - now, ready.at > now ? ready.reason : ""};
  now = ready.at + 1;
  for (const std::string &name : step.writes)
    registers[name] = {ready.at + step.latency.cycles, step.latency.reason};
  if (step.pipeCycles > 0)
    pipeFree = ready.at + step.pipeCycles;
  if (step.commits)
    groups.push_back(ready.at + copyLatency);
  while (step.waits >= 0 && groups.size() > size_t(step.waits))
    groups.pop_front();
}

// Returns for each instruction of a block the instructions that must be issued
// before it.
std::vector<std::vector<size_t>> Walk::orderOf(size_t first,
                                               size_t last) const {
  std::vector<std::vector<size_t>> before(last - first);
  std::map<std::string, size_t> writer;
  std::map<std::string, std::vector<size_t>> readers;
  std::vector<size_t> accesses; // since the last ordered one, inclusive
  for (size_t i = first; i < last; ++i) {
    const Step &step = steps[i];
    std::vector<size_t> &own = before[i - first];
    for (const std::string &name : step.reads) {
      if (const auto found = writer.find(name); found != writer.end())
        own.push_back(found->second);
      readers[name].push_back(i);
    }
    for (const std::string &name : step.writes) {
      if (const auto found = writer.find(name); found != writer.end())
        own.push_back(found->second);
      for (const size_t reader : readers[name])
        if (reader != i)
          own.push_back(reader);
      readers[name].clear();
      writer[name] = i;
    }
    if (step.ordered) {
      own.insert(own.end(), accesses.begin(), accesses.end());
      accesses = {i};
    } else if (step.memory) {
      if (!accesses.empty() && steps[accesses.front()].ordered)
        own.push_back(accesses.front());
      accesses.push_back(i);
    }
    if (step.ends)
      for (size_t j = first; j < i; ++j)
        own.push_back(j);
  }
  return before;
}

void Walk::run(size_t first, size_t last) {
  const auto before = orderOf(first, last);
  std::vector<size_t> missing(last - first);
  std::vector<std::vector<size_t>> after(last - first);
  std::set<size_t> open; // ready to issue, in text order
  for (size_t i = first; i < last; ++i) {
    missing[i - first] = before[i - first].size();
    for (const size_t j : before[i - first])
      after[j - first].push_back(i);
    if (missing[i - first] == 0)
      open.insert(i);
  }
  while (!open.empty()) {
    size_t best = *open.begin();
    Ready soonest = readyOf(steps[best]);
    for (const size_t i : open) {
      if (soonest.at <= now)
        break;
      if (const Ready ready = readyOf(steps[i]); ready.at < soonest.at) {
        soonest = ready;
        best = i;
      }
    }
    open.erase(best);
    issue(best, soonest);
    for (const size_t i : after[best - first])
      if (--missing[i - first] == 0)
        open.insert(i);
  }
}

} // namespace

std::vector<Stall> estimateStalls(const Listing &ptx,
                                  const std::string &target) {
  const tune::GpuData *gpu = &tune::gpus().front();
  for (const tune::GpuData &known : tune::gpus())
    if (known.rates.target == target) {
      gpu = &known;
      break;
    }
  std::vector<Step> steps;
  for (size_t i = 0; i < ptx.code.size(); ++i)
    steps.push_back(stepOf(ptx.code[i], ptx.function.body[i], *gpu));
  std::set<size_t> heads(ptx.labels.begin(), ptx.labels.end());
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].ends)
      heads.insert(i + 1);
  Walk walk(steps, gpu->dramLatency);
  std::set<size_t> repeated; // back edges taken already
  for (size_t at = 0; at < steps.size();) {
    const auto next = heads.upper_bound(at);
    const size_t end =
        std::min(next == heads.end() ? steps.size() : *next, steps.size());
    walk.run(at, end);
    const size_t tail = end - 1;
    at = end;
    for (const size_t head : ptx.code[tail].targets)
      if (head <= tail && repeated.insert(tail).second)
        at = head;
  }
  return walk.take();
}

} // namespace tessera::tools
