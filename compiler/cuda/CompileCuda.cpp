// compiler/cuda/CompileCuda.cpp - compiles a request for a CUDA C++ kernel to a
// cubin and PTX.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/cuda/CompileCuda.h"

#include "compiler/cuda/Nvrtc.h"
#include "language/CudaSource.h"
#include "ptx/Listing.h"
#include "support/Error.h"
#include "support/Json.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>

using tessera::language::CompileRequest;
using tessera::language::CompileResult;

namespace tessera::compiler {
namespace {

// Returns the name of the source in NVRTC's log.
std::string nameOf(const CompileRequest &request) {
  return std::filesystem::path(request.file).filename().string();
}

// Parses "FOLDER/NAME(LINE): error: TEXT", perhaps with "#123-D" after the word
// `error`. The line two below has the caret.
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
      // NVRTC removes the source line's indentation and indents it by two.
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

// Returns "128, 1, 1"; null if the sizes are unknown.
Json sizesJson(const std::array<uint32_t, 3> &sizes) {
  return sizes[0]
             ? Json(std::to_string(sizes[0]) + ", " + std::to_string(sizes[1]) +
                    ", " + std::to_string(sizes[2]))
             : Json();
}

Json reportOf(const CompileRequest &request, const NvrtcOutput &output,
              const ptx::Listing &listing) {
  const ptx::Function &function = listing.function;
  std::map<std::string, uint32_t> registers; // by type
  for (const ptx::Register &reg : function.registers)
    registers[reg.type] += !reg.startsRange;
  return {{"kernel", request.kernel},
          {"target", request.target},
          {"symbol", output.symbol},
          {"nvrtc", Nvrtc::instance().version()},
          {"ptx_version", listing.version},
          {"most_threads", sizesJson(function.maxntid[0] ? function.maxntid
                                                         : function.reqntid)},
          {"ptx_registers", registers},
          {"static_shared_bytes", listing.staticShared},
          {"ptx_bytes", output.ptx.size()},
          {"cubin_bytes", output.cubin.size()}};
}

// Returns the threads of a block: __block_size__ of the source, else the
// maximum of __launch_bounds__, else those of num_warps.
uint32_t threadsOf(const CompileRequest &request,
                   const ptx::Function &function) {
  for (const auto &[x, y, z] : {function.reqntid, function.maxntid})
    if (const uint64_t threads = uint64_t(x) * y * z;
        threads >= 1 && threads <= language::maxBlockThreads)
      return uint32_t(threads);
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
  const ptx::Listing listing = ptx::readPtx(output.ptx, output.symbol);
  result.meta.threads = threadsOf(request, listing.function);
  result.stages["report"] = reportOf(request, output, listing).dump(2) + "\n";
  result.stages["ptx"] = std::move(output.ptx);
  result.artifact = std::move(output.cubin);
  result.timings["total"] =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  result.ok = true;
}

} // namespace tessera::compiler
