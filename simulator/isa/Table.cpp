// simulator/isa/Table.cpp - the instruction table, and the search for the row
// of an opcode.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "simulator/isa/Table.h"

#include "support/Names.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>

namespace tessera::sim {
namespace {

struct TypeEntry {
  Type type;
  const char *name;
  uint8_t bits;
  bool isSigned;
};
constexpr TypeEntry TypeEntries[] = {
    {Type::None, "", 0, false},          {Type::Pred, "pred", 1, false},
    {Type::B1, "b1", 32, false},         {Type::B4, "b4", 32, false},
    {Type::B8, "b8", 8, false},          {Type::B16, "b16", 16, false},
    {Type::B32, "b32", 32, false},       {Type::B64, "b64", 64, false},
    {Type::B128, "b128", 128, false},    {Type::U8, "u8", 8, false},
    {Type::U16, "u16", 16, false},       {Type::U32, "u32", 32, false},
    {Type::U64, "u64", 64, false},       {Type::U16x2, "u16x2", 32, false},
    {Type::S4, "s4", 32, true},          {Type::U4, "u4", 32, false},
    {Type::S8, "s8", 8, true},           {Type::S16, "s16", 16, true},
    {Type::S32, "s32", 32, true},        {Type::S64, "s64", 64, true},
    {Type::S16x2, "s16x2", 32, true},    {Type::F16, "f16", 16, false},
    {Type::F16x2, "f16x2", 32, false},   {Type::Bf16, "bf16", 16, false},
    {Type::Bf16x2, "bf16x2", 32, false}, {Type::Tf32, "tf32", 32, false},
    {Type::F32, "f32", 32, false},       {Type::F32x2, "f32x2", 64, false},
    {Type::F64, "f64", 64, false},       {Type::E4m3, "e4m3", 8, false},
    {Type::E5m2, "e5m2", 8, false},      {Type::E4m3x2, "e4m3x2", 16, false},
    {Type::E5m2x2, "e5m2x2", 16, false},
};

const TypeEntry &entryOf(Type type) {
  return TypeEntries[static_cast<unsigned>(type)];
}

std::vector<std::string_view> splitParts(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t end = text.find(at);
    if (!text.substr(0, end).empty())
      parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos)
      return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<SuffixGroup> suffixPattern(std::string_view text) {
  std::vector<SuffixGroup> groups;
  for (std::string_view part : splitParts(text, ' ')) {
    SuffixGroup group;
    if (part.substr(0, 2) == "T:") {
      group.isType = true;
      part.remove_prefix(2);
    }
    if (part.back() == '?') {
      group.optional = true;
      part.remove_suffix(1);
    }
    group.alternatives = splitParts(part, '|');
    groups.push_back(std::move(group));
  }
  return groups;
}

OperandRule operandRule(std::string_view text) {
  using Role = OperandRule::Role;
  OperandRule rule{};
  if (text.back() == '?') {
    rule.optional = true;
    text.remove_suffix(1);
  }
  if (text.back() == '+') {
    rule.relaxed = true;
    text.remove_suffix(1);
  }
  if (size_t colon = text.find(':'); colon != std::string_view::npos) {
    for (char c : text.substr(colon + 1))
      rule.count = static_cast<uint8_t>(rule.count * 10 + (c - '0'));
    text = text.substr(0, colon);
  }
  if (text == "PP") {
    rule.role = Role::DestPredicates;
    return rule;
  }
  char letter = text[0];
  std::string_view rest = text.substr(1);
  switch (letter) {
  case 'D':
    rule.role = Role::Dest;
    break;
  case 'W':
    rule.role = Role::Dest;
    rule.wide = true;
    break;
  case 'Q':
    rule.role = Role::DestPair;
    break;
  case 'P':
    rule.role = Role::DestPredicate;
    return rule;
  case 'S':
    rule.role = Role::Source;
    break;
  case 'X':
    rule.role = Role::Source;
    rule.wide = true;
    break;
  case 'p':
    rule.role = Role::SourcePredicate;
    return rule;
  case 'V':
    rule.role = Role::DestVector;
    break;
  case 'U':
    rule.role = Role::SourceVector;
    break;
  case 'A':
    rule.role = Role::Address;
    return rule;
  case 'I':
    rule.role = Role::Immediate;
    return rule;
  default:
    rule.role = Role::Label;
    return rule;
  }
  if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9')
    rule.typeIndex = static_cast<int8_t>(rest[0] - '0');
  else
    rule.fixed = typeFromSuffix(rest);
  return rule;
}

struct Table {
  std::vector<InstructionRow> rows;
  std::unordered_map<std::string_view, std::vector<uint32_t>> byMnemonic;
  std::vector<std::string> mnemonics;

