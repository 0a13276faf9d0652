// ptx/Ptxas.cpp - PTX to a cubin by NVIDIA's assembler.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ptx/Ptxas.h"

#include "support/Descriptors.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Process.h"
#include "support/Sync.h"

#include <algorithm>
#include <charconv>
#include <regex>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace tessera::ptx {
namespace {

// A file without a name. The child opens it by the number it has there.
class MemoryFile {
public:
  explicit MemoryFile(const char *name)
      : fd(::memfd_create(name, MFD_CLOEXEC)) {
    if (!fd)
      throw Error("cannot make a file in memory: " + errnoText(errno),
                  hintForOpen(errno, "free some memory"));
  }
  void write(std::string_view bytes) {
    if (!writeAll(fd.get(), bytes))
      throw Error("cannot write a file in memory: " + errnoText(errno),
                  "free some memory");
  }
  std::string read() const {
    std::string bytes;
    char buffer[1 << 16];
    for (off_t at = 0;;) {
      const ssize_t got = ::pread(fd.get(), buffer, sizeof(buffer), at);
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        return bytes;
      bytes.append(buffer, size_t(got));
      at += got;
    }
  }
  int descriptor() const { return fd.get(); }

private:
  UniqueFd fd;
};

// The numbers that the child knows the two files by; they stand in the
// messages, and must be the same in every run.
constexpr int inputFd = 3, outputFd = 4;
const std::string inputPath = "/dev/fd/3", outputPath = "/dev/fd/4";

uint64_t numberBefore(const std::string &line, const std::string &mark) {
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

std::string_view lineOf(std::string_view text, uint32_t number) {
  for (uint32_t i = 1; !text.empty(); ++i) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (i == number)
      return text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

// The kernel's line that a line of PTX is for: that of the last .loc before.
uint32_t sourceLine(std::string_view ptx, uint32_t number) {
  uint32_t line = 0;
  for (uint32_t i = 1; i <= number && !ptx.empty(); ++i) {
    const size_t end = std::min(ptx.find('\n'), ptx.size());
    std::string_view text = ptx.substr(0, end);
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
    const size_t loc = text.find(".loc");
    if (loc == text.npos)
      continue;
    text.remove_prefix(loc + 4);
    uint32_t values[2] = {};
    for (uint32_t &value : values) {
      text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
      const auto [after, error] =
          std::from_chars(text.data(), text.data() + text.size(), value);
      text.remove_prefix(size_t(after - text.data()));
    }
    line = values[1];
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
    std::string_view text = lineOf(ptx, line);
    const size_t begin = text.find_first_not_of(" \t");
    if (begin != text.npos)
      place += ": `" + std::string(text.substr(begin)) + "`";
  }
  throw Error("internal error: ptxas does not accept the code: " + what + place,
              defect);
}

} // namespace

Resources parseResources(std::string_view log, std::string_view kernel) {
  Resources result;
  bool own = false;
  const std::string quoted = "'" + std::string(kernel) + "'";
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    const std::string line(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
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
