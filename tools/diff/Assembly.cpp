// tools/diff/Assembly.cpp - counts the instructions of a compiled kernel by
// class.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/Assembly.h"

#include "ptx/Lexer.h"
#include "ptx/Tree.h"
#include "support/Text.h"

#include <algorithm>
#include <cstdint>

namespace tessera::tools {
namespace {

const char *const fma = "fma and dot products";
const char *const arithmetic = "vector and float arithmetic";
const char *const load = "loads";
const char *const store = "stores";
const char *const shuffle = "shuffles and broadcasts";
const char *const convert = "conversions";
const char *const comparison = "compares and masks";
const char *const branch = "branches and calls";
const char *const integer = "integer and addresses";

bool startsWithAny(std::string_view text,
                   std::initializer_list<const char *> list) {
  return std::any_of(list.begin(), list.end(), [&](const char *start) {
    return text.starts_with(start);
  });
}

// True if the last operand, the destination, is memory.
bool storesTo(std::string_view operands) {
  operands = operands.substr(0, operands.find('#'));
  const size_t end = operands.find_last_not_of(" \t");
  if (end == std::string_view::npos)
    return false;
  std::string_view text = operands.substr(0, end + 1);
  // A masked store ends with {%k1}.
  if (text.ends_with('}'))
    text = text.substr(0, text.rfind('{'));
  const size_t last = text.find_last_not_of(" \t");
  return last != std::string_view::npos && text[last] == ')';
}

} // namespace

const std::vector<std::string> &instructionClasses() {
  static const std::vector<std::string> names = {
      fma,     arithmetic, load,   store,  shuffle,
      convert, comparison, branch, integer};
  return names;
}

std::string instructionClass(std::string_view line) {
  if (line.empty() || (line[0] != '\t' && line[0] != ' '))
    return ""; // a label
  line = trimSpaces(line);
  if (line.empty() || line[0] == '.' || line[0] == '#')
    return "";
  const size_t end = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view name = line.substr(0, end),
                         operands = line.substr(end);
  const bool memory = operands.find('(') != std::string_view::npos;
  if (startsWithAny(name, {"vfm", "vfnm", "vdp", "vpdp"}))
    return fma;
  if (name[0] == 'j' || startsWithAny(name, {"call", "ret"}))
    return branch;
  if (startsWithAny(name, {"vcvt", "cvt", "vpmovz", "vpmovs", "vpmovd",
                           "vpmovq", "vpmovw"}))
    return convert;
  if (startsWithAny(name, {"vcmp", "vpcmp", "vptest", "vpternlog", "vucomi",
                           "vcomi", "kmov", "kand", "kor", "knot", "kxor",
                           "kshift", "kunpck", "kadd", "vpmovm"}) ||
      name.find("2m") != std::string_view::npos)
    return comparison;
  if (startsWithAny(name, {"vgather", "vpgather"}))
    return load;
  if (startsWithAny(name, {"vscatter", "vpscatter"}))
    return store;
  if (startsWithAny(name, {"vmov", "vmask", "mov"})) {
    if (memory && storesTo(operands))
      return store;
    if (memory)
      return load;
    return name[0] == 'v' ? shuffle : integer;
  }
  if (startsWithAny(name, {"vperm",       "vshuf",   "vpshuf",   "vunpck",
                           "vpunpck",     "vinsert", "vextract", "vpinsr",
                           "vpextr",      "vblend",  "vpblend",  "vbroadcast",
                           "vpbroadcast", "vpack",   "vpalign",  "valign",
                           "vpslldq",     "vpsrldq", "vpexpand", "vexpand",
                           "vpcompress"}))
    return memory && startsWithAny(name, {"vbroadcast", "vpbroadcast"})
               ? load
               : shuffle;
  return name[0] == 'v' ? arithmetic : integer;
}

std::map<std::string, int64_t> countInstructions(std::string_view assembly) {
  std::map<std::string, int64_t> counts;
  for (std::string_view line : splitLines(assembly))
    if (const std::string name = instructionClass(line); !name.empty())
      ++counts[name];
  return counts;
}

std::map<std::string, int64_t> countOperations(std::string_view text) {
  static const char *const dialects[] = {"tile.", "arith.",  "math.", "scf.",
                                         "cf.",   "vector.", "llvm.", "func."};
  std::map<std::string, int64_t> counts;
  for (std::string_view line : splitLines(text)) {
    line = trimSpaces(line);
    // Reads "%3 = tile.load ...", "%3:2 = scf.for ..." or "tile.store ...".
    if (line.starts_with('%')) {
      const size_t equals = line.find(" = ");
      if (equals == std::string_view::npos)
        continue;
      line = line.substr(equals + 3);
    }
    for (const char *dialect : dialects)
      if (line.starts_with(dialect)) {
        const size_t stop =
            std::min(line.find_first_of(" <(\"[{"), line.size());
        ++counts[std::string(line.substr(0, stop))];
      }
  }
  return counts;
}

std::map<std::string, int64_t> countPtx(std::string_view text) {
  std::map<std::string, int64_t> counts;
  const ptx::Module module = ptx::parsePtx(text, "PTX", ptx::Names::Kept);
  for (const ptx::Function &function : module.functions)
    for (const ptx::Instruction &instruction : function.body)
      ++counts[instruction.opcode];
  return counts;
}

std::string ptxCode(std::string_view text, std::string_view entry) {
  const std::vector<std::string_view> lines = splitLines(text);
  std::vector<bool> kept(lines.size() + 1); // by line number, from 1
  uint32_t before = 0;
  for (const ptx::Token &token : ptx::lexPtx(text, "PTX")) {
    // Debug sections follow the functions.
    if (token.kind == ptx::Token::Kind::End || token.is(".section"))
      break;
    if (token.line != before)
      kept[token.line] = !token.is(".loc") && !token.is(".file");
    before = token.line;
  }
  const ptx::Module module = ptx::parsePtx(text, "PTX", ptx::Names::Kept);
  for (const ptx::Function &function : module.functions)
    if (function.isEntry && !entry.empty() && function.name != entry)
      for (uint32_t line = function.line; line <= function.lastLine; ++line)
        kept[line] = false;
  std::string result;
  for (size_t i = 0; i < lines.size(); ++i)
    if (kept[i + 1])
      result += std::string(lines[i]) + "\n";
  return result;
}

} // namespace tessera::tools
