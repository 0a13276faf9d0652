// tools/diff/Assembly.cpp - instructions of a compiled kernel, counted by
// class.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/Assembly.h"

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

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin);
}

// Whether the last operand, which is the target, is memory.
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
  line = trimmed(line);
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
  while (!assembly.empty()) {
    const size_t end = std::min(assembly.find('\n'), assembly.size());
    if (const std::string name = instructionClass(assembly.substr(0, end));
        !name.empty())
      ++counts[name];
    assembly.remove_prefix(std::min(end + 1, assembly.size()));
  }
  return counts;
}

std::map<std::string, int64_t> countOperations(std::string_view text) {
  static const char *const dialects[] = {"tile.", "arith.",  "math.", "scf.",
                                         "cf.",   "vector.", "llvm.", "func."};
  std::map<std::string, int64_t> counts;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    // "%3 = tile.load ...", "%3:2 = scf.for ...", "tile.store ..."
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
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('@')) {
      const size_t space = line.find(' ');
      if (space == std::string_view::npos)
        continue;
      line = trimmed(line.substr(space));
    }
    // Directives start with a dot, labels with a dollar, heads of functions
    // and lists of parameters have no semicolon.
    if (line.empty() || line[0] < 'a' || line[0] > 'z' || !line.ends_with(';'))
      continue;
    ++counts[std::string(
        line.substr(0, std::min(line.find_first_of(" \t;"), line.size())))];
  }
  return counts;
}

std::string ptxCode(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::string_view body = trimmed(line);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (body.starts_with(".section"))
      break; // what follows the functions
    if (!body.empty() && !body.starts_with("//") && !body.starts_with(".loc") &&
        !body.starts_with(".file"))
      result += std::string(line) + "\n";
  }
  return result;
}

std::string entryAlone(std::string_view text, std::string_view name) {
  const std::string own = ".entry " + std::string(name) + "(";
  std::string result;
  bool others = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find(".entry ") != line.npos)
      others = line.find(own) == line.npos;
    if (!others)
      result += std::string(line) + "\n";
    // The bodies' own blocks are indented.
    if (line == "}")
      others = false;
  }
  return result;
}

} // namespace tessera::tools