  Table() {
    auto add = [&](const char *mnemonic, const char *suffix,
                   const char *operands, Sem sem, Class kind) {
      InstructionRow row{mnemonic, suffixPattern(suffix), {}, sem, kind};
      for (std::string_view part : splitParts(operands, ' '))
        row.operands.push_back(operandRule(part));
      rows.push_back(std::move(row));
    };
#define SIM_INST(mnemonic, suffix, operands, sem, kind)                        \
  add(mnemonic, suffix, operands, Sem::sem, Class::kind);
#include "simulator/isa/Instructions.def"
#undef SIM_INST
    for (uint32_t i = 0; i < rows.size(); ++i) {
      auto [entry, isNew] =
          byMnemonic.emplace(rows[i].mnemonic, std::vector<uint32_t>{});
      entry->second.push_back(i);
      if (isNew)
        mnemonics.emplace_back(rows[i].mnemonic);
    }
  }
};

const Table &table() {
  static const Table instance;
  return instance;
}

bool matchSuffix(const InstructionRow &row,
                 const std::vector<std::string_view> &parts, Match &match) {
  match = {};
  match.row = &row;
  size_t next = 1; // parts[0] is the mnemonic
  for (size_t g = 0; g < row.suffix.size(); ++g) {
    const SuffixGroup &group = row.suffix[g];
    bool found = next < parts.size() &&
                 std::find(group.alternatives.begin(), group.alternatives.end(),
                           parts[next]) != group.alternatives.end();
    // A row repeats a group for modifiers with two possible positions. Only one
    // of them may match: atom.relaxed.global.acquire is invalid.
    for (size_t k = 0; found && !group.isType && k < g; ++k)
      if (!row.suffix[k].isType &&
          row.suffix[k].alternatives == group.alternatives)
        for (std::string_view earlier : match.modifiers)
          found &=
              std::find(group.alternatives.begin(), group.alternatives.end(),
                        earlier) == group.alternatives.end();
    if (!found) {
      if (!group.optional)
        return false;
      continue;
    }
    if (group.isType && match.numTypes < match.types.size())
      match.types[match.numTypes++] = typeFromSuffix(parts[next]);
    else
      match.modifiers.push_back(parts[next]);
    ++next;
  }
  return next == parts.size();
}

} // namespace

Type typeFromSuffix(std::string_view suffix) {
  for (const TypeEntry &entry : TypeEntries)
    if (suffix == entry.name && entry.type != Type::None)
      return entry.type;
  return Type::None;
}

unsigned typeBits(Type type) { return entryOf(type).bits; }
bool isSignedType(Type type) { return entryOf(type).isSigned; }

const char *className(Class kind) {
  static constexpr const char *Names[NumClasses] = {
      "integer",       "multiply",      "float",       "half",
      "double",        "special",       "convert",     "move",
      "predicate",     "control",       "barrier",     "global load",
      "global store",  "global atomic", "shared load", "shared store",
      "shared atomic", "local",         "constant",    "async copy",
      "async wait",    "matrix load",   "tensor",      "warp",
      "other"};
  return Names[static_cast<unsigned>(kind)];
}

const std::vector<InstructionRow> &instructionTable() { return table().rows; }

bool matchInstruction(std::string_view opcode, unsigned operands, Match &match,
                      std::string &hint) {
  std::vector<std::string_view> parts = splitParts(opcode, '.');
  auto rows = table().byMnemonic.find(parts.empty() ? "" : parts[0]);
  if (rows == table().byMnemonic.end()) {
    std::string near = nearestName(std::string(parts.empty() ? "" : parts[0]),
                                   table().mnemonics);
    hint = near.empty() ? "simulator/isa/Instructions.def lists the known ones"
                        : "did you mean " + near + "?";
    return false;
  }
  bool suffixKnown = false;
  for (uint32_t i : rows->second) {
    const InstructionRow &row = table().rows[i];
    Match candidate;
    if (!matchSuffix(row, parts, candidate))
      continue;
    suffixKnown = true;
    size_t least = 0;
    for (const OperandRule &rule : row.operands)
      least += !rule.optional;
    if (operands < least || operands > row.operands.size())
      continue;
    match = std::move(candidate);
    return true;
  }
  hint = suffixKnown ? "another number of operands is needed"
                     : std::string(parts[0]) +
                           " is known, but not with these suffixes in this "
                           "order";
  return false;
}

} // namespace tessera::sim
