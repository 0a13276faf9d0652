// simulator/machine/DecodeOperands.cpp - maps operands of instructions to
// register rows.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/machine/Decode.h"

#include "simulator/isa/Targets.h"
#include "support/Error.h"

#include <bit>

namespace tessera::sim {

using Kind = ptx::Operand::Kind;

uint32_t Decoder::newRow(unsigned bits) {
  uint32_t row = program.numRows;
  program.numRows += bits <= 32 ? 1 : bits / 32;
  return row;
}

uint32_t Decoder::constant(unsigned bits, uint64_t value) {
  unsigned size = bits == 1 ? 1 : bits <= 32 ? 32 : 64;
  if (size == 32)
    value &= 0xffffffff;
  auto [entry, isNew] = constants.emplace(std::pair(size, value), 0);
  if (isNew) {
    entry->second = newRow(size);
    program.constants.push_back(
        {entry->second, static_cast<uint8_t>(size), value});
  }
  return entry->second;
}

uint32_t Decoder::special(ptx::Special which) {
  auto [entry, isNew] = specials.emplace(which, 0);
  if (isNew) {
    entry->second = newRow(32);
    program.specials.push_back({entry->second, which});
  }
  return entry->second;
}

unsigned Decoder::registerBits(const Frame &frame,
                               const ptx::Operand &o) const {
  return o.kind == Kind::Register ? frame.fn->registers[o.index].bits : 32;
}

uint32_t Decoder::registerOf(Frame &frame, const ptx::Operand &o, unsigned bits,
                             bool relaxed, const char *role) {
  unsigned mine = registerBits(frame, o);
  if (mine == 1 || (relaxed ? mine < bits : mine != bits))
    fail(std::string(role) + " " + o.text + " has " + std::to_string(mine) +
             " bits, " + std::to_string(bits) + " are needed",
         "use a register of the instruction's width, or cvt");
  return frame.rows[o.index];
}

uint32_t Decoder::destination(Frame &frame, const ptx::Operand &o,
                              unsigned bits, bool relaxed, bool sinkAllowed) {
  if (o.kind == Kind::Sink && sinkAllowed)
    return NoRow;
  if (o.kind != Kind::Register)
    fail("a destination must be a register",
         o.text.empty() ? "" : o.text + " is none");
  return registerOf(frame, o, bits, relaxed, "destination");
}

uint32_t Decoder::source(Frame &frame, const ptx::Operand &o, Type type,
                         unsigned bits, bool relaxed) {
  bool isFloat = type == Type::F32 || type == Type::F64;
  switch (o.kind) {
  case Kind::Register:
    return registerOf(frame, o, bits, relaxed, "operand");
  case Kind::Special:
    if (bits != 32 && !relaxed)
      fail("special register " + o.text + " has 32 bits", "mov.u32 it first");
    return special(static_cast<ptx::Special>(o.index));
  case Kind::Integer: {
    auto value = static_cast<uint64_t>(o.value);
    if (bits < 32)
      value &= (uint64_t{1} << bits) - 1;
    if (bits == 128)
      fail("a constant of 128 bits", "move two 64-bit halves");
    if (isFloat && value != 0 && (type == Type::F64 || value >> 32))
      fail("an integer where a floating-point constant is needed",
           "write 0f3F800000 or 1.0");
    return constant(bits, value);
  }
  case Kind::Float32:
  case Kind::Float64: {
    auto value = static_cast<uint64_t>(o.value);
    bool single = o.kind == Kind::Float32;
    if (bits == 32 && !single)
      value = std::bit_cast<uint32_t>(
          static_cast<float>(std::bit_cast<double>(value)));
    else if (bits == 64 && single)
      value = std::bit_cast<uint64_t>(static_cast<double>(
          std::bit_cast<float>(static_cast<uint32_t>(value))));
    else if (bits != 32 && bits != 64)
      fail("a floating-point constant of " + std::to_string(bits) + " bits",
           "write its bits as an integer");
    return constant(bits, value);
  }
  case Kind::Symbol: {
    ptx::Space space;
    uint64_t at = symbolAddress(frame, o, space);
    if (bits < 64 && at >> 32)
      fail("the address of " + o.text + " needs 64 bits", "mov.u64");
    return constant(bits, at);
  }
  default:
    fail("an operand must be a register, a constant or a variable",
         o.text.empty() ? "" : o.text + " is none of them");
  }
}

uint32_t Decoder::predicate(Frame &frame, const ptx::Operand &o, Inst &inst,
                            unsigned position, bool isSource) {
  if (o.kind == Kind::Sink && !isSource)
    return NoRow;
  if (isSource && o.kind == Kind::Integer)
    return constant(1, o.value != 0);
  if (o.kind != Kind::Register || registerBits(frame, o) != 1)
    fail((o.text.empty() ? "this operand" : o.text) + " is not a predicate",
         "declare it with .reg .pred");
  if (o.negated) {
    if (!isSource)
      fail("a destination cannot be negated", "negate where it is read");
    inst.negated |= 1u << position;
  }
  return frame.rows[o.index];
}

uint64_t Decoder::symbolAddress(Frame &frame, const ptx::Operand &o,
                                ptx::Space &space) {
  const ptx::Variable &v =
      o.moduleScope ? module.variables[o.index] : frame.fn->variables[o.index];
  space = v.space;
  uint64_t base;
  if (v.space == ptx::Space::Shared && (v.isExtern || v.bytes == 0))
    base = dynamicBase;
  else if (!o.moduleScope)
    base = frame.offsets[o.index];
  else if (v.space == ptx::Space::Shared)
    base = moduleShared[o.index];
  else if (v.space == ptx::Space::Local)
    fail("local variable " + v.name + " outside of a function",
         "declare it in the body");
  else
    base = addresses[o.index];
  return base + static_cast<uint64_t>(o.value);
}

// Returns the row of the base and stores the offset in `offset`. A parameter of
// the entry turns a load into LoadParam; other .param variables are local
// memory.
uint32_t Decoder::address(Frame &frame, const ptx::Operand &o, Inst &inst,
                          int64_t &offset, bool &wide) {
  if (o.kind != Kind::Address || o.items.size() != 1)
    fail("an address is needed", "write [%rd1+16]");
  const ptx::Operand &base = o.items[0];
  offset = o.value;
  if (base.kind == Kind::Register) {
    unsigned bits = registerBits(frame, base);
    if (bits != 32 && bits != 64)
      fail("the address " + base.text + " has " + std::to_string(bits) +
               " bits",
           "addresses have 64 bits, in shared memory also 32");
    wide = bits == 64;
    if (!wide &&
        (inst.space == MemSpace::Global || inst.space == MemSpace::Generic))
      fail("the address " + base.text + " has 32 bits",
           "global addresses have 64");
    return frame.rows[base.index];
  }
  wide = true;
  if (base.kind == Kind::Integer) {
    offset += base.value;
    return constant(64, 0);
  }
  if (base.kind != Kind::Symbol)
    fail("an address starts with a register, a variable or a number",
         "write [%rd1+16]");
  ptx::Space space;
  uint64_t at = symbolAddress(frame, base, space);
  bool isParam = space == ptx::Space::Param;
  MemSpace wanted = space == ptx::Space::Shared  ? MemSpace::Shared
                    : space == ptx::Space::Local ? MemSpace::Local
                    : space == ptx::Space::Const ? MemSpace::Const
                    : isParam                    ? MemSpace::Param
                                                 : MemSpace::Global;
  if (inst.space == MemSpace::Generic && wanted != MemSpace::Generic)
    inst.space = wanted == MemSpace::Const ? MemSpace::Const : wanted;
  if (inst.space != wanted)
    fail("variable " + base.text + " is in another state space",
         "use the space it is declared in");
  if (isParam) {
    bool ofEntry = frame.fn->isEntry;
    if (ofEntry) {
      ofEntry = false;
      for (const ptx::Function::Parameter &p : frame.fn->parameters)
        ofEntry |= !base.moduleScope && p.variable == base.index;
    }
    if (!ofEntry) {
      inst.space = MemSpace::Local;
      inst.kind = Class::Local;
    } else if (inst.sem == Sem::Load) {
      uint64_t end = at + static_cast<uint64_t>(offset) +
                     uint64_t{inst.bytes} * inst.count;
      if (static_cast<int64_t>(at) + offset < 0 || end > program.paramBytes)
        fail("reads beyond the kernel's parameters", "check the offset");
      inst.sem = Sem::LoadParam;
      inst.space = MemSpace::Param;
    }
  }
  offset += static_cast<int64_t>(at);
  return constant(64, 0);
}

void Decoder::setSpace(const Match &m, Inst &inst) {
  bool isShared =
      m.has("shared") || m.has("shared::cta") || m.has("shared::cluster");
  if (isShared)
    inst.space = MemSpace::Shared;
  else if (m.has("global"))
    inst.space = MemSpace::Global;
  else if (m.has("local"))
    inst.space = MemSpace::Local;
  else if (m.has("const"))
    inst.space = MemSpace::Const;
  else if (m.has("param") || m.has("param::entry") || m.has("param::func"))
    inst.space = MemSpace::Param;
  bool isLoad = inst.sem == Sem::Load, isStore = inst.sem == Sem::Store;
  if (inst.space == MemSpace::Shared)
    inst.kind = isLoad    ? Class::SharedLoad
                : isStore ? Class::SharedStore
                          : Class::SharedAtomic;
  else if (inst.space == MemSpace::Local)
    inst.kind = Class::Local;
  else if (inst.space == MemSpace::Const || inst.space == MemSpace::Param)
    inst.kind = Class::Constant;
}

void Decoder::checkTarget(const ptx::Instruction &source) {
  const uint32_t target = capabilityOf(module.target);
  const uint32_t needed = requiredCapability(source.opcode);
  if (target && needed > target)
    fail("an instruction of sm_" + std::to_string(needed) + " for the target " +
             module.target,
         "compile the kernel for sm_" + std::to_string(needed) +
             ", or leave the instruction out");
}

} // namespace tessera::sim
