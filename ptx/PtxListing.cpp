// ptx/PtxListing.cpp - PTX text as a listing.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ptx/Listing.h"
#include "support/Error.h"
#include "support/Text.h"

#include <algorithm>
#include <map>

namespace tessera::ptx {
namespace {

bool has(std::string_view opcode, std::string_view part) {
  for (size_t at = opcode.find(part); at != opcode.npos;
       at = opcode.find(part, at + 1)) {
    const size_t end = at + part.size();
    if (at > 0 && opcode[at - 1] == '.' &&
        (end == opcode.size() || opcode[end] == '.' || opcode[end] == ':'))
      return true;
  }
  return false;
}

InstructionClass memoryClass(std::string_view opcode, bool load) {
  using C = InstructionClass;
  if (has(opcode, "shared"))
    return load ? C::LoadShared : C::StoreShared;
  if (has(opcode, "local"))
    return load ? C::LoadLocal : C::StoreLocal;
  if (has(opcode, "param") || has(opcode, "const"))
    return C::Other;
  return load ? C::LoadGlobal : C::StoreGlobal;
}

InstructionClass classOf(std::string_view opcode) {
  using C = InstructionClass;
  const std::string_view name = opcode.substr(0, opcode.find('.'));
  const auto is = [&](auto... names) { return ((name == names) || ...); };
  if (is("mma", "wmma", "wgmma", "tcgen05"))
    return has(opcode, "mma") || is("mma") || has(opcode, "mma_async")
               ? C::Mma
               : (has(opcode, "load") ? C::LoadMatrix : C::Barrier);
  if (is("ldmatrix"))
    return C::LoadMatrix;
  if (is("stmatrix"))
    return C::StoreShared;
  if (is("cp"))
    return has(opcode, "commit_group") || has(opcode, "wait_group") ||
                   has(opcode, "wait_all") ||
                   opcode.starts_with("cp.async.mbarrier")
               ? C::Barrier
               : C::AsyncCopy;
  if (is("ld", "ldu"))
    return memoryClass(opcode, true);
  if (is("st"))
    return memoryClass(opcode, false);
  if (is("atom", "red"))
    return C::Atomic;
  if (is("bar", "barrier", "membar", "fence", "mbarrier"))
    return C::Barrier;
  if (is("shfl", "redux", "vote", "match", "activemask", "elect"))
    return C::Shuffle;
  if (is("mov"))
    return C::Move;
  if (is("bra", "brx", "call", "ret", "exit", "trap"))
    return C::Branch;
  if (is("prefetch", "prefetchu", "discard", "applypriority", "createpolicy",
         "nanosleep", "griddepcontrol", "setmaxnreg", "pmevent", "brkpt"))
    return C::Other;
  return C::Alu;
}

// File number of .loc -> index into Listing::files, in the order of numbers.
std::map<uint32_t, uint32_t> listFiles(const Module &module, Listing &listing) {
  std::map<uint32_t, uint32_t> index;
  std::map<uint32_t, std::string> names;
  for (const NumberedFile &file : module.files)
    names[file.number] = lastPart(file.path);
  for (auto &[number, name] : names) {
    index[number] = uint32_t(listing.files.size());
    listing.files.push_back(std::move(name));
  }
  return index;
}

ListedInstruction listed(const Function &function,
                         const Instruction &instruction) {
  ListedInstruction result;
  result.opcode = instruction.opcode;
  result.kind = classOf(instruction.opcode);
  result.textLine = instruction.line;
  result.lastLine = instruction.lastLine;
  const std::string_view opcode = instruction.opcode;
  for (const Operand &operand : instruction.operands)
    if (operand.kind == Operand::Kind::Label)
      result.targets.push_back(function.labels[operand.index].target);
    else if (operand.kind == Operand::Kind::Table)
      for (uint32_t label : function.tables[operand.index])
        result.targets.push_back(function.labels[label].target);
  if (!result.targets.empty() || opcode.starts_with("ret") ||
      opcode == "exit" || opcode == "trap")
    result.fallsThrough = !instruction.guard.empty();
  return result;
}

// Of 32 bits. Those of 64 bits count twice, predicates do not.
uint32_t virtualRegisters(const Function &function) {
  uint32_t count = 0;
  for (const Register &reg : function.registers)
    if (reg.bits > 1 && !reg.startsRange)
      count += (reg.bits + 31u) / 32u;
  return count;
}

uint64_t sharedBytes(const std::vector<Variable> &variables) {
  uint64_t bytes = 0;
  for (const Variable &variable : variables)
    if (variable.space == Space::Shared && !variable.isExtern)
      bytes += variable.bytes;
  return bytes;
}

constexpr const char *classNames[] = {
    "mma",       "ldmatrix", "cp.async", "ld.global", "st.global", "ld.shared",
    "st.shared", "ld.local", "st.local", "atom",      "bar",       "shfl",
    "mov",       "branch",   "other",    "alu"};
static_assert(std::size(classNames) == numInstructionClasses);

} // namespace

const char *instructionClassName(InstructionClass kind) {
  return classNames[size_t(kind)];
}

uint32_t asyncGroupsLeft(const Instruction &instruction) {
  if (instruction.opcode == "cp.async.wait_all")
    return 0;
  if (instruction.opcode == "cp.async.wait_group" &&
      !instruction.operands.empty())
    return uint32_t(instruction.operands[0].value);
  return None;
}

Listing readPtx(std::string_view text, std::string_view kernel,
                const std::string &name) {
  Module module = parsePtx(text, name, Names::Kept);
  const auto found = std::find_if(
      module.functions.begin(), module.functions.end(), [&](const Function &f) {
        return f.isEntry && f.hasBody && (kernel.empty() || f.name == kernel);
      });
  if (found == module.functions.end())
    throw Error(kernel.empty()
                    ? "the PTX has no kernel"
                    : "the PTX has no kernel `" + std::string(kernel) + "`",
                "a kernel is what `.entry` declares, with a body");
  Listing listing;
  listing.function = std::move(*found);
  const Function &function = listing.function;
  listing.kernel = function.name;
  listing.target = module.target;
  listing.version = std::to_string(module.versionMajor) + "." +
                    std::to_string(module.versionMinor);
  listing.threads =
      function.reqntid[0] * function.reqntid[1] * function.reqntid[2];
  listing.virtualRegisters = virtualRegisters(function);
  listing.staticShared =
      sharedBytes(module.variables) + sharedBytes(function.variables);
  for (const Label &label : function.labels)
    listing.labels.push_back(label.target);
  const auto files = listFiles(module, listing);
  const auto place = [&](uint32_t location) {
    if (location == None)
      return SourcePlace();
    const Location &here = module.locations[location];
    const auto file = files.find(here.file);
    return file == files.end() ? SourcePlace()
                               : SourcePlace{file->second, here.line};
  };
  for (const Instruction &instruction : function.body) {
    ListedInstruction &added =
        listing.code.emplace_back(listed(function, instruction));
    added.inner = added.place = place(instruction.location);
    if (instruction.location != None)
      if (const uint32_t call =
              module.locations[instruction.location].inlinedAt;
          call != None)
        added.place = place(call);
    if (const uint32_t left = asyncGroupsLeft(instruction); left != None)
      listing.asyncWait = std::max(listing.asyncWait, left);
  }
  analyzeLoops(listing);
  return listing;
}

} // namespace tessera::ptx
