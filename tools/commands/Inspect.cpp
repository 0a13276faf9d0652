// tools/commands/Inspect.cpp - tessera inspect FILE -i INSTANCE -o page.html:
// writes a page that links a kernel's lines with its IR, PTX and SASS.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"
#include "tools/commands/OutOption.h"

#include "autotune/table/TuneTable.h"
#include "replay/SimLaunch.h"
#include "runtime/launch/FindFile.h"
#include "runtime/launch/KernelName.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/GpuTarget.h"
#include "support/Lists.h"
#include "support/Names.h"
#include "support/Text.h"
#include "tools/compile/SelectedJobs.h"
#include "tools/inspect/Commit.h"
#include "tools/inspect/KernelPage.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;

struct InspectOptions {
  JobOptions jobs;
  std::string out, against, table, commit;
};

// One side of the page. --against defines the other side: another instance,
// other constexprs, another target or another commit.
struct Wanted {
  JobOptions jobs;
  std::string title;  // empty: the instance's name
  std::string commit; // empty: the file as it is
};

int64_t positive(const std::string &text, const std::string &what) {
  const auto value = numberFromText<int64_t>(text);
  if (!value || *value < 1)
    throw Error("--against " + what + "=" + text + " is not a number of " +
                    (what == "num_warps" ? "warps" : "stages"),
                "write " + what + "=4");
  return *value;
}

Wanted parseAgainst(const InspectOptions &options) {
  Wanted other{options.jobs, {}, options.commit};
  bool named = false;
  std::string text = options.against;
  for (char &c : text)
    if (c == ',' || c == '\t')
      c = ' ';
  for (const std::string &word : split(text, ' ')) {
    if (word.empty())
      continue;
    other.title += (other.title.empty() ? "" : " ") + word;
    const auto given = nameAndValueOf(word);
    if (!given) {
      if (std::exchange(named, true))
        throw Error("--against names two instances", "name one");
      other.jobs.instances = {word};
      continue;
    }
    const auto &[name, value] = *given;
    if (name == "num_warps")
      other.jobs.numWarps = positive(value, name);
    else if (name == "num_stages")
      other.jobs.numStages = positive(value, name);
    else if (name == "target")
      other.jobs.target = value;
    else if (name == "commit")
      other.commit = value;
    else
      other.jobs.defines.push_back(word);
  }
  if (other.title.empty())
    throw Error("--against is empty",
                "name another instance of the file, or what is other: "
                "--against \"num_warps=8 BN=32\", --against commit=HEAD~1");
  return other;
}

void needGpu(const std::string &target) {
  if (!GpuTarget::looksLike(target))
    throw Error("inspect pages are for GPU targets, not for `" + target + "`",
                "--target sm_80; tessera compile --emit tile,loops,llvm,asm "
                "writes what a CPU runs");
  GpuTarget::parse(target); // throws
}

Configuration fromFile(const Wanted &wanted, bool machine) {
  const JobOptions &jobs = wanted.jobs;
  needGpu(jobs.target);
  const std::string file = runtime::findTypedFile(jobs.file);
  const auto program = wanted.commit.empty()
                           ? language::Program::loadFile(file)
                           : programOfCommit(file, wanted.commit);
  std::vector<Job> found = makeJobs(jobs, *program);
  if (found.size() > 1)
    throw Error("which instance of " + jobs.file + "?",
                "add -i NAME: " + joined(found, ", ", &Job::name));
  return compileForPage(wanted.title.empty() ? found[0].name : wanted.title,
                        found[0].request, machine);
}

// Compiles for a recorded launch and runs it on the simulator with every check.
Configuration fromCase(const Wanted &wanted, bool machine) {
  const JobOptions &jobs = wanted.jobs;
  needGpu(jobs.target);
  if (!wanted.commit.empty())
    throw Error("a recorded launch keeps its own text of the kernel, which is "
                "of no commit",
                "give the kernel's file and --against commit=" + wanted.commit);
  if (!jobs.kernel.empty() || !jobs.instances.empty() ||
      !jobs.signature.empty() || !jobs.defines.empty())
    throw Error("a recorded launch has one kernel, and its grid is for its "
                "own constexprs",
                "only --num-warps, --num-stages and --target change it");
  const cases::LoadedCase loaded = cases::loadCase(jobs.file);
  const cases::CaseMemory memory = cases::fillMemory(loaded);
  const auto given = [](int64_t number) {
    return number ? std::optional<int64_t>(number) : std::nullopt;
  };
  Configuration result = compileForPage(
      wanted.title.empty() ? loaded.recorded.name : wanted.title,
      cases::simRequest(loaded, "sim:" + jobs.target, given(jobs.numWarps),
                        given(jobs.numStages)),
      machine);
  const sim::Report report =
      cases::simLaunchOf(loaded, memory.arguments, *result.kernel).run({});
  report.throwIfBad();
  result.counters = report.counters;
  return result;
}

