// simulator/machine/WatchPoint.cpp - adds hooks to a program after the
// instructions of a source line.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/WatchPoint.h"

#include "simulator/machine/Block.h"
#include "support/Error.h"
#include "support/Names.h"
#include "support/Text.h"

#include <algorithm>
#include <set>

namespace tessera::sim {
namespace {

using Kind = ptx::Operand::Kind;
using Role = OperandRule::Role;

void hook(Warp &w, const Inst &i, uint32_t mask) {
  w.block->launch.watch->executed(w, i, mask);
}

bool isResult(Role role) {
  return role == Role::Dest || role == Role::DestPair ||
         role == Role::DestPredicate || role == Role::DestPredicates ||
         role == Role::DestVector;
}

bool isUntyped(Type type) {
  switch (type) {
  case Type::None:
  case Type::B8:
  case Type::B16:
  case Type::B32:
  case Type::B64:
  case Type::B128:
    return true;
  default:
    return false;
  }
}

// Appends the registers of an operand.
void collect(const ptx::Operand &o, std::vector<uint32_t> &to) {
  if (o.kind == Kind::Register)
    to.push_back(o.index);
  else if (o.kind == Kind::Vector || o.kind == Kind::Pair)
    for (const ptx::Operand &item : o.items)
      collect(item, to);
}

// Returns the file of the kernel's source: the outermost file into which its
// first instruction was inlined.
uint32_t ownFile(const ptx::Module &module, const Program &program) {
  for (const InstInfo &info : program.info) {
    if (info.location == ptx::None)
      continue;
    const ptx::Location *at = &module.locations[info.location];
    while (at->inlinedAt != ptx::None)
      at = &module.locations[at->inlinedAt];
    return at->file;
  }
  return 0;
}

std::string list(const std::set<uint32_t> &lines) {
  std::string text;
  for (uint32_t line : lines)
    text += (text.empty() ? "" : ", ") + std::to_string(line);
  return text;
}

} // namespace

WatchPoint::WatchPoint(const ptx::Module &module, const Program &program,
                       const Watch &watch, uint64_t block)
    : module(module), watch(watch), block(block), copy(program) {
  inferTypes();
  std::vector<Shown> asked;
  for (const std::string &name : watch.registers) {
    const auto &known = copy.frames[0].fn->registers;
    size_t at = 0;
    while (at < known.size() && known[at].name != name)
      ++at;
    if (at == known.size()) {
      std::vector<std::string> names;
      for (const ptx::Register &reg : known)
        names.push_back(reg.name);
      throw Error("kernel " + copy.name + " has no register " + name,
                  nearestNameHint(name, names, "registers"));
    }
    asked.push_back(shown(0, static_cast<uint32_t>(at)));
  }
  registers.resize(copy.code.size());
  bool found = false, control = false;
  for (uint32_t k = 0; k < copy.code.size(); ++k) {
    original.push_back(copy.code[k].exec);
    if (!copy.info[k].source || !matches(module, k))
      continue;
    if (copy.code[k].flow != Flow::None) {
      control = true;
      continue;
    }
    found = true;
    registers[k] = asked.empty() ? results(copy.info[k]) : asked;
    copy.code[k].exec = hook;
  }
  if (found)
    return;
  uint32_t own = ownFile(module, copy);
  std::set<uint32_t> lines;
  for (const InstInfo &info : copy.info)
    for (uint32_t at = info.location; at != ptx::None;
         at = module.locations[at].inlinedAt)
      if (module.locations[at].file == own && module.locations[at].line)
        lines.insert(module.locations[at].line);
  std::string what =
      watch.line ? "line " + (watch.file.empty() ? "" : watch.file + ":") +
                       std::to_string(watch.line)
                 : "PTX line " + std::to_string(watch.ptxLine);
  throw Error(control
                  ? what + " of " + copy.name +
                        " only steers: branches and "
                        "barriers"
                  : "no instruction of " + copy.name + " comes from " + what,
              lines.empty() ? "the PTX has no line information: use a line of "
                              "the PTX text (--ptx-line)"
                            : "lines of the kernel's file: " + list(lines));
}

bool WatchPoint::matches(const ptx::Module &tree, uint32_t inst) const {
  const InstInfo &info = copy.info[inst];
  if (!watch.line)
    return info.line == watch.ptxLine;
  uint32_t own = ownFile(tree, copy);
  for (uint32_t at = info.location; at != ptx::None;
       at = tree.locations[at].inlinedAt) {
    const ptx::Location &location = tree.locations[at];
    if (location.line != watch.line)
      continue;
    if (watch.file.empty() && location.file == own)
      return true;
    for (const ptx::NumberedFile &file : tree.files)
      if (file.number == location.file && !watch.file.empty() &&
          lastPart(file.path) == lastPart(watch.file))
        return true;
  }
  return false;
}

WatchPoint::Shown WatchPoint::shown(uint32_t frame, uint32_t reg) const {
  const Program::FrameRows &rows = copy.frames[frame];
  const ptx::Register &r = rows.fn->registers[reg];
  return {rows.rows[reg], r.bits, types[frame][reg], r.name};
}

std::vector<WatchPoint::Shown> WatchPoint::results(const InstInfo &info) const {
  std::vector<Shown> list;
  Match match;
  std::string hint;
  const ptx::Instruction &source = *info.source;
  if (!matchInstruction(source.opcode,
                        static_cast<unsigned>(source.operands.size()), match,
                        hint))
    return list;
  for (size_t k = 0; k < source.operands.size(); ++k) {
    std::vector<uint32_t> found;
    if (isResult(match.row->operands[k].role))
      collect(source.operands[k], found);
    for (uint32_t reg : found)
      list.push_back(shown(info.frame, reg));
  }
  return list;
}

void WatchPoint::vote(uint32_t frame, const ptx::Operand &operand, Type type) {
  std::vector<uint32_t> found;
  collect(operand, found);
  for (uint32_t reg : found) {
    Type &mine = types[frame][reg];
    if (isUntyped(mine) && !isUntyped(type))
      mine = type;
  }
}

void WatchPoint::infer(uint32_t frame) {
  const ptx::Function &fn = *copy.frames[frame].fn;
  for (const ptx::Instruction &source : fn.body) {
    Match match;
    std::string hint;
    if (!matchInstruction(source.opcode,
                          static_cast<unsigned>(source.operands.size()), match,
                          hint))
      continue;
    const Sem sem = match.row->sem;
    const auto &o = source.operands;
    if (sem == Sem::Mov && o[0].kind == Kind::Register &&
        o[1].kind == Kind::Register) {
      vote(frame, o[0], types[frame][o[1].index]);
      vote(frame, o[1], types[frame][o[0].index]);
      continue;
    }
    for (size_t k = 0; k < o.size(); ++k) {
      const OperandRule &rule = match.row->operands[k];
      Type type = rule.typeIndex >= 0
                      ? match.type(static_cast<unsigned>(rule.typeIndex))
                      : rule.fixed;
      if (rule.role == Role::Address || rule.role == Role::Label || rule.wide)
        continue;
      // A register of an mma fragment holds two halves.
      if (sem == Sem::Mma)
        type = type == Type::F16     ? Type::F16x2
               : type == Type::Bf16  ? Type::Bf16x2
               : type == Type::Tf32  ? Type::F32
               : typeBits(type) == 8 ? Type::None
                                     : type;
      vote(frame, o[k], type);
    }
  }
}

void WatchPoint::inferTypes() {
  for (const Program::FrameRows &frame : copy.frames)
    types.emplace_back(frame.fn->registers.size(), Type::None);
  // Runs twice, so that types propagate through moves.
  for (int round = 0; round < 2; ++round)
    for (uint32_t k = 0; k < copy.frames.size(); ++k)
      infer(k);
}

void WatchPoint::executed(Warp &w, const Inst &i, uint32_t mask) {
  original[i.index](w, i, mask);
  if (w.block->linear != block)
    return;
  counts.resize(std::max<size_t>(counts.size(), w.id + 1));
  counts[w.id].resize(copy.code.size());
  const InstInfo &info = copy.info[i.index];
  WatchStep step;
  step.warp = w.id;
  step.lanes = mask;
  step.instruction = i.index;
  step.execution = ++counts[w.id][i.index];
  step.ptxLine = info.line;
  step.text = info.text;
  step.source = module.describe(info.location);
  for (const Shown &s : registers[i.index]) {
    RegisterValue value;
    value.name = s.name;
    value.type = s.type;
    value.bits = s.bits;
    value.uninitialized = static_cast<uint32_t>(w.taint[s.row]);
    for (uint32_t l = 0; l < Lanes; ++l)
      value.lanes[l] = s.bits == 1   ? (*w.row32(s.row) >> l) & 1
                       : s.bits > 32 ? w.row64(s.row)[l]
                                     : w.row32(s.row)[l];
    step.registers.push_back(std::move(value));
  }
  watch.step(step);
}

} // namespace tessera::sim
