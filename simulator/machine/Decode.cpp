// simulator/machine/Decode.cpp - decodes PTX instructions to Inst by the rows
// of the instruction table.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/Decode.h"

#include "simulator/arith/Mma.h"
#include "simulator/machine/Select.h"
#include "support/Error.h"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace tessera::sim {
namespace {

using Kind = ptx::Operand::Kind;

uint64_t alignUp(uint64_t value, uint64_t align) {
  return (value + align - 1) / align * align;
}

std::string shown(const ptx::Operand &o) {
  switch (o.kind) {
  case Kind::Integer:
    return std::to_string(o.value);
  case Kind::Float32:
  case Kind::Float64: {
    char text[32];
    bool single = o.kind == Kind::Float32;
    std::snprintf(text, sizeof(text), single ? "0f%08llX" : "0d%016llX",
                  static_cast<unsigned long long>(o.value));
    return text;
  }
  case Kind::Vector:
  case Kind::List: {
    std::string text = "{";
    for (const ptx::Operand &item : o.items)
      text += (text.size() > 1 ? ", " : "") + shown(item);
    return text + "}";
  }
  case Kind::Pair:
    return shown(o.items[0]) + "|" + shown(o.items[1]);
  case Kind::Address:
    return "[" + shown(o.items[0]) +
           (o.value ? (o.value < 0 ? "" : "+") + std::to_string(o.value) : "") +
           "]";
  default:
    return (o.negated ? "!" : "") + o.text;
  }
}

std::string shown(const ptx::Function &fn, const ptx::Instruction &inst) {
  std::string text;
  if (inst.predicate != ptx::None)
    text = std::string("@") + (inst.predicateNegated ? "!" : "") +
           fn.registers[inst.predicate].name + " ";
  text += inst.opcode;
  for (size_t i = 0; i < inst.operands.size(); ++i)
    text += (i ? ", " : " ") + shown(inst.operands[i]);
  if (text.size() > 160)
    text = text.substr(0, 157) + "...";
  return text;
}

} // namespace

Program decodeKernel(const ptx::Module &module, const ptx::Function &entry,
                     const std::vector<uint64_t> &addresses) {
  Program program = Decoder(module, addresses).run(entry);
  findReconvergence(program);
  return program;
}

Decoder::Decoder(const ptx::Module &module,
                 const std::vector<uint64_t> &addresses)
    : module(module), addresses(addresses) {}

void Decoder::fail(const std::string &what, const std::string &hint) {
  std::string text = module.name;
  if (current)
    text += ":" + std::to_string(current->line);
  text += ": " + what;
  if (current)
    text += " in '" + current->opcode + "'";
  throw Error(text + where, hint);
}

// Lays out shared memory: first the shared variables of the module and of all
// functions that are not entries, then those of the entry, then dynamic shared
// memory.
void Decoder::layoutShared(const ptx::Function &entry) {
  uint64_t end = 0;
  uint32_t dynamicAlign = 16;
  auto place = [&](const ptx::Variable &v) {
    if (v.isExtern || v.bytes == 0) {
      dynamicAlign = std::max(dynamicAlign, v.align);
      return uint64_t{0};
    }
    uint64_t at = alignUp(end, v.align);
    end = at + v.bytes;
    return at;
  };
  for (const ptx::Variable &v : module.variables)
    moduleShared.push_back(v.space == ptx::Space::Shared ? place(v) : 0);
  for (const ptx::Function &fn : module.functions) {
    if (fn.isEntry && &fn != &entry)
      continue;
    for (uint32_t i = 0; i < fn.variables.size(); ++i)
      if (fn.variables[i].space == ptx::Space::Shared)
        functionShared[{&fn, i}] = place(fn.variables[i]);
  }
  end = alignUp(end, dynamicAlign);
  if (end > (1u << 20))
    fail("more than a mebibyte of static shared memory", "use dynamic memory");
  dynamicBase = static_cast<uint32_t>(end);
  program.staticShared = dynamicBase;
}

Program Decoder::run(const ptx::Function &entry) {
  program.name = entry.name;
  program.reqntid = entry.reqntid;
  program.maxntid = entry.maxntid;
  layoutShared(entry);
  Frame frame = openFrame(entry, true);
  for (const ptx::Function::Parameter &p : entry.parameters) {
    const ptx::Variable &v = entry.variables[p.variable];
    auto offset = static_cast<uint32_t>(
        alignUp(program.paramBytes, std::max(v.align, 1u)));
    frame.offsets[p.variable] = offset;
    program.params.push_back({v.name, offset, static_cast<uint32_t>(v.bytes)});
    program.paramBytes = offset + static_cast<uint32_t>(v.bytes);
  }
  body(frame, 0);
  // PTX permits a body without a final ret.
  Inst last;
  last.sem = Sem::Exit;
  last.kind = Class::Control;
  last.flow = Flow::Exit;
  emit(last);
  return std::move(program);
}

