// tools/commands/Report.cpp - tessera report FILE.ptx.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"

#include "codegen/gpu/Ptxas.h"
#include "codegen/gpu/report/Report.h"
#include "compiler/syntax/Request.h"
#include "runtime/cache/Cache.h"
#include "support/CudaTools.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Options.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

namespace tessera::tools {
namespace {

struct Options {
  std::string file, kernel, target, sass;
  uint64_t shared = 0;
  uint32_t threads = 0, minBlocks = 0;
  bool json = false, noPtxas = false;
};

int run(const Options &options) {
  codegen::ReportInput input;
  input.ptx = readFile(options.file);
  input.remarks = codegen::remarksOf(input.ptx);
  const codegen::Listing listing = codegen::readPtx(input.ptx, options.kernel);
  // "sm_90a" holds what sm_90 does.
  std::string target = options.target.empty() ? listing.target : options.target;
  if (!target.empty() && target.back() == 'a')
    target.pop_back();
  input.target = GpuTarget::parse(target);
  input.sharedBytes = options.shared;
  input.threads = options.threads;
  std::string why;
  const auto ptxas =
      options.noPtxas
          ? std::nullopt
          : findPtxas(runtime::defaultCacheFolder() / "ptxas.json", &why);
  codegen::Cubin cubin;
  if (ptxas) {
    codegen::AssembleOptions how;
    how.ptxas = ptxas->path;
    how.target = input.target;
    how.kernel = listing.kernel;
    how.timeout = std::chrono::seconds(optionNumber(Option::PtxasTimeout));
    // Its errors stand in the file.
    how.edited = std::make_shared<SourceFile>(options.file, input.ptx);
    how.ownFile = true;
    how.minBlocks = options.minBlocks;
    cubin = codegen::assemble(input.ptx, how);
    input.resources = &cubin.resources;
    input.ptxasVersion = ptxas->version;
    if (const auto nvdisasm = findDisassembler(ptxas->path))
      input.sass = codegen::disassemble(cubin.bytes, *nvdisasm);
  } else if (!options.noPtxas) {
    std::fprintf(stderr, "tessera: %s: the PTX is counted as it is\n",
                 why.c_str());
  }
  if (!options.sass.empty()) {
    if (input.sass.empty())
      throw Error("there is no SASS without ptxas and nvdisasm",
                  "leave --sass out");
    writeOutput(options.sass, input.sass);
  }
  const Json report = codegen::makeReport(input, listing.kernel);
  if (options.json)
    std::printf("%s\n", report.dump(2).c_str());
  else
    std::fputs(codegen::reportText(report).c_str(), stdout);
  return 0;
}

} // namespace

Command addReport(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *verb = app.add_subcommand(
      "report", "Registers, spills, occupancy, loops of PTX from any compiler");
  verb->add_option("file", options->file, "PTX text")->required();
  verb->add_option("-k,--kernel", options->kernel,
                   "entry, when there are several (default: the first)");
  verb->add_option("--target", options->target,
                   "assemble for sm_80, sm_90 ...; default: what the PTX says");
  verb->add_option("--shared", options->shared,
                   "bytes of dynamic shared memory of a launch")
      ->capture_default_str();
  verb->add_option("--threads", options->threads,
                   "threads of a block, where the PTX has no .reqntid");
  verb->add_option("--min-blocks", options->minBlocks,
                   "blocks an SM shall hold at least (`min_blocks` of a "
                   "kernel's .json): ptxas keeps to as many registers")
      ->check(CLI::Range(0u, syntax::maxBlocksPerSm));
  verb->add_option("--sass", options->sass, "write the disassembly to a file");
  verb->add_flag("--no-ptxas", options->noPtxas, "count the PTX alone");
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(
      "Examples:\n"
      "  tessera report out/select_fwd_paper_bf16.ptx --shared 49152\n"
      "  tessera report ~/.triton/cache/KEY/matmul_kernel.ptx --shared 65536 "
      "--json\n\n"
      "A loop is listed with the kernel's lines where the PTX has them (.loc). "
      "Triton\nkeeps a launch's shared memory in the kernel's .json.");
  return {verb, [options] { return run(*options); }};
}

} // namespace tessera::tools
