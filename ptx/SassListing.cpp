// ptx/SassListing.cpp - a disassembly as a listing.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ptx/Listing.h"
#include "support/Error.h"
#include "support/Text.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace tessera::ptx {
namespace {

InstructionClass classOf(std::string_view opcode) {
  using C = InstructionClass;
  const std::string_view name = opcode.substr(0, opcode.find('.'));
  const auto is = [&](auto... names) { return ((name == names) || ...); };
  if (is("HMMA", "IMMA", "BMMA", "DMMA", "QMMA", "HGMMA", "IGMMA", "QGMMA",
         "BGMMA"))
    return C::Mma;
  if (is("LDSM"))
    return C::LoadMatrix;
  if (is("LDGSTS", "UBLKCP", "UTMALDG", "UTMASTG"))
    return C::AsyncCopy;
  if (is("LDG", "LD"))
    return C::LoadGlobal;
  if (is("STG", "ST"))
    return C::StoreGlobal;
  if (is("LDS"))
    return C::LoadShared;
  if (is("STS", "STSM"))
    return C::StoreShared;
  if (is("LDL"))
    return C::LoadLocal;
  if (is("STL"))
    return C::StoreLocal;
  if (is("ATOM", "ATOMG", "ATOMS", "RED", "REDG", "SUREDG"))
    return C::Atomic;
  if (is("BAR", "DEPBAR", "LDGDEPBAR", "MEMBAR", "ERRBAR", "WARPSYNC", "FENCE",
         "SYNCS", "ARRIVES", "WARPGROUP", "CCTL"))
    return C::Barrier;
  if (is("SHFL", "REDUX", "VOTE", "VOTEU", "MATCH"))
    return C::Shuffle;
  if (is("MOV", "UMOV") || opcode.starts_with("IMAD.MOV") ||
      opcode.starts_with("IMAD.U32"))
    return C::Move;
  if (is("BRA", "BRX", "JMP", "JMX", "CALL", "RET", "EXIT", "BSSY", "BSYNC",
         "BREAK", "BPT", "KILL", "YIELD", "BMOV"))
    return C::Branch;
  if (is("LDC", "ULDC", "LDCU", "CCTLL", "NANOSLEEP", "S2R", "S2UR", "CS2R"))
    return C::Other;
  return C::Alu;
}

uint32_t numberAfter(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  uint32_t value = 0;
  if (at != text.npos) {
    const char *begin = text.data() + at + mark.size();
    std::from_chars(begin, text.data() + text.size(), value);
  }
  return value;
}

struct Reader {
  Listing listing;
  std::string_view wanted;
  bool inside = false;
  SourcePlace place, inner;
  bool inlined = false; // the next place is that of the call
  std::map<std::string, size_t, std::less<>> labels;    // indices into the code
  std::vector<std::pair<size_t, std::string>> branches; // to these labels

  uint32_t fileIndex(std::string_view path) {
    const std::string name(lastPart(path));
    const auto found =
        std::find(listing.files.begin(), listing.files.end(), name);
    if (found != listing.files.end())
      return uint32_t(found - listing.files.begin());
    listing.files.push_back(name);
    return uint32_t(listing.files.size() - 1);
  }

  // //## File "k.py", line 37 inlined at "k.py", line 12
  // The calls follow, innermost first, on lines of their own.
  void comment(std::string_view line) {
    const size_t open = line.find('"'), close = line.find('"', open + 1);
    if (close == line.npos)
      return;
    const SourcePlace here = {
        fileIndex(line.substr(open + 1, close - open - 1)),
        numberAfter(line.substr(close), "\", line ")};
    if (!inlined)
      inner = here;
    place = here;
    const size_t call = line.find("inlined at", close);
    inlined = call != line.npos;
    if (inlined) {
      const size_t from = line.find('"', call), to = line.find('"', from + 1);
      if (to != line.npos)
        place = {fileIndex(line.substr(from + 1, to - from - 1)),
                 numberAfter(line.substr(to), "\", line ")};
    }
  }

  void instruction(std::string_view text, uint32_t lineNumber) {
    ListedInstruction result;
    bool conditional = false;
    text = trimSpaces(text);
    if (text.starts_with('@')) {
      const size_t end = text.find(' ');
      conditional = text.substr(0, end) != "@PT";
      text = trimSpaces(text.substr(std::min(end, text.size())));
    }
    result.opcode = std::string(text.substr(0, text.find_first_of(" ;")));
    if (result.opcode.empty() || result.opcode == "NOP")
      return;
    inlined = false;
    result.kind = classOf(result.opcode);
    result.textLine = result.lastLine = lineNumber;
    result.place = place;
    result.inner = inner;
    const std::string_view name =
        std::string_view(result.opcode)
            .substr(0, std::min(result.opcode.find('.'), result.opcode.size()));
    if (name == "BRA" || name == "JMP" || name == "BRX") {
      if (const size_t at = text.find("`("); at != text.npos)
        branches.emplace_back(listing.code.size(),
                              text.substr(at + 2, text.find(')', at) - at - 2));
      // "BRA P0, `(.L_x_1)" and "BRA.DIV" go on when a lane does not branch.
      const std::string_view operands =
          trimSpaces(text.substr(result.opcode.size()));
      result.fallsThrough = conditional ||
                            (name == "BRA" && !operands.starts_with('`')) ||
                            result.opcode.find(".DIV") != std::string::npos;
    } else if (name == "EXIT" || name == "RET" || name == "KILL") {
      result.fallsThrough = conditional;
    }
    listing.code.push_back(std::move(result));
  }

  void line(std::string_view line, uint32_t lineNumber) {
    line = trimSpaces(line);
    if (line.starts_with(".text.") && line.ends_with(':')) {
      const std::string name(line.substr(6, line.size() - 7));
      inside = listing.kernel.empty() && (wanted.empty() || wanted == name);
      if (inside)
        listing.kernel = name;
      return;
    }
    if (line.starts_with(".section"))
      inside = false;
    if (line.find("EF_CUDA_SM") != line.npos && listing.target.empty())
      listing.target = "sm_" + std::to_string(numberAfter(line, "EF_CUDA_SM"));
    if (!inside || line.empty())
      return;
    if (line.starts_with("//##"))
      comment(line);
    else if (line.starts_with("/*")) {
      const size_t end = line.find("*/");
      if (end != line.npos)
        instruction(line.substr(end + 2), lineNumber);
    } else if (line.ends_with(':')) {
      labels.emplace(line.substr(0, line.size() - 1), listing.code.size());
    }
  }

  // The end is filled up with a branch to itself that nothing reaches.
  void finish() {
    for (const auto &[from, label] : branches)
      if (const auto found = labels.find(label); found != labels.end())
        listing.code[from].targets.push_back(found->second);
    for (const auto &[label, index] : labels)
      listing.labels.push_back(index);
    const size_t last = listing.code.size() - 1;
    if (!listing.code.empty() && !listing.code[last].fallsThrough &&
        listing.code[last].targets == std::vector{last})
      listing.code.pop_back();
    analyzeLoops(listing);
  }
};

} // namespace

Listing readSass(std::string_view text, std::string_view kernel) {
  Reader reader;
  reader.wanted = kernel;
  uint32_t number = 0;
  for (std::string_view line : splitLines(text))
    reader.line(line, ++number);
  Listing &listing = reader.listing;
  if (listing.kernel.empty())
    throw Error(
        "the disassembly has no kernel" +
            (kernel.empty() ? std::string() : " `" + std::string(kernel) + "`"),
        "nvdisasm -g -c prints what is read here");
  reader.finish();
  return std::move(listing);
}

} // namespace tessera::ptx