Decoder::Frame Decoder::openFrame(const ptx::Function &fn, bool isEntry) {
  Frame frame;
  frame.fn = &fn;
  for (const ptx::Register &reg : fn.registers)
    frame.rows.push_back(newRow(reg.bits));
  frame.number = static_cast<uint32_t>(program.frames.size());
  program.frames.push_back({&fn, frame.rows});
  frame.offsets.resize(fn.variables.size());
  for (uint32_t i = 0; i < fn.variables.size(); ++i) {
    const ptx::Variable &v = fn.variables[i];
    bool isParameter = false;
    for (auto *list : {&fn.parameters, &fn.results})
      for (const ptx::Function::Parameter &p : *list)
        isParameter |= p.variable == i;
    if (v.space == ptx::Space::Local ||
        (v.space == ptx::Space::Param && !isParameter)) {
      uint64_t at = alignUp(program.localBytes, std::max(v.align, 1u));
      frame.offsets[i] = at;
      if (at + v.bytes > (512u << 10))
        fail("more than 512 KiB of local memory", "use less local memory");
      program.localBytes = static_cast<uint32_t>(at + v.bytes);
    } else if (v.space == ptx::Space::Shared) {
      frame.offsets[i] = functionShared[{&fn, i}];
    } else if (v.space == ptx::Space::Global || v.space == ptx::Space::Const) {
      fail("variable " + v.name + " in global memory declared in a body",
           "declare it outside of functions");
    }
  }
  program.localBytes = static_cast<uint32_t>(alignUp(program.localBytes, 16));
  return frame;
}

void Decoder::body(Frame &frame, int depth) {
  for (const ptx::Instruction &inst : frame.fn->body) {
    frame.starts.push_back(static_cast<uint32_t>(program.code.size()));
    current = &inst;
    instruction(frame, inst, depth);
    if (program.code.size() > (4u << 20))
      fail("more than four million instructions after inlining",
           "split the kernel");
  }
  frame.starts.push_back(static_cast<uint32_t>(program.code.size()));
  for (auto [code, label] : frame.branches)
    program.code[code].target = frame.starts[frame.fn->labels[label].target];
  for (auto [code, table] : frame.tables) {
    std::vector<uint32_t> targets;
    for (uint32_t label : frame.fn->tables[table])
      targets.push_back(frame.starts[frame.fn->labels[label].target]);
    program.code[code].imm = static_cast<int64_t>(program.tables.size());
    program.tables.push_back(std::move(targets));
  }
  for (uint32_t code : frame.exits)
    program.code[code].target = frame.starts.back();
}

void Decoder::emit(const Inst &inst) {
  program.code.push_back(inst);
  program.code.back().index = static_cast<uint32_t>(program.code.size() - 1);
  InstInfo info;
  if (current) {
    info.line = current->line;
    info.location = current->location;
    info.opcode = current->opcode;
  } else {
    info.opcode = "exit";
  }
  program.info.push_back(std::move(info));
}

void Decoder::emitMove(uint32_t to, uint32_t from, unsigned bits) {
  Inst inst;
  inst.sem = Sem::Mov;
  inst.kind = Class::Move;
  inst.bytes = static_cast<uint8_t>(bits <= 32 ? 4 : bits / 8);
  inst.op[0] = to;
  inst.op[1] = from;
  Match match;
  const InstructionRow row{"mov", {}, {}, Sem::Mov, Class::Move};
  match.row = &row;
  inst.exec = selectMove(match, inst);
  emit(inst);
}

