// tools/commands/Compile.cpp - tessera compile FILE: compiles kernels and
// writes the stages that --emit names.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"
#include "tools/commands/OptionChecks.h"
#include "tools/commands/OutOption.h"
#include "tools/commands/OutputCheck.h"

#include "language/CudaSource.h"
#include "language/Decorators.h"
#include "language/Manifest.h"
#include "language/Program.h"
#include "language/Remarks.h"
#include "language/SignatureTuples.h"
#include "language/pattern/Pattern.h"
#include "language/pattern/PatternKernels.h"
#include "ptx/ResourceReport.h"
#include "runtime/Kernel.h"
#include "runtime/compile/CompileService.h"
#include "runtime/launch/FindFile.h"
#include "support/CudaTools.h"
#include "support/Error.h"
#include "support/GpuTarget.h"
#include "support/Lists.h"
#include "support/Names.h"
#include "tools/compile/Header.h"
#include "tools/compile/Jobs.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>

namespace tessera::tools {

namespace fs = std::filesystem;
using language::Argument;
using runtime::CompiledKernel;
using runtime::CompileService;

namespace {

struct Options : JobOptions {
  std::string request;
  std::string emit; // empty: the code and its description
  std::string folder = ".";
  bool list = false, json = false;
};

const std::vector<std::string> &stageNames() {
  static const std::vector<std::string> names = {
      "tile",  "loops", "layout", "llvm",   "asm",  "so", "ptx",
      "cubin", "sass",  "report", "header", "meta", "all"};
  return names;
}

// The stages of one kind of source and target.
struct Kind {
  const char *what;
  std::set<std::string> stages;
  const char *usual;
};

const Kind &kindOf(const language::CompileRequest &request) {
  static const Kind cuda = {"CUDA C++",
                            {"ptx", "cubin", "report", "meta"},
                            "ptx,cubin,meta"},
                    cpu = {"a tile kernel on a CPU",
                           {"tile", "loops", "llvm", "asm", "so", "meta"},
                           "so,meta"},
                    gpu = {"a tile kernel on a GPU",
                           {"tile", "layout", "llvm", "ptx", "cubin", "sass",
                            "report", "header", "meta"},
                           "ptx,cubin,meta"};
  if (language::isCudaSource(request.file))
    return cuda;
  return GpuTarget::looksLike(request.target) ? gpu : cpu;
}

// Without ptxas, omits stages that need it unless the user names them.
void leaveOutMachineCode(std::set<std::string> &stages) {
  std::string why;
  if (findPtxas(runtime::defaultCacheFolder() / "ptxas.json", &why))
    return;
  std::fprintf(stderr, "tessera: %s: no cubin and no sass are written\n",
               why.c_str());
  stages.erase("cubin");
  stages.erase("sass");
}

std::set<std::string> stagesOf(const std::string &list, const Kind &kind) {
  const std::set<std::string> &own = kind.stages;
  std::set<std::string> stages;
  for (const std::string &stage :
       split(list.empty() ? kind.usual : list, ',')) {
    if (std::find(stageNames().begin(), stageNames().end(), stage) ==
        stageNames().end())
      throw Error("--emit has no stage `" + stage + "`",
                  nearestNameHint(stage, stageNames(), "stages"));
    if (stage == "all") {
      stages.insert(own.begin(), own.end());
    } else if (own.count(stage)) {
      stages.insert(stage);
    } else {
      throw Error(std::string(kind.what) + " has no stage `" + stage + "`",
                  "it has " + joined(own, ", "));
    }
  }
  if (own.count("layout") && (list.empty() || stages == own))
    leaveOutMachineCode(stages);
  return stages;
}

// Prints "NAME(PARAMETER, ...)" for each kernel, then its instances or the
// reason that it cannot be compiled. Throws CompileError if a kernel has an
// error. A kernel that uses unsupported language features is only listed.
int list(const language::Program &program) {
  std::vector<Diagnostic> errors;
  for (const language::ListedKernel &kernel : language::listKernels(program)) {
    const std::string parameters =
        joined(kernel.function->parameters, ", ", [&](const auto &parameter) {
          const auto *tuple =
              kernel.info ? kernel.info->signature.findTuple(parameter.name)
                          : nullptr;
          return parameter.name + (tuple ? ": " + language::formOf(*tuple)
                                   : parameter.isConstexpr ? ": constexpr"
                                                           : "");
        });
    std::printf("%s(%s)\n", kernel.function->name.c_str(), parameters.c_str());
    if (kernel.info)
      for (const language::Instance &instance : kernel.info->hints.instances)
        std::printf("  --instance %s\n", instance.name.c_str());
    const bool isError =
        kernel.outcome == language::ListedKernel::Outcome::Error;
    for (const Diagnostic &problem : kernel.problems)
      std::printf("  %s: %s:%u: %s\n", isError ? "error" : "unsupported",
                  problem.file->path().c_str(), problem.range.line,
                  problem.message.c_str());
    if (isError)
      errors.insert(errors.end(), kernel.problems.begin(),
                    kernel.problems.end());
  }
  if (!errors.empty())
    throw CompileError(std::move(errors));
  return 0;
}

Json metaJson(const Job &job, const CompiledKernel &kernel) {
  Json arguments = Json::array();
  for (const Argument &argument : job.request.args)
    arguments.push_back(
        {{"name", argument.name},
         {"type", argument.isConstexpr() ? "constexpr" : argument.type},
         {"value",
          argument.isConstexpr() ? Json(argument.value.repr()) : Json()}});
  Json parameters = Json::array();
  for (const language::ArtifactParameter &parameter : kernel.meta.params)
    parameters.push_back({{"name", parameter.name},
                          {"kind", parameter.kind},
                          {"type", parameter.type}});
  Json remarks = Json::array();
  for (const language::DiagnosticRecord &remark : kernel.remarks)
    remarks.push_back({{"place", language::placeOf(remark)},
                       {"id", remark.id},
                       {"message", remark.message},
                       {"hint", remark.hint}});
  return {{"kernel", job.request.kernel},
          {"target", job.request.target},
          {"arguments", arguments},
          {"symbol", kernel.meta.symbol},
          {"parameters", parameters},
          {"scratch_bytes", kernel.meta.scratchBytes},
          {"threads", kernel.meta.threads},
          {"shared_bytes", kernel.meta.sharedBytes},
          {"grid_limit", kernel.meta.gridLimit},
          {"min_blocks", kernel.meta.minBlocks},
          {"edited_stages", kernel.meta.edited},
          {"remarks", remarks},
          {"code_bytes", kernel.code.size()},
          {"code_sha256", sha256Hex(kernel.code)},
          {"request_key", job.request.key()}};
}

// Returns PTX or SASS annotated with the kernel's source lines; PTX starts with
// the remarks.
std::string forReaders(const Job &job, const CompiledKernel &kernel,
                       const std::string &stage, const std::string &text) {
  if (stage != "ptx" && stage != "sass")
    return text;
  std::vector<ptx::SourceText> sources;
  for (const language::RequestSource &source : job.request.sources)
    sources.push_back({fs::path(source.path).filename().string(), source.text});
  if (sources.empty())
    sources.push_back(
        {fs::path(job.request.file).filename().string(), job.request.text});
  const ptx::Listing listing =
      stage == "ptx" ? ptx::readPtx(text) : ptx::readSass(text);
  std::string remarks;
  if (stage == "ptx")
    for (const language::DiagnosticRecord &remark : kernel.remarks)
      remarks +=
          ptx::remarkComment({language::placeOf(remark), remark.message});
  return remarks + ptx::annotate(text, listing, sources);
}

void writeStages(const Options &options, const Job &job,
                 const CompiledKernel &kernel,
                 const std::set<std::string> &stages) {
  static const std::map<std::string, std::string> endings = {
      {"tile", ".tile.mlir"},
      {"loops", ".loops.mlir"},
      {"layout", ".layout.mlir"},
      {"llvm", ".ll"},
      {"asm", ".s"},
      {"so", ".so"},
      {"ptx", ".ptx"},
      {"cubin", ".cubin"},
      {"sass", ".sass"},
      {"report", ".report.json"},
      {"header", ".h"},
      {"meta", ".json"}};
  std::string written;
  for (const std::string &stage : stages) {
    const fs::path path =
        fs::path(options.folder) / (job.name + endings.at(stage));
    if (stage == "so" || stage == "cubin") {
      if (kernel.code.empty())
        throw Error("no ptxas to make a cubin with",
                    "install CUDA 12.8 or newer or the triton wheel "
                    "(scripts/setup full), set TESSERA_PTXAS, or leave cubin "
                    "out");
      writeOutput(path, kernel.code);
    } else if (stage == "header")
      writeOutput(path, cHeader(job.name, job.request, kernel.meta,
                                kernel.code.empty() ? kernel.stages.at("ptx")
                                                    : kernel.code));
    else if (stage == "meta")
      writeOutput(path, metaJson(job, kernel).dump(2) + "\n");
    else if (auto found = kernel.stages.find(stage);
             found != kernel.stages.end())
      writeOutput(path, forReaders(job, kernel, stage, found->second));
    else
      throw Error("the compiler gave no stage `" + stage + "` for " + job.name,
                  "leave it out of --emit");
    written += " " + path.string();
  }
  std::printf("%s: %zu bytes of code;%s\n", job.name.c_str(),
              kernel.code.size(), written.c_str());
}

std::vector<Job> cudaJobs(const Options &options, const std::string &path) {
  if (!options.instances.empty() || !options.signature.empty())
    throw Error("a CUDA C++ file has no instances and needs no signature",
                "give --kernel, --target and perhaps -D NAME=value");
  std::vector<std::pair<std::string, std::string>> defines;
  for (const std::string &define : options.defines)
    defines.push_back(nameAndValue(define, "-D"));
  std::vector<Job> jobs;
  for (const language::CudaKernel &kernel :
       language::findCudaKernels(readFile(path)))
    if (options.kernel.empty() || kernel.name == options.kernel)
      jobs.push_back({kernel.name,
                      language::makeCudaRequest(
                          path, kernel.name, defines,
                          options.target.empty() ? "sm_80" : options.target)});
  if (jobs.empty()) // throws an error with the kernels of the file
    language::makeCudaRequest(path, options.kernel, defines, "sm_80");
  return jobs;
}

int listCuda(const std::string &path) {
  for (const language::CudaKernel &kernel :
       language::findCudaKernels(readFile(path)))
    std::printf("%s(%s)\n", kernel.name.c_str(),
                joined(kernel.parameters, ", ",
                       [](const language::CudaParameter &parameter) {
                         return parameter.name + ": " + parameter.type;
                       })
                    .c_str());
  return 0;
}

// Prints the kernels that a pattern expands to.
int printPattern(const language::Program &program) {
  const SourceFile &file = *program.main().file;
  if (!language::isPattern(file.text()))
    throw Error(file.path() + " is not a pattern",
                "a pattern has a line `# tessera: pattern(...)` above its "
                "function sees or modify (docs/patterns.md)");
  std::fputs(language::printedPattern(file.text()).c_str(), stdout);
  return 0;
}

// Throws Error for options that contradict each other.
void checkOptions(const Options &options) {
  if (options.json && !options.list)
    throw Error("--json is a form of --list",
                "tessera compile FILE --list --json; what a compilation wrote "
                "is in FILE.json of --emit meta");
  const bool chooses = !options.kernel.empty() || !options.instances.empty() ||
                       !options.signature.empty() || !options.defines.empty();
  if (options.list && (chooses || !options.emit.empty()))
    throw Error("--list prints all kernels of the file and compiles nothing",
                "leave -k, -i, -s, -D and --emit out, or leave --list out");
}

int run(const Options &options) {
  checkOptions(options);
  std::vector<Job> jobs;
  if (!options.request.empty()) {
    jobs.emplace_back();
    jobs[0].request =
        language::CompileRequest::fromJson(readFile(options.request));
    jobs[0].name = jobs[0].request.kernel;
  } else if (options.file.empty()) {
    throw Error("no kernel file is given", "see tessera compile --help");
  } else if (language::isCudaSource(options.file)) {
    const std::string path = runtime::findTypedFile(options.file);
    if (options.list)
      return listCuda(path);
    jobs = cudaJobs(options, path);
  } else {
    const auto program =
        language::Program::loadFile(runtime::findTypedFile(options.file));
    if (options.list && options.json) {
      std::printf("%s\n", language::manifestJson(*program).c_str());
      return 0;
    }
    if (options.list)
      return list(*program);
    if (options.emit == "pattern")
      return printPattern(*program);
    jobs = makeJobs(options, *program);
  }
  const std::set<std::string> stages =
      stagesOf(options.emit, kindOf(jobs[0].request));
  std::vector<language::CompileRequest> requests;
  for (Job &job : jobs) {
    for (const std::string &stage : stages)
      if (stage != "so" && stage != "cubin" && stage != "meta" &&
          stage != "header" && stage != "ptx")
        job.request.emit.push_back(stage);
    requests.push_back(job.request);
  }
  requireWritableFolder(options.folder);
  std::error_code failed;
  fs::create_directories(options.folder, failed);
  const auto kernels = CompileService::instance().getAll(requests);
  for (size_t i = 0; i < jobs.size(); ++i)
    writeStages(options, jobs[i], *kernels[i], stages);
  for (size_t i = 0; i < jobs.size(); ++i)
    std::fputs(
        language::renderRemarks(jobs[i].request, kernels[i]->remarks).c_str(),
        stderr);
  return 0;
}

} // namespace

Command addCompile(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *verb = app.add_subcommand(
      "compile", "Compile kernels of a file and write their stages");
  verb->add_option("file", options->file, "kernel file (.py, .cu)");
  verb->add_option("--request", options->request,
                   "compile the request that a crash report kept (.json)");
  verb->add_flag("--list", options->list,
                 "list the file's kernels and instances, compile nothing");
  verb->add_flag("--json", options->json,
                 "with --list: every parameter, configuration and instance as "
                 "JSON");
  addJobOptions(*verb, *options);
  verb->add_option("--target", options->target,
                   "sm_80, sm_90 ... or cpu:MCPU:FEATURES; default: this "
                   "machine, for CUDA C++ sm_80");
  verb->add_option(
          "--emit", options->emit,
          "what to write, separated by commas; CPU: tile, loops, llvm, asm, "
          "so; "
          "GPU: tile, layout, llvm, ptx, cubin, sass, report, header; meta, "
          "all; "
          "default: the code and meta; pattern prints the kernels of a pattern")
      ->check(notEmpty());
  addOut(*verb, options->folder, "folder to write to")->capture_default_str();
  verb->footer(
      "Examples:\n"
      "  tessera compile kernels/nsa/window_fwd.py --list\n"
      "  tessera compile kernels/nsa/window_fwd.py -i window_fwd_d64_f32 "
      "--emit all -o out\n"
      "  tessera compile add.py -k add -s \"x=*fp32:16, y=*fp32:16, n=i32\" "
      "-D BLOCK=1024\n"
      "  tessera compile kernels/nsa/select_fwd.py -i select_fwd_paper_bf16 "
      "--target sm_80 \\\n      --emit all -o out\n"
      "  tessera compile add.py -k add -s \"*fp32:16, *fp32:16, i32, 1024\" "
      "--target sm_90 \\\n      --num-warps 8 --emit ptx,report\n"
      "  tessera compile kernels/patterns/sink_window.py --emit pattern\n"
      "  tessera compile kernels/cuda/attention.cu --kernel window_fwd "
      "--target "
      "sm_80 -o out\n\n"
      "Types: *bf16 is a pointer, i32 an integer; :16 says divisible by 16.\n"
      "PTX and SASS are written with the kernel's lines in between. Dots that "
      "miss the\ntensor cores are remarks on stderr, with the reason. Without "
      "ptxas\n(TESSERA_PTXAS, PATH, CUDA_HOME, the triton wheel) there is PTX "
      "and no cubin.\ntessera report reads PTX of any compiler, tessera diff "
      "compares two outputs.");
  return {verb, [options] { return run(*options); }};
}

} // namespace tessera::tools
