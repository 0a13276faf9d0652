// codegen/gpu/emit/InlinedLines.cpp - adds inlined_at to the lines of PTX.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "codegen/gpu/emit/InlinedLines.h"

#include "support/Text.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

#include <map>
#include <set>
#include <tuple>

namespace tessera::codegen::gpu {

using llvm::StringRef;

namespace {

constexpr StringRef callMark = "tessera.call.";

// Returns the file name. A path would make the PTX depend on the folder of the
// checkout.
std::string fileOfPath(StringRef path) { return std::string(lastPart(path)); }

} // namespace

InlinedLines::InlinedLines(llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  std::map<std::pair<const llvm::DIScope *, const llvm::DILocation *>,
           llvm::DILexicalBlockFile *>
      scopes;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      const llvm::DILocation *place = instruction.getDebugLoc().get();
      if (!place || !place->getInlinedAt())
        continue;
      llvm::DILocalScope *scope = place->getScope();
      llvm::DILexicalBlockFile *&own = scopes[{scope, place->getInlinedAt()}];
      if (!own) {
        const std::string name =
            (callMark + std::to_string(calls.size())).str();
        own = llvm::DILexicalBlockFile::get(
            context, scope, llvm::DIFile::get(context, name, ""), 0);
        calls.push_back({fileOfPath(place->getFilename()),
                         scope->getSubprogram()->getName().str(),
                         place->getInlinedAt()});
      }
      instruction.setDebugLoc(llvm::DILocation::get(context, place->getLine(),
                                                    place->getColumn(), own,
                                                    place->getInlinedAt()));
    }
}

// Rewrites PTX in one pass over its lines.
class InlinedLines::Writer {
public:
  explicit Writer(const std::vector<Call> &calls) : calls(calls) {}

  std::string write(StringRef ptx) {
    readFiles(ptx);
    bool listed = false;
    while (!ptx.empty()) {
      auto [line, rest] = ptx.split('\n');
      const StringRef trimmed = line.trim();
      if (trimmed.starts_with(".loc\t")) {
        placeOf(trimmed.drop_front(4).trim());
      } else if (!trimmed.starts_with(".file\t")) {
        result += line;
        if (line.size() < ptx.size())
          result += '\n';
      } else if (!listed) {
        listed = true;
        listFiles();
      }
      ptx = rest;
    }
    if (!functions.empty())
      listFunctions();
    return std::move(result);
  }

private:
  // Reads directives such as .file 2 "tiles.py".
  void readFiles(StringRef ptx) {
    for (size_t at; (at = ptx.find("\t.file\t")) != StringRef::npos;) {
      ptx = ptx.drop_front(at + 7);
      unsigned number = 0;
      if (!ptx.consumeInteger(10, number))
        files[number] = fileOfPath(ptx.split('"').second.split('"').first);
    }
  }

  // Writes the .loc for `text`: file, line and column, such as 2 29 12.
  void placeOf(StringRef text) {
    unsigned file = 0, line = 0, column = 0;
    for (unsigned *number : {&file, &line, &column}) {
      text = text.ltrim();
      text.consumeInteger(10, *number);
    }
    StringRef name = files[file];
    unsigned call = 0;
    if (name.consume_front(callMark) && !name.getAsInteger(10, call) &&
        call < calls.size())
      inlined(calls[call].file, line, column, calls[call].function,
              calls[call].at);
    else
      put(location(files[file], line, column));
  }

  std::string location(StringRef file, unsigned line, unsigned column) {
    const unsigned number =
        numbers.try_emplace(file.str(), unsigned(numbers.size()) + 1)
            .first->second;
    return std::to_string(number) + " " + std::to_string(line) + " " +
           std::to_string(column);
  }

  // Writes the .loc of an inlined line. ptxas requires an earlier .loc with the
  // location of the call.
  void inlined(StringRef file, unsigned line, unsigned column,
               StringRef function, const llvm::DILocation *at) {
    const std::string caller =
        location(fileOfPath(at->getFilename()), at->getLine(), at->getColumn());
    if (!seen.contains(caller)) {
      if (const llvm::DILocation *outer = at->getInlinedAt())
        inlined(fileOfPath(at->getFilename()), at->getLine(), at->getColumn(),
                at->getScope()->getSubprogram()->getName(), outer);
      else
        put(caller);
    }
    const unsigned name =
        functions.try_emplace(function.str(), unsigned(functions.size()))
            .first->second;
    put(location(file, line, column), ", function_name $L__info_string" +
                                          std::to_string(name) +
                                          ", inlined_at " + caller);
  }

  void put(const std::string &place, const std::string &call = "") {
    seen.insert(place);
    result += "\t.loc\t" + place + call + "\n";
  }

  void listFiles() {
    std::map<unsigned, std::string> byNumber;
    for (const auto &[name, number] : numbers)
      byNumber[number] = name;
    for (const auto &[number, name] : byNumber)
      result += "\t.file\t" + std::to_string(number) + " \"" + name + "\"\n";
  }

  void listFunctions() {
    std::map<unsigned, std::string> byNumber;
    for (const auto &[name, number] : functions)
      byNumber[number] = name;
    result += "\t.section\t.debug_str\n\t{\n";
    for (const auto &[number, name] : byNumber) {
      result += "$L__info_string" + std::to_string(number) + ":\n.b8 ";
      for (const unsigned char letter : name)
        result += std::to_string(letter) + ",";
      result += "0\n";
    }
    result += "\t}\n";
  }

  const std::vector<Call> &calls;
  std::map<unsigned, std::string> files; // of the original text
  std::map<std::string, unsigned> numbers, functions;
  std::set<std::string> seen;
  std::string result;
};

std::string InlinedLines::write(std::string_view ptx) const {
  return calls.empty() ? std::string(ptx) : Writer(calls).write(ptx);
}

} // namespace tessera::codegen::gpu