// Returns a table's rows for the kernel with pointers of the same types.
Json tunedRows(const std::string &path,
               const language::CompileRequest &request) {
  const tune::TuneTable table = tune::readTable(path);
  const std::string kernel = runtime::kernelName(request.file, request.kernel);
  std::vector<std::string> dtypes;
  std::map<std::string, std::string> constexprs;
  for (const language::Argument &argument : request.args)
    if (argument.kind == language::ArgKind::Pointer)
      dtypes.push_back(argument.type.substr(1, argument.type.find(':') - 1));
    else if (argument.isConstexpr())
      constexprs[argument.name] = argument.value.repr();
  Json rows = Json::array();
  for (const tune::TuneEntry &entry : table.entries()) {
    if (entry.key.kernel != kernel || entry.key.dtypes != dtypes)
      continue;
    std::string note = entry.predicted ? "predicted" : "";
    if (entry.key.textHash != runtime::textHash(request.text))
      note += note.empty() ? "of another text of the kernel"
                           : ", of another text of the kernel";
    rows.push_back({{"key", tune::describe(entry.key)},
                    {"use", tune::describe(entry.use)},
                    {"time_us", entry.timeUs},
                    {"default_us", entry.defaultUs},
                    {"note", note}});
  }
  return {{"device", tune::describe(table.device)}, {"rows", rows}};
}

bool isCase(const InspectOptions &options) {
  std::error_code ignored;
  return fs::is_directory(options.jobs.file, ignored);
}

int writePage(const InspectOptions &options) {
  const auto load = isCase(options) ? fromCase : fromFile;
  std::optional<Wanted> other;
  if (!options.against.empty())
    other = parseAgainst(options);
  const bool machine = hasMachineCode();
  std::vector<Configuration> sides = {
      load({options.jobs, {}, options.commit}, machine)};
  if (other)
    sides.push_back(load(*other, machine));
  const std::string name = sides[0].title;
  const fs::path out =
      options.out.empty() ? fs::path(name + ".html") : fs::path(options.out);
  const std::string page =
      kernelPage(sides, options.table.empty()
                            ? Json()
                            : tunedRows(options.table, sides[0].request));
  writeOutput(out, page);
  std::fprintf(stderr, "tessera: wrote %s, %zu KiB\n", out.c_str(),
               (page.size() + 1023) / 1024);
  return 0;
}

// For a pattern that selects blocks, writes one page per kernel into the folder
// --out.
int run(const InspectOptions &options) {
  if (isCase(options) || !options.jobs.instances.empty() ||
      !options.jobs.kernel.empty() || !options.commit.empty())
    return writePage(options);
  const auto program =
      language::Program::loadFile(runtime::findTypedFile(options.jobs.file));
  if (!selectsBlocks(*program))
    return writePage(options);
  needGpu(options.jobs.target);
  const fs::path folder = options.out.empty() ? "." : options.out;
  fs::create_directories(folder);
  for (const Job &job : selectedJobs(options.jobs, *program)) {
    InspectOptions one = options;
    one.jobs.instances = {job.name};
    one.out = (folder / (job.name + ".html")).string();
    writePage(one);
  }
  return 0;
}

} // namespace

Command addInspect(CLI::App &app) {
  auto options = std::make_shared<InspectOptions>();
  options->jobs.target = "sm_80";
  CLI::App *verb = app.add_subcommand(
      "inspect",
      "Write a page: a kernel's lines next to tile IR, layout IR, PTX "
      "and SASS, linked");
  verb->add_option("file", options->jobs.file,
                   "kernel file (.py), or the folder of a recorded case, which "
                   "also runs on the simulator")
      ->required();
  addJobOptions(*verb, options->jobs);
  verb->add_option("--target", options->jobs.target,
                   "sm_80, sm_86, sm_89, sm_90")
      ->capture_default_str();
  verb->add_option(
      "--against", options->against,
      "a second configuration to compare with the first: an instance of "
      "the file, what is other, or commit=REVISION, the kernel "
      "as git has it there");
  verb->add_option("--commit", options->commit,
                   "the file, and what it imports, as git has them in this "
                   "commit");
  verb->add_option("--table", options->table,
                   "table of tuned configurations whose rows are shown");
  addOut(*verb, options->out,
         "the page (INSTANCE.html); of a pattern that selects blocks without "
         "-i a folder, which gets a page for each kernel");
  verb->footer(
      "Examples:\n"
      "  tessera inspect kernels/nsa/select_fwd.py -i select_fwd_paper_bf16 -o "
      "page.html\n"
      "  tessera inspect kernels/tutorials/matmul.py -i matmul_f16 --against "
      "\"num_warps=8 BN=32\"\n"
      "  tessera inspect kernels/tutorials/matmul.py -i matmul_f16 --against "
      "commit=HEAD~1\n"
      "  tessera inspect tests/replay/softmax --target sm_90 -o "
      "softmax.html\n\n"
      "The page is one file and loads nothing. Of a recorded case (docs/"
      "cases.md) it shows\nwhat the simulator counted: executed instructions, "
      "sectors, bank conflicts. docs/inspect.md");
  return {verb, [options] { return run(*options); }};
}

} // namespace tessera::tools
