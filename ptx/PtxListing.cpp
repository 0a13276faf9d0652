// ptx/PtxListing.cpp - PTX text as a listing.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ptx/Listing.h"
#include "support/Error.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace tessera::ptx {
namespace {

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && isSpace(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && isSpace(text.back()))
    text.remove_suffix(1);
  return text;
}

// Letters, digits, _ $ % and, in opcodes, dots.
bool isWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

std::string_view takeWord(std::string_view &text, bool dots = false) {
  text = trim(text);
  size_t end = 0;
  while (
      end < text.size() &&
      (isWord(text[end]) || (dots && (text[end] == '.' || text[end] == ':'))))
    ++end;
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

uint32_t takeNumber(std::string_view &text) {
  text = trim(text);
  uint32_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(size_t(end - text.data()));
  return error == std::errc() ? value : 0;
}

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
                   has(opcode, "wait_all") || has(opcode, "mbarrier")
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

std::string lastPart(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

class Reader {
public:
  Reader(std::string_view text, std::string_view wanted)
      : text(text), wanted(wanted) {}

  Listing read() {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      ++lineNumber;
      line(withoutComments(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (listing.kernel.empty())
      throw Error(wanted.empty()
                      ? "the PTX has no kernel"
                      : "the PTX has no kernel `" + std::string(wanted) + "`",
                  "a kernel is what `.entry` declares, with a body");
    finishFiles();
    analyzeLoops(listing);
    return std::move(listing);
  }

private:
  enum class State { Outside, Head, Body, Skip };

  std::string_view withoutComments(std::string_view line) {
    if (inComment) {
      const size_t end = line.find("*/");
      if (end == line.npos)
        return {};
      inComment = false;
      line.remove_prefix(end + 2);
    }
    if (const size_t at = line.find("//"); at != line.npos)
      line = line.substr(0, at);
    if (const size_t at = line.find("/*"); at != line.npos) {
      inComment = line.find("*/", at) == line.npos;
      line = line.substr(0, at);
    }
    return trim(line);
  }

  void line(std::string_view line) {
    if (line.empty())
      return;
    if (statement.empty() &&
        (line.starts_with(".loc") || line.starts_with(".file") ||
         line.starts_with(".section"))) {
      directive(line);
      return;
    }
    if (state == State::Body || state == State::Skip) {
      body(line);
      return;
    }
    if (state == State::Outside)
      outside(line);
    else
      head(line);
  }

  void directive(std::string_view line) {
    const std::string_view name = line.substr(0, line.find_first_of(" \t"));
    line.remove_prefix(name.size());
    if (name == ".loc" && state == State::Body) {
      inner.file = takeNumber(line);
      inner.line = takeNumber(line);
      place = inner;
      if (const size_t at = line.find("inlined_at"); at != line.npos) {
        std::string_view call = line.substr(at + 10);
        place.file = takeNumber(call);
        place.line = takeNumber(call);
      }
    } else if (name == ".file") {
      const uint32_t number = takeNumber(line);
      const size_t open = line.find('"'), close = line.find('"', open + 1);
      if (close != line.npos)
        files[number] = lastPart(line.substr(open + 1, close - open - 1));
    }
  }

  void outside(std::string_view line) {
    std::string_view rest = line;
    const std::string_view first = rest.substr(0, rest.find_first_of(" \t"));
    if (first == ".version" || first == ".target") {
      rest.remove_prefix(first.size());
      rest = trim(rest);
      (first == ".version" ? listing.version : listing.target) =
          rest.substr(0, rest.find_first_of(", \t"));
    } else if (line.find(".shared") != line.npos &&
               line.find(".extern") == line.npos) {
      moduleShared += sharedBytes(line);
    }
    const size_t entry = line.find(".entry"), function = line.find(".func");
    if (entry == line.npos && function == line.npos)
      return;
    state = State::Head;
    keep = false;
    if (entry != line.npos) {
      rest = line.substr(entry + 6);
      const std::string_view name = takeWord(rest);
      keep = listing.kernel.empty() && (wanted.empty() || wanted == name);
      if (keep)
        listing.kernel = name;
    } else {
      rest = line.substr(function + 5);
    }
    head(rest);
  }

  void head(std::string_view line) {
    if (const size_t at = line.find(".reqntid"); keep && at != line.npos) {
      std::string_view rest = line.substr(at + 8);
      listing.threads = 1;
      for (int i = 0; i < 3; ++i) {
        listing.threads *= std::max(1u, takeNumber(rest));
        rest = trim(rest);
        if (rest.empty() || rest[0] != ',')
          break;
        rest.remove_prefix(1);
      }
    }
    if (const size_t open = line.find('{'); open != line.npos) {
      state = keep ? State::Body : State::Skip;
      depth = 1;
      inner = place = {};
      body(trim(line.substr(open + 1)));
    } else if (line.find(';') != line.npos) {
      state = State::Outside; // a declaration
    }
  }

  // Statements end with a semicolon; braces at their start open and close
  // scopes, others are operands.
  void body(std::string_view line) {
    while (!line.empty() && state != State::Outside) {
      if (statement.empty()) {
        line = trim(line);
        if (line.empty())
          return;
        if (line[0] == '{' || line[0] == '}') {
          depth += line[0] == '{' ? 1 : -1;
          line.remove_prefix(1);
          if (depth == 0)
            state = State::Outside;
          continue;
        }
        statementLine = lineNumber;
        std::string_view rest = line;
        const std::string_view word = takeWord(rest);
        rest = trim(rest);
        if (!word.empty() && word[0] != '%' && rest.starts_with(':') &&
            !rest.starts_with("::")) {
          if (state == State::Body)
            listing.labels.emplace(word, listing.code.size());
          line = trim(rest.substr(1));
          continue;
        }
      }
      const size_t end = line.find(';');
      statement += line.substr(0, end);
      if (end == line.npos) {
        statement += ' ';
        return;
      }
      line.remove_prefix(end + 1);
      if (state == State::Body)
        finishStatement();
      statement.clear();
    }
  }

  static uint64_t sharedBytes(std::string_view line) {
    const size_t open = line.find('['), close = line.find(']');
    if (open == line.npos || close == line.npos || close < open)
      return 0;
    std::string_view size = line.substr(open + 1, close - open - 1);
    uint64_t elements = takeNumber(size);
    for (auto [type, bytes] : {std::pair(".b8 ", 1u),
                               {".b16 ", 2u},
                               {".b32 ", 4u},
                               {".b64 ", 8u},
                               {".f32 ", 4u},
                               {".f64 ", 8u},
                               {".u64 ", 8u},
                               {".u32 ", 4u},
                               {".s32 ", 4u}})
      if (line.find(type) != line.npos)
        return elements * bytes;
    return elements;
  }

  void finishStatement() {
    std::string_view rest = trim(statement);
    if (rest.empty())
      return;
    if (rest[0] == '.') {
      if (rest.starts_with(".reg")) {
        const size_t open = rest.find('<'), close = rest.find('>');
        uint32_t count = 1;
        if (open != rest.npos && close != rest.npos) {
          std::string_view number = rest.substr(open + 1, close - open - 1);
          count = std::max(1u, takeNumber(number)) - 1;
        }
        if (rest.find("64") < std::min(open, rest.size()))
          listing.virtualRegisters += 2 * count;
        else if (rest.find(".pred") == rest.npos)
          listing.virtualRegisters += count;
      } else if (rest.starts_with(".shared")) {
        listing.staticShared += sharedBytes(rest);
      } else if (rest.find(".branchtargets") != rest.npos) {
        // The label before it names the table.
      }
      return;
    }
    ListedInstruction instruction;
    bool conditional = false;
    if (rest[0] == '@') {
      conditional = true;
      rest.remove_prefix(1);
      if (rest.starts_with('!'))
        rest.remove_prefix(1);
      takeWord(rest);
      rest = trim(rest);
    }
    instruction.opcode = std::string(takeWord(rest, true));
    instruction.kind = classOf(instruction.opcode);
    instruction.textLine = statementLine;
    instruction.place = place;
    instruction.inner = inner;
    const std::string_view opcode = instruction.opcode;
    if (opcode == "bra" || opcode == "bra.uni") {
      instruction.targets.emplace_back(takeWord(rest));
      instruction.fallsThrough = conditional;
    } else if (opcode.starts_with("ret") || opcode == "exit" ||
               opcode == "trap") {
      instruction.fallsThrough = conditional;
    } else if (opcode.starts_with("cp.async.wait_group")) {
      listing.asyncWait = std::max(listing.asyncWait, takeNumber(rest));
    }
    listing.code.push_back(std::move(instruction));
  }

  // File numbers of .loc are explained at the end of the text.
  void finishFiles() {
    std::map<uint32_t, uint32_t> index;
    for (const auto &[number, name] : files) {
      index[number] = uint32_t(listing.files.size());
      listing.files.push_back(name);
    }
    for (ListedInstruction &instruction : listing.code)
      for (SourcePlace *each : {&instruction.place, &instruction.inner}) {
        const auto found = index.find(each->file);
        if (found != index.end())
          each->file = found->second;
        else
          *each = {};
      }
    listing.staticShared += moduleShared;
  }

  std::string_view text, wanted;
  Listing listing;
  State state = State::Outside;
  bool inComment = false, keep = false;
  uint32_t lineNumber = 0, statementLine = 0;
  int depth = 0;
  std::string statement;
  SourcePlace place, inner;
  std::map<uint32_t, std::string> files;
  uint64_t moduleShared = 0;
};

constexpr const char *classNames[] = {
    "mma",       "ldmatrix", "cp.async", "ld.global", "st.global", "ld.shared",
    "st.shared", "ld.local", "st.local", "atom",      "bar",       "shfl",
    "mov",       "branch",   "other",    "alu"};
static_assert(std::size(classNames) == numInstructionClasses);

} // namespace

const char *instructionClassName(InstructionClass kind) {
  return classNames[size_t(kind)];
}

Listing readPtx(std::string_view text, std::string_view kernel) {
  return Reader(text, kernel).read();
}

} // namespace tessera::ptx
