// compiler/cuda/CompileCuda.cpp - a request for a CUDA C++ kernel to cubin and
// PTX.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/cuda/CompileCuda.h"

#include "compiler/cuda/Nvrtc.h"
#include "language/CudaSource.h"
#include "support/Error.h"
#include "support/Json.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <regex>
#include <sstream>

using tessera::language::CompileRequest;
using tessera::language::CompileResult;

namespace tessera::compiler {
namespace {

// What NVRTC's log calls the source.
std::string nameOf(const CompileRequest &request) {
  return std::filesystem::path(request.file).filename().string();
}

// "FOLDER/NAME(LINE): error: TEXT", perhaps with "#123-D" after the word; the
// caret is two lines below.
std::vector<Diagnostic> diagnosticsOf(const CompileRequest &request,
                                      const std::string &log) {
  static const std::regex pattern(
      R"(^/(.*)\((\d{1,9})\): (error|warning|catastrophic error)[^:]*: (.*)$)");
  auto file = std::make_shared<SourceFile>(request.file, request.text);
  std::vector<Diagnostic> list;
  std::istringstream stream(log);
  std::string line, before;
  while (std::getline(stream, line)) {
    std::smatch match;
    if (std::regex_match(line, match, pattern)) {
      Diagnostic diagnostic = Diagnostic::make(
          DiagnosticId::CodegenFailed, file,
          {static_cast<uint32_t>(std::stoul(match[2])), 1,
           static_cast<uint32_t>(std::stoul(match[2])), 2},
          match[4],
          match[3] == "warning" ? "" : "NVRTC says so; mend the source");
      if (match[3] == "warning")
        diagnostic.severity = Severity::Warning;
      list.push_back(std::move(diagnostic));
    } else if (!list.empty() && line.ends_with('^') &&
               line.find_first_not_of(' ') == line.size() - 1 &&
               before.size() >= line.size()) {
      // NVRTC indents the source line by two and drops its own indentation.
      SourceRange &range = list.back().range;
      const std::string_view source = file->line(range.line);
      const size_t indent = before.find_first_not_of(' ');
      const size_t own = source.find_first_not_of(" \t");
      if (own != std::string_view::npos && line.size() - 1 >= indent) {
        range.column = static_cast<uint32_t>(own + line.size() - indent);
        range.endColumn = range.column + 1;
      }
    }
    before = line;
  }
  return list;
}

// The kernel's parameters and directives: the file's other kernels are in the
// PTX, too.
std::string headOf(const NvrtcOutput &output) {
  const size_t at = output.ptx.find(".entry " + output.symbol + "(");
  return at == std::string::npos
             ? ""
             : output.ptx.substr(at, output.ptx.find('{', at) - at);
}

// Facts that stand in the PTX text.
Json reportOf(const CompileRequest &request, const NvrtcOutput &output) {
  auto first = [&](const std::string &text, const char *pattern) -> Json {
    std::smatch match;
    return std::regex_search(text, match, std::regex(pattern))
               ? Json(match[1].str())
               : Json();
  };
  Json registers = Json::object();
  static const std::regex bank(R"(\.reg \.(\w+)\s+%\w+<(\d+)>;)");
  for (std::sregex_iterator it(output.ptx.begin(), output.ptx.end(), bank), end;
       it != end; ++it)
    registers[(*it)[1]] = std::stoul((*it)[2]) - 1;
  uint64_t shared = 0;
  static const std::regex array(R"(\.shared \.align \d+ \.b8 \w+\[(\d+)\];)");
  for (std::sregex_iterator it(output.ptx.begin(), output.ptx.end(), array),
       end;
       it != end; ++it)
    shared += std::stoul((*it)[1]);
  return {{"kernel", request.kernel},
          {"target", request.target},
          {"symbol", output.symbol},
          {"nvrtc", Nvrtc::instance().version()},
          {"ptx_version", first(output.ptx, R"(\.version (\S+))")},
          {"most_threads",
           first(headOf(output), R"(\.(?:maxntid|reqntid) ([\d, ]+))")},
          {"ptx_registers", registers},
          {"static_shared_bytes", shared},
          {"ptx_bytes", output.ptx.size()},
          {"cubin_bytes", output.cubin.size()}};
}

// The block that the source asks for (__block_size__, else the most that
// __launch_bounds__ allows), else what num_warps says.
uint32_t threadsOf(const CompileRequest &request, const std::string &head) {
  for (const char *word : {"reqntid", "maxntid"}) {
    std::smatch match;
    const std::regex pattern(
        "\\." + std::string(word) +
        R"(\s+(\d{1,4})(?:, *(\d{1,4}))?(?:, *(\d{1,4}))?)");
    if (!std::regex_search(head, match, pattern))
      continue;
    uint64_t threads = 1;
    for (size_t i = 1; i < match.size(); ++i)
      if (match[i].matched)
        threads *= std::stoul(match[i]);
    if (threads >= 1 && threads <= language::maxBlockThreads)
      return uint32_t(threads);
  }
  return uint32_t(std::min<int64_t>(32 * request.options.numWarps,
                                    language::maxBlockThreads));
}

} // namespace

void compileCuda(const CompileRequest &request, CompileResult &result) {
  const auto start = std::chrono::steady_clock::now();
  for (const std::string &stage : request.emit)
    if (stage != "ptx" && stage != "report")
      throw Error("CUDA C++ has no stage `" + stage + "`",
                  "ask for ptx, cubin, report or meta");
  std::vector<std::string> options = {"--gpu-architecture=" + request.target,
                                      "--std=c++17", "-lineinfo",
                                      "-default-device"};
  for (const language::Argument &argument : request.args) {
    if (argument.isConstexpr()) {
      const auto *text = argument.value.get<std::string>();
      options.push_back("-D" + argument.name + "=" +
                        (text ? *text : argument.value.repr()));
    } else {
      result.meta.params.push_back(
          {argument.name,
           argument.kind == language::ArgKind::Pointer ? "pointer" : "scalar",
           argument.type});
    }
  }
  NvrtcOutput output = Nvrtc::instance().compile(nameOf(request), request.text,
                                                 request.kernel, options);
  std::vector<Diagnostic> diagnostics = diagnosticsOf(request, output.log);
  if (!output.ok) {
    if (diagnostics.empty())
      throw Error("NVRTC refuses the source: " + output.log,
                  "its options were for " + request.target);
    throw CompileError(std::move(diagnostics));
  }
  result.addDiagnostics(diagnostics);
  result.meta.symbol = output.symbol;
  result.meta.threads = threadsOf(request, headOf(output));
  result.stages["report"] = reportOf(request, output).dump(2) + "\n";
  result.stages["ptx"] = std::move(output.ptx);
  result.artifact = std::move(output.cubin);
  result.timings["total"] =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  result.ok = true;
}

} // namespace tessera::compiler