void Decoder::instruction(Frame &frame, const ptx::Instruction &source,
                          int depth) {
  Match match;
  std::string hint;
  auto count = static_cast<unsigned>(source.operands.size());
  if (!matchInstruction(source.opcode, count, match, hint))
    fail("unknown instruction", hint);
  checkTarget(source);
  if (match.row->sem == Sem::Call)
    return call(frame, source, depth);
  Inst inst;
  inst.sem = match.row->sem;
  inst.kind = match.row->kind;
  if (source.predicate != ptx::None) {
    inst.guard = frame.rows[source.predicate];
    inst.guardNegated = source.predicateNegated;
  }
  auto code = static_cast<uint32_t>(program.code.size());
  switch (inst.sem) {
  case Sem::Branch:
    inst.flow = Flow::Branch;
    frame.branches.emplace_back(code, source.operands[0].index);
    break;
  case Sem::BranchTable:
    inst.flow = Flow::BranchTable;
    if (source.operands[1].kind != Kind::Table)
      fail("the second operand is a branch table", "brx.idx %r1, table;");
    inst.op[0] = this->source(frame, source.operands[0], Type::U32, 32, false);
    frame.tables.emplace_back(code, source.operands[1].index);
    break;
  case Sem::Return:
    if (depth > 0) {
      inst.flow = Flow::Branch;
      frame.exits.push_back(code);
      break;
    }
    [[fallthrough]];
  case Sem::Exit:
    inst.flow = Flow::Exit;
    break;
  case Sem::Trap:
    inst.flow = Flow::Trap;
    break;
  case Sem::Nop:
    inst.flow = Flow::Nop;
    break;
  case Sem::Barrier:
  case Sem::BarrierArrive:
  case Sem::BarrierReduce:
    inst.flow = Flow::Barrier;
    barrierOperands(frame, source, match, inst);
    break;
  case Sem::CpAsync:
    copyOperands(frame, source, match, inst);
    break;
  case Sem::Mov:
    movOperands(frame, source, match, inst);
    break;
  default:
    operands(frame, source, match, inst);
    break;
  }
  if (inst.flow == Flow::None && !inst.exec) {
    for (auto *select : {selectInteger, selectBits, selectFloat, selectHalf,
                         selectConvert, selectCompare, selectMove, selectMemory,
                         selectAtomic, selectAsync, selectWarp, selectTensor})
      if (!inst.exec)
        inst.exec = select(match, inst);
    if (!inst.exec)
      fail("this combination of suffixes is not supported",
           "docs/simulator.md lists what the machine executes");
  }
  emit(inst);
  program.info.back().text = shown(*frame.fn, source);
  program.info.back().source = &source;
  program.info.back().frame = frame.number;
}

