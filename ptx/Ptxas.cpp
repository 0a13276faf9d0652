// ptx/Ptxas.cpp - PTX to a cubin by NVIDIA's assembler.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ptx/Ptxas.h"

#include "ptx/Lexer.h"
#include "support/Error.h"
#include "support/MemoryFile.h"
#include "support/Process.h"
#include "support/Text.h"

#include <algorithm>
#include <charconv>
#include <regex>
#include <vector>

namespace tessera::ptx {
namespace {

// The numbers that the child knows the two files by; they stand in the
// messages, and must be the same in every run.
constexpr int inputFd = 3, outputFd = 4;
const std::string inputPath = "/dev/fd/3", outputPath = "/dev/fd/4";

uint64_t numberBefore(std::string_view line, std::string_view mark) {
  const size_t at = line.find(mark);
  if (at == std::string::npos)
    return 0;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9')
    --begin;
  uint64_t value = 0;
  std::from_chars(line.data() + begin, line.data() + at, value);
  return value;
}

// The kernel's line that a line of PTX is for: that of the last .loc before; 0
// if there is none. The text is one that ptxas refused.
uint32_t sourceLine(std::string_view ptx, uint32_t number) {
  uint32_t line = 0;
  try {
    const std::vector<Token> tokens = lexPtx(ptx, "PTX");
    // .loc FILE LINE
    for (size_t i = 0; i + 2 < tokens.size() && tokens[i].line <= number; ++i)
      if (tokens[i].is(".loc"))
        line = uint32_t(tokens[i + 2].value);
  } catch (const Error &) { // not even tokens
  }
  return line;
}

const char *const defect =
    "this is a defect of tessera, not of the kernel; please report it with "
    "the kernel";

[[noreturn]] void refuse(const std::string &ptx, const AssembleOptions &options,
                         const std::string &log) {
  static const std::regex tooOld(
      R"re(Unsupported \.version (\S+); current version is '([^']*)')re");
  static const std::regex noTarget(
      R"re(Value '(sm_\w+)' is not defined for option 'gpu-name')re");
  std::smatch match;
  const std::string newer =
      "set TESSERA_PTXAS to the ptxas of CUDA 12.8 or newer";
  if (std::regex_search(log, match, tooOld))
    throw Error(options.ptxas.string() + " reads PTX up to " + match[2].str() +
                    "; this is PTX " + match[1].str(),
                newer);
  if (std::regex_search(log, match, noTarget))
    throw Error(options.ptxas.string() + " does not know " + match[1].str(),
                newer);
  if (log.find("uses too much shared data") != std::string::npos)
    throw Error("ptxas: " + log.substr(0, log.find('\n')),
                "use smaller blocks or fewer stages");
  // "ptxas /dev/fd/3, line 12; error   : Unknown symbol 'x'"
  static const std::regex atLine(
      R"(line (\d{1,9}); (?:error|fatal) *: ([^\n]*))");
  static const std::regex anywhere(R"((?:error|fatal) *: ([^\n]*))");
  std::string what = log.substr(0, 400);
  uint32_t line = 0;
  if (std::regex_search(log, match, atLine)) {
    line = uint32_t(std::stoul(match[1]));
    what = match[2];
  } else if (std::regex_search(log, match, anywhere)) {
    what = match[1];
  }
  if (options.edited) {
    SourceRange range;
    if (line)
      range = {line, 1, line, 2};
    throw CompileError({Diagnostic::make(
        options.ownFile ? DiagnosticId::CodegenFailed
                        : DiagnosticId::BadOverride,
        options.edited, range, "ptxas: " + what,
        options.ownFile
            ? options.ptxas.string() + " does not accept it"
            : "this file replaces the stage `ptx` (TESSERA_OVERRIDE); correct "
              "it, or remove it to compile the kernel")});
  }
  std::string place;
  if (line) {
    place = " in line " + std::to_string(line) + " of the PTX";
    if (const uint32_t source = sourceLine(ptx, line))
      place += ", which is for line " + std::to_string(source) +
               " of the kernel's file";
    const std::vector<std::string_view> lines = splitLines(ptx);
    if (line <= lines.size())
      if (const auto text = trimSpaces(lines[line - 1]); !text.empty())
        place += ": `" + std::string(text) + "`";
  }
  throw Error("internal error: ptxas does not accept the code: " + what + place,
              defect);
}

} // namespace

Resources parseResources(std::string_view log, std::string_view kernel) {
  Resources result;
  bool own = false;
  const std::string quoted = "'" + std::string(kernel) + "'";
  for (const std::string_view line : splitLines(log)) {
    if (line.find("Compiling entry function") != std::string::npos)
      own = line.find(quoted) != std::string::npos;
    if (!own)
      continue;
    if (line.find("bytes stack frame") != std::string::npos) {
      result.stack = numberBefore(line, " bytes stack frame");
      result.spillStores = numberBefore(line, " bytes spill stores");
      result.spillLoads = numberBefore(line, " bytes spill loads");
    } else if (line.find("Used ") != std::string::npos) {
      result.registers = uint32_t(numberBefore(line, " registers"));
      result.barriers = uint32_t(numberBefore(line, " barriers"));
      result.staticShared = numberBefore(line, " bytes smem");
      result.known = true;
    }
  }
  return result;
}

Cubin assemble(const std::string &ptx, const AssembleOptions &options) {
  const auto start = std::chrono::steady_clock::now();
  MemoryFile input("tessera-ptx"), output("tessera-cubin");
  input.write(ptx);
  // -lineinfo: profilers and nvdisasm show the kernel's lines.
  std::vector<std::string> command = {options.ptxas.string(), "-v", "-lineinfo",
                                      "--gpu-name=" + options.target.name};
  if (options.minBlocks)
    command.push_back("--minnctapersm=" + std::to_string(options.minBlocks));
  command.insert(command.end(), {inputPath, "-o", outputPath});
  const CommandResult done =
      runTool(command, options.timeout,
              {{inputFd, input.descriptor()}, {outputFd, output.descriptor()}});
  const std::string log = done.output + done.errors;
  if (done.timedOut)
    throw Error("ptxas did not end within " +
                    std::to_string(options.timeout.count() / 1000) +
                    " s and was stopped (" + options.ptxas.string() + ")",
                "use a smaller configuration, or give it more time: "
                "TESSERA_PTXAS_TIMEOUT=600");
  if (done.status.signal)
    throw Error("ptxas died of " + done.status.text() + " (" +
                    options.ptxas.string() + ")",
                "use another configuration, or another ptxas with "
                "TESSERA_PTXAS");
  Cubin result;
  result.bytes = output.read();
  if (!done.status.ok() || result.bytes.empty()) {
    if (log.empty() || done.status.code == 127)
      throw Error("ptxas ended with " + done.status.text() +
                      " and gave no code (" + options.ptxas.string() + ")" +
                      (log.empty() ? "" : ": " + log.substr(0, 400)),
                  "set TESSERA_PTXAS to a ptxas of CUDA 12.8 or newer");
    refuse(ptx, options, log);
  }
  result.resources = parseResources(log, options.kernel);
  result.log = log;
  result.microseconds = std::chrono::duration_cast<std::chrono::microseconds>(
                            std::chrono::steady_clock::now() - start)
                            .count();
  return result;
}

std::string disassemble(const std::string &cubin,
                        const std::filesystem::path &nvdisasm,
                        SassLines lines) {
  MemoryFile input("tessera-cubin");
  input.write(cubin);
  const CommandResult done =
      runTool({nvdisasm.string(), lines == SassLines::Ptx ? "-gp" : "-g", "-c",
               inputPath},
              std::chrono::seconds(60), {{inputFd, input.descriptor()}});
  if (done.timedOut || !done.status.ok())
    throw Error("nvdisasm cannot read the cubin: " +
                    (done.timedOut ? "it does not end" : done.status.text()) +
                    " " + done.errors.substr(0, 300),
                "use the nvdisasm that belongs to the ptxas");
  return done.output;
}

} // namespace tessera::ptx
