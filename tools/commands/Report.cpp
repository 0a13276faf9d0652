// tools/commands/Report.cpp - tessera report FILE.ptx and tessera report
// RUN...: reports on a kernel's resources or on training runs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"
#include "tools/commands/OutOption.h"

#include "language/Request.h"
#include "ptx/Ptxas.h"
#include "ptx/ResourceReport.h"
#include "runtime/cache/Cache.h"
#include "support/CudaTools.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Options.h"
#include "tools/inspect/Page.h"
#include "tools/report/RunPage.h"
#include "tools/report/Runs.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;

struct ReportOptions {
  std::vector<std::string> files;
  std::string kernel, target, sass, page, csv;
  uint64_t shared = 0;
  uint32_t threads = 0, minBlocks = 0;
  bool json = false, noPtxas = false, blocks = false;
};

// Throws for a file that is not PTX.
[[noreturn]] void refuseOther(const std::string &file) {
  const fs::path run = runOf(file);
  if (!run.empty())
    throw Error(file + " is a file of a training run",
                "name the folder of the run: tessera report " + run.string());
  throw Error(file + " is not PTX: it has no line .version",
              "name a file of PTX, as `nvcc -ptx`, NVRTC or Triton's "
              "asm['ptx'] gives it, or a folder of a training run");
}

int reportPtx(const ReportOptions &options, const std::string &file) {
  ptx::ReportInput input;
  input.ptx = readFile(file);
  if (input.ptx.starts_with("\x7f"
                            "ELF"))
    throw Error(file + " is a cubin or another binary, not PTX",
                "name the PTX that it was made from: tessera compile FILE "
                "--target sm_80 --emit ptx,report -o out");
  if (input.ptx.find(".version") == std::string::npos)
    refuseOther(file);
  input.remarks = ptx::remarksOf(input.ptx);
  const ptx::Listing listing = ptx::readPtx(input.ptx, options.kernel);
  // The limits of "sm_90a" are those of sm_90.
  std::string target = options.target.empty() ? listing.target : options.target;
  if (target.empty())
    throw Error(file + " names no target", "add --target sm_80, or a line "
                                           ".target sm_80 behind .version");
  if (target.back() == 'a')
    target.pop_back();
  input.target = GpuTarget::parse(target);
  input.sharedBytes = options.shared;
  input.threads = options.threads;
  std::string why;
  const auto ptxas =
      options.noPtxas
          ? std::nullopt
          : findPtxas(runtime::defaultCacheFolder() / "ptxas.json", &why);
  ptx::Cubin cubin;
  if (ptxas) {
    ptx::AssembleOptions how;
    how.ptxas = ptxas->path;
    how.target = input.target;
    how.kernel = listing.kernel;
    how.timeout = std::chrono::seconds(optionNumber(Option::PtxasTimeout));
    // Errors of ptxas refer to lines of this file.
    how.edited = std::make_shared<SourceFile>(file, input.ptx);
    how.ownFile = true;
    how.minBlocks = options.minBlocks;
    cubin = ptx::assemble(input.ptx, how);
    input.resources = &cubin.resources;
    input.ptxasVersion = ptxas->version;
    if (const auto nvdisasm = findDisassembler(ptxas->path)) {
      input.sass = ptx::disassemble(cubin.bytes, *nvdisasm);
      if (options.blocks)
        input.sassOfPtx =
            ptx::disassemble(cubin.bytes, *nvdisasm, ptx::SassLines::Ptx);
    }
  } else if (!options.noPtxas) {
    std::fprintf(stderr, "tessera: %s: the PTX is counted as it is\n",
                 why.c_str());
  }
  if (!options.sass.empty()) {
    if (input.sass.empty())
      throw Error("no SASS without ptxas and nvdisasm", "leave --sass out");
    writeOutput(options.sass, input.sass);
  }
  const Json report = ptx::makeReport(input, listing.kernel);
  if (options.blocks && input.sassOfPtx.empty())
    throw Error("no SASS without ptxas and nvdisasm", "leave --blocks out");
  if (options.json)
    std::printf("%s\n", report.dump(2).c_str());
  else
    std::fputs(ptx::reportText(report).c_str(), stdout);
  return 0;
}

int reportRuns(const ReportOptions &options) {
  if (options.json || options.noPtxas || !options.kernel.empty() ||
      !options.target.empty() || !options.sass.empty() || options.shared ||
      options.threads || options.minBlocks || options.blocks)
    throw Error("--json, --sass, --kernel and the other options of PTX do not "
                "go with the folder of a run",
                "a run has -o PAGE.html and --csv FIGURES.csv");
  const Json runs = runsJson({options.files.begin(), options.files.end()});
  std::string title = "tessera report:";
  for (const Json &run : runs)
    title += " " + run.at("name").get<std::string>();
  if (!options.csv.empty())
    writeOutput(options.csv, runsCsv(runs));
  const std::string page = options.page.empty() ? "report.html" : options.page;
  writeOutput(
      page, htmlPage({title, pageStyle() + runStyle(), runBody(), runScript()},
                     {{"runs", runs}}));
  std::fprintf(stderr, "tessera: wrote %s%s%s\n", page.c_str(),
               options.csv.empty() ? "" : " and ", options.csv.c_str());
  return 0;
}

int run(const ReportOptions &options) {
  std::error_code ignored;
  if (fs::is_directory(options.files[0], ignored))
    return reportRuns(options);
  if (options.files.size() > 1)
    throw Error("tessera report takes one file of PTX, or folders of runs",
                "name one, or compare two with tessera diff");
  if (!options.page.empty() || !options.csv.empty())
    throw Error("-o and --csv are for the folders of training runs",
                options.files[0] + " is a file of PTX: its report goes to "
                                   "stdout, with --json as JSON");
  return reportPtx(options, options.files[0]);
}

} // namespace

Command addReport(CLI::App &app) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App *verb = app.add_subcommand(
      "report", "Curves and figures of training runs as a page; or registers, "
                "spills, occupancy, loops of PTX from any compiler");
  verb->add_option("what", options->files,
                   "folders of training runs, or one file of PTX")
      ->required();
  addOut(*verb, options->page, "runs: the page (report.html)");
  verb->add_option("--csv", options->csv, "runs: the same figures as CSV");
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
      ->check(CLI::Range(0u, language::maxBlocksPerSm));
  verb->add_option("--sass", options->sass, "write the disassembly to a file");
  verb->add_flag("--blocks", options->blocks,
                 "add the basic blocks of the SASS to the JSON: the PTX line "
                 "and the opcode of each instruction");
  verb->add_flag("--no-ptxas", options->noPtxas, "count the PTX alone");
  verb->add_flag("--json", options->json, "print JSON");
  verb->footer(
      "Examples:\n"
      "  tessera report runs/quickstart -o page.html\n"
      "  tessera report runs/a runs/b -o compared.html --csv figures.csv\n"
      "  tessera report out/select_fwd_paper_bf16.ptx --shared 49152\n"
      "  tessera report ~/.triton/cache/KEY/matmul_kernel.ptx --shared 65536 "
      "--json\n\n"
      "A loop is listed with the kernel's lines where the PTX has them (.loc). "
      "Triton\nkeeps a launch's shared memory in the kernel's .json.");
  return {verb, [options] { return run(*options); }};
}

} // namespace tessera::tools