void Decoder::operands(Frame &frame, const ptx::Instruction &source,
                       const Match &match, Inst &inst) {
  using Role = OperandRule::Role;
  unsigned next = 0;
  std::vector<uint32_t> lengths;
  auto push = [&](uint32_t row) {
    if (next >= std::size(inst.op))
      fail("too many registers", "this form is not supported");
    inst.op[next++] = row;
  };
  bool isMemory = inst.sem == Sem::Load || inst.sem == Sem::Store ||
                  inst.sem == Sem::Atomic || inst.sem == Sem::Reduction;
  bool isCvt = inst.sem == Sem::Cvt;
  if (inst.sem == Sem::Ldmatrix || inst.sem == Sem::Stmatrix)
    inst.space = MemSpace::Shared;
  if (isMemory) {
    setSpace(match, inst);
    inst.bytes = static_cast<uint8_t>(typeBits(match.type()) / 8);
    inst.mode = 4;
  }
  for (size_t k = 0; k < source.operands.size(); ++k) {
    const ptx::Operand &o = source.operands[k];
    const OperandRule &rule = match.row->operands[k];
    Type type = rule.typeIndex >= 0
                    ? match.type(static_cast<unsigned>(rule.typeIndex))
                    : rule.fixed;
    unsigned bits = typeBits(type) * (rule.wide ? 2 : 1);
    switch (rule.role) {
    case Role::Dest:
      push(destination(frame, o, bits, rule.relaxed, isMemory));
      if (isCvt)
        inst.bytes = static_cast<uint8_t>(registerBits(frame, o) / 8);
      if (isMemory)
        inst.mode = static_cast<uint8_t>(registerBits(frame, o) / 8);
      break;
    case Role::DestPair:
      if (o.kind == Kind::Pair) {
        push(destination(frame, o.items[0], bits, false, true));
        push(predicate(frame, o.items[1], inst, next, false));
      } else {
        push(destination(frame, o, bits, false, false));
        push(NoRow);
      }
      break;
    case Role::DestPredicate:
      push(predicate(frame, o, inst, next, false));
      break;
    case Role::DestPredicates:
      if (o.kind == Kind::Pair) {
        push(predicate(frame, o.items[0], inst, next, false));
        push(predicate(frame, o.items[1], inst, next, false));
      } else {
        push(predicate(frame, o, inst, next, false));
        push(NoRow);
      }
      break;
    case Role::Source:
      push(this->source(frame, o, type, bits, rule.relaxed));
      if (isCvt)
        inst.count = static_cast<uint8_t>(
            o.kind == Kind::Register ? registerBits(frame, o) : bits);
      break;
    case Role::SourcePredicate:
      push(predicate(frame, o, inst, next, true));
      break;
    case Role::DestVector:
    case Role::SourceVector: {
      bool isMma = inst.sem == Sem::Mma;
      unsigned elementBits = isMma ? (type == Type::F64 ? 64 : 32) : bits;
      std::vector<const ptx::Operand *> items;
      if (o.kind == Kind::Vector)
        for (const ptx::Operand &item : o.items)
          items.push_back(&item);
      else
        items.push_back(&o);
      unsigned width = 0;
      for (const ptx::Operand *item : items) {
        bool isDest = rule.role == Role::DestVector;
        push(isDest ? destination(frame, *item, elementBits, isMemory, isMemory)
                    : this->source(
                          frame, *item,
                          isMma ? (elementBits == 64 ? Type::B64 : Type::B32)
                                : type,
                          elementBits, isMemory));
        if (item->kind == Kind::Register) {
          unsigned mine = registerBits(frame, *item);
          if (width && mine != width)
            fail("the registers of a vector have different widths",
                 "declare them alike");
          width = mine;
        }
      }
      if (isMemory)
        inst.mode = static_cast<uint8_t>((width ? width : elementBits) / 8);
      inst.count = static_cast<uint8_t>(items.size());
      lengths.push_back(inst.count);
      break;
    }
    case Role::Address: {
      int64_t offset = 0;
      bool wide = true;
      uint32_t row = address(frame, o, inst, offset, wide);
      push(row);
      inst.imm = offset;
      inst.wideAddress = wide;
      break;
    }
    case Role::Immediate:
      if (o.kind != Kind::Integer)
        fail("operand " + std::to_string(k + 1) + " must be a constant",
             "write a number");
      inst.imm = o.value;
      break;
    case Role::Label:
      break;
    }
  }
  if (isMemory || inst.sem == Sem::Ldmatrix || inst.sem == Sem::Stmatrix ||
      inst.sem == Sem::Mma)
    checkVectors(match, inst, lengths);
  if (inst.sem == Sem::Load || inst.sem == Sem::LoadParam)
    inst.flag = isSignedType(match.type());
  if (inst.mode == 1 && isMemory)
    inst.mode = 2; // .reg .b8
}

// Checks that each vector has the length that the opcode requires. A narrow
// access reduces the granularity of the shared and global memory history.
void Decoder::checkVectors(const Match &m, const Inst &inst,
                           const std::vector<uint32_t> &lengths) {
  auto wrong = [&](uint32_t expected) {
    fail("a vector of " + std::to_string(lengths.empty() ? 1 : lengths[0]) +
             " registers where " + std::to_string(expected) + " are needed",
         "the number of registers follows from the suffixes");
  };
  if (inst.sem == Sem::Mma) {
    Inst probe = inst;
    if (!selectTensor(m, probe))
      fail("this matrix shape is not supported",
           "fp16 and bf16 have m16n8k8 and m16n8k16, tf32 m16n8k4 and m16n8k8: "
           "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
    const MmaShape s = mmaShapeOf(probe);
    std::vector<uint32_t> expected = {static_cast<uint32_t>(mmaRegistersC(s)),
                                      static_cast<uint32_t>(mmaRegistersA(s)),
                                      static_cast<uint32_t>(mmaRegistersB(s)),
                                      static_cast<uint32_t>(mmaRegistersC(s))};
    for (size_t k = 0; k < 4; ++k)
      if (lengths.size() != 4 || lengths[k] != expected[k])
        fail("matrix operand " + std::to_string(k + 1) + " needs " +
                 std::to_string(expected[k]) + " registers",
             "the PTX ISA gives them: \"Matrix Fragments for mma\"");
    return;
  }
  uint32_t expected = 1;
  if (m.has("v2") || m.has("x2"))
    expected = 2;
  else if (m.has("v4") || m.has("x4"))
    expected = 4;
  else if (m.has("v8"))
    expected = 8;
  for (uint32_t length : lengths)
    if (length != expected)
      wrong(expected);
  uint32_t total = uint32_t{inst.bytes} * inst.count;
  if (inst.sem == Sem::Ldmatrix || inst.sem == Sem::Stmatrix)
    total = 16;
  if (total == 0 || total > 32 || inst.bytes == 0)
    fail("accesses of " + std::to_string(total) + " bytes are not supported",
         "16 bytes a lane at most (32 for .v4.b64 and .v8.b32)");
  if (inst.space == MemSpace::Shared || inst.space == MemSpace::Generic)
    program.sharedGranule = std::min(program.sharedGranule, total);
  if (inst.space == MemSpace::Global || inst.space == MemSpace::Generic)
    if (inst.sem != Sem::Load)
      program.globalGranule = std::min(program.globalGranule, total);
}

void Decoder::barrierOperands(Frame &frame, const ptx::Instruction &source,
                              const Match &match, Inst &inst) {
  const std::vector<ptx::Operand> &o = source.operands;
  inst.op[0] = inst.op[2] = inst.op[3] = NoRow;
  size_t next = 0;
  bool reduces = inst.sem == Sem::BarrierReduce;
  if (reduces) {
    inst.mode = match.has("popc") ? 2 : match.has("and") ? 3 : 4;
    inst.op[0] = inst.mode == 2 ? destination(frame, o[next], 32, false, false)
                                : predicate(frame, o[next], inst, 0, false);
    ++next;
  } else {
    inst.mode = inst.sem == Sem::BarrierArrive ? 1 : 0;
  }
  inst.op[1] = this->source(frame, o[next++], Type::U32, 32, false);
  if (reduces) {
    if (o.size() == 4)
      inst.op[2] = this->source(frame, o[next++], Type::U32, 32, false);
    inst.op[3] = predicate(frame, o[next], inst, 3, true);
  } else if (next < o.size()) {
    inst.op[2] = this->source(frame, o[next], Type::U32, 32, false);
  }
}

// Operands: cp.async dst, src, bytes [, source bytes] [, policy].
void Decoder::copyOperands(Frame &frame, const ptx::Instruction &source,
                           const Match &match, Inst &inst) {
  const std::vector<ptx::Operand> &o = source.operands;
  int64_t offset = 0;
  bool wide = true;
  inst.space = MemSpace::Shared;
  inst.op[0] = address(frame, o[0], inst, offset, wide);
  inst.flag = wide;
  inst.target = static_cast<uint32_t>(offset);
  inst.space = MemSpace::Global;
  inst.op[1] = address(frame, o[1], inst, inst.imm, wide);
  if (!wide)
    fail("the global address has 32 bits", "use a 64-bit register");
  int64_t bytes = o[2].value;
  bool ok =
      match.has("cg") ? bytes == 16 : bytes == 4 || bytes == 8 || bytes == 16;
  if (o[2].kind != Kind::Integer || !ok)
    fail("a copy of " + std::to_string(bytes) + " bytes",
         ".ca copies 4, 8 or 16 bytes, .cg 16");
  inst.count = static_cast<uint8_t>(bytes);
  bool policyOnly = match.has("L2::cache_hint") && o.size() == 4;
  inst.op[2] = o.size() > 3 && !policyOnly
                   ? this->source(frame, o[3], Type::U32, 32, false)
                   : NoRow;
  program.sharedGranule =
      std::min(program.sharedGranule, static_cast<uint32_t>(bytes));
}

void Decoder::movOperands(Frame &frame, const ptx::Instruction &source,
                          const Match &match, Inst &inst) {
  const ptx::Operand &to = source.operands[0], &from = source.operands[1];
  unsigned bits = typeBits(match.type());
  auto parts = [&](const ptx::Operand &vector) {
    size_t count = vector.items.size();
    if (count < 2 || count > 8 || bits % count || bits / count < 8)
      fail("a vector of " + std::to_string(count) + " parts in " +
               std::to_string(bits) + " bits",
           "two, four or eight parts of 8 bits or more");
    inst.count = static_cast<uint8_t>(count);
    inst.bytes = static_cast<uint8_t>(bits / 8 / count);
    return static_cast<unsigned>(bits / count);
  };
  if (from.kind == Kind::Vector) {
    inst.mode = 1;
    unsigned part = parts(from);
    inst.op[0] = destination(frame, to, bits, false, false);
    for (size_t k = 0; k < from.items.size(); ++k)
      inst.op[1 + k] =
          this->source(frame, from.items[k], part == 64 ? Type::B64 : Type::B32,
                       part, part < 16);
  } else if (to.kind == Kind::Vector) {
    inst.mode = 2;
    inst.mode2 = static_cast<uint8_t>(bits / 8);
    unsigned part = parts(to);
    for (size_t k = 0; k < to.items.size(); ++k)
      inst.op[k] = destination(frame, to.items[k], part, part < 16, true);
    inst.op[to.items.size()] =
        this->source(frame, from, match.type(), bits, false);
  } else {
    inst.mode = 0;
    inst.bytes = static_cast<uint8_t>(std::max(bits, 32u) / 8);
    inst.op[0] = destination(frame, to, bits, false, false);
    if (from.kind == Kind::Special) {
      auto which = static_cast<ptx::Special>(from.index);
      using ptx::Special;
      if (which == Special::Clock || which == Special::ClockHi ||
          which == Special::Clock64 || which == Special::GlobalTimer ||
          which == Special::GlobalTimerLo || which == Special::GlobalTimerHi) {
        inst.mode = 3;
        inst.mode2 = static_cast<uint8_t>(which);
        return;
      }
    }
    inst.op[1] = this->source(frame, from, match.type(), bits, false);
  }
}

// Inlines the callee's body at the call, with separate registers and variables.
// Its parameters are the caller's .param variables.
void Decoder::call(Frame &frame, const ptx::Instruction &source, int depth) {
  const std::vector<ptx::Operand> &results = source.operands[0].items;
  const std::vector<ptx::Operand> &arguments = source.operands[2].items;
  const ptx::Function *callee = module.find(source.operands[1].text);
  auto offsetOf = [&](const ptx::Operand &o) {
    if (o.kind != Kind::Symbol || o.moduleScope ||
        frame.fn->variables[o.index].space != ptx::Space::Param)
      fail("argument " + o.text + " is not a .param variable of this function",
           "declare .param .b32 param0; and store into it");
    return frame.offsets[o.index];
  };
  uint32_t skip = NoRow;
  if (source.predicate != ptx::None) {
    Inst around;
    around.sem = Sem::Branch;
    around.kind = Class::Control;
    around.flow = Flow::Branch;
    around.guard = frame.rows[source.predicate];
    around.guardNegated = !source.predicateNegated;
    skip = static_cast<uint32_t>(program.code.size());
    emit(around);
    program.info.back().text = shown(*frame.fn, source);
  }
  if (Exec builtin = builtinFunction(callee->name)) {
    Inst inst;
    inst.sem = Sem::Call;
    inst.kind = Class::Other;
    inst.exec = builtin;
    unsigned next = 0;
    for (const auto *list : {&arguments, &results})
      for (const ptx::Operand &o : *list) {
        if (next >= 8)
          fail("too many arguments", "8 at most");
        inst.op[next++] = constant(64, offsetOf(o));
      }
    inst.count = static_cast<uint8_t>(arguments.size());
    inst.flag = !results.empty();
    emit(inst);
    program.info.back().text = shown(*frame.fn, source);
  } else {
    if (!callee->hasBody)
      fail("no body for " + callee->name, "link the function into the module");
    if (depth >= 16)
      fail("calls nest more than 16 deep: is " + callee->name + " recursive?",
           "recursion is not supported");
    if (callee->parameters.size() != arguments.size() ||
        callee->results.size() != results.size())
      fail("another number of arguments than " + callee->name + " takes", "");
    Frame inner = openFrame(*callee, false);
    auto bind = [&](const ptx::Function::Parameter &formal,
                    const ptx::Operand &actual, bool isResult) {
      if (formal.variable != ptx::None) {
        inner.offsets[formal.variable] = offsetOf(actual);
      } else if (!isResult) {
        unsigned bits = callee->registers[formal.reg].bits;
        emitMove(inner.rows[formal.reg],
                 this->source(frame, actual, bits == 64 ? Type::B64 : Type::B32,
                              bits, false),
                 bits);
      }
    };
    for (size_t k = 0; k < arguments.size(); ++k)
      bind(callee->parameters[k], arguments[k], false);
    for (size_t k = 0; k < results.size(); ++k)
      bind(callee->results[k], results[k], true);
    std::string outer = where;
    where += " (inlined into " + frame.fn->name + ")";
    body(inner, depth + 1);
    where = outer;
    current = &source;
    for (size_t k = 0; k < results.size(); ++k)
      if (uint32_t reg = callee->results[k].reg; reg != ptx::None) {
        unsigned bits = callee->registers[reg].bits;
        emitMove(destination(frame, results[k], bits, false, false),
                 inner.rows[reg], bits);
      }
  }
  if (skip != NoRow)
    program.code[skip].target = static_cast<uint32_t>(program.code.size());
}

} // namespace tessera::sim
