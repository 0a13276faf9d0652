// tools/commands/Diff.cpp - tessera diff A B: compares two compiled kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"

#include "ptx/ResourceReport.h"
#include "runtime/launch/FindFile.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Json.h"
#include "support/Names.h"
#include "support/Process.h"
#include "support/ScratchFolder.h"
#include "tools/diff/Assembly.h"
#include "tools/diff/LineDiff.h"
#include "tools/diff/Resources.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;

struct DiffOptions {
  std::string left, right, instance, target;
  std::vector<std::string> a, b, settings;
  bool full = false, summary = false;
  size_t context = 2;
};

struct Stage {
  const char *title;
  const char *ending; // file ending of `tessera compile --emit all`
  const char *dumped; // by TESSERA_DUMP
};
constexpr Stage stages[] = {{"tile IR", ".tile.mlir", "01-tile.mlir"},
                            {"loops", ".loops.mlir", "02-loops.mlir"},
                            {"layouts", ".layout.mlir", "02-layout.mlir"},
                            {"LLVM IR", ".ll", "03-llvm.ll"},
                            {"assembly", ".s", "04-asm.s"},
                            {"PTX", ".ptx", "06-kernel.ptx"}};
constexpr size_t linesOfAStage = 40;

// One compiled kernel.
struct Compiled {
  std::string title;
  std::map<std::string, std::string> texts; // by the stage's title
  Json meta;
  Json report; // of a GPU kernel; else null
  // The kernel of a CUDA C++ file, whose code also contains the file's other
  // kernels; otherwise empty.
  std::string entry;
};

// Makes the report of kernel `entry`, or of the first kernel if `entry` is
// empty.
Json reportOfPtx(const std::string &ptx, const std::string &entry) {
  ptx::ReportInput input;
  input.ptx = ptx;
  Json report = ptx::makeReport(input, entry);
  report.erase("shared"); // PTX does not have the dynamic part
  return report;
}

Compiled readFiles(const std::string &title, const fs::path &folder,
                   const std::string &name) {
  Compiled result;
  result.title = title;
  if (!name.empty())
    if (const auto text = tryReadFile(folder / (name + ".report.json")))
      result.report = parseJson(*text, name + ".report.json");
  // The report of CUDA C++ has another format, and a dump does not have a
  // report.
  const bool own = result.report.is_object() && result.report.contains("ptx");
  if (!own && result.report.is_object())
    result.entry = memberOr<std::string>(result.report, "symbol", "", name);
  for (const Stage &stage : stages) {
    auto text = tryReadFile(name.empty() ? folder / stage.dumped
                                         : folder / (name + stage.ending));
    if (!text)
      continue;
    if (std::string_view(stage.title) == "PTX") {
      if (!own)
        result.report = reportOfPtx(*text, result.entry);
      text = ptxCode(*text, result.entry);
    }
    result.texts[stage.title] = *text;
  }
  if (!own && !result.texts.count("PTX"))
    result.report = {};
  const fs::path meta =
      name.empty() ? folder / "05-report.json" : folder / (name + ".json");
  if (const auto text = tryReadFile(meta))
    result.meta = parseJson(*text, meta.string());
  if (result.texts.empty())
    throw Error(folder.string() + " holds no stages of " +
                    (name.empty() ? "a dump" : name),
                "write them with tessera compile --emit all -o " +
                    folder.string());
  return result;
}

// Returns the kernels of a folder: the names that `tessera compile` wrote, or
// "" for a dump.
std::vector<std::string> namesIn(const fs::path &folder) {
  std::set<std::string> names;
  for (const auto &entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (file == "01-tile.mlir")
      return {""};
    for (const Stage &stage : stages)
      if (file.ends_with(stage.ending) && file.size() > 2)
        names.insert(
            file.substr(0, file.size() - std::string(stage.ending).size()));
  }
  if (names.empty())
    throw Error(folder.string() + " holds no stages of a kernel",
                "write them with tessera compile FILE --emit all -o " +
                    folder.string() + ", or TESSERA_DUMP");
  return {names.begin(), names.end()};
}

bool isCuda(const std::string &file) { return file.ends_with(".cu"); }

// Compiles with `tessera compile`, so that its options have the same meaning
// here.
Compiled compileOne(const DiffOptions &options, const std::string &file,
                    const std::string &instance,
                    const std::vector<std::string> &defines) {
  const ScratchFolder scratch("diff");
  std::vector<std::string> command = {executablePath().string(),
                                      "compile",
                                      file,
                                      isCuda(file) ? "--kernel" : "--instance",
                                      instance,
                                      "--emit",
                                      "all",
                                      "-o",
                                      scratch.path().string()};
  std::string title = instance, ownTarget = options.target;
  for (const std::string &setting : options.settings)
    command.insert(command.end(), {"--set", setting});
  for (const std::string &define : defines) {
    if (define.starts_with("target="))
      ownTarget = define.substr(7);
    else if (define.starts_with("num_warps="))
      command.insert(command.end(), {"--num-warps", define.substr(10)});
    else if (define.starts_with("num_stages="))
      command.insert(command.end(), {"--num-stages", define.substr(11)});
    else
      command.insert(command.end(), {"-D", define});
    title += " " + define;
  }
  if (!ownTarget.empty())
    command.insert(command.end(), {"--target", ownTarget});
  const CommandResult done = runCommand(command, std::chrono::minutes(10));
  if (!done.status.ok()) {
    std::string text = done.errors;
    if (const std::string start = "tessera: error: "; text.starts_with(start))
      text = text.substr(start.size());
    const size_t hint = text.find("\nHINT: ");
    if (hint == std::string::npos)
      throw Error(text.empty() ? done.status.text() : text,
                  "see tessera diff --help");
    throw Error(text.substr(0, hint),
                text.substr(hint + 7, text.find('\n', hint + 7) - hint - 7));
  }
  return readFiles(title, scratch.path(), instance);
}

using Pair = std::pair<Compiled, Compiled>;

// Splits "FILE.py:instance" or "FILE.cu:kernel".
std::optional<std::pair<std::string, std::string>>
fileAndInstance(const std::string &text) {
  for (const char *ending : {".py:", ".cu:"})
    if (const size_t at = text.rfind(ending); at != std::string::npos)
      return std::pair(text.substr(0, at + 3), text.substr(at + 4));
  return std::nullopt;
}

// The error for a file whose instance the command line does not name.
Error whichInstance(const std::string &file) {
  const bool cuda = isCuda(file);
  return Error(std::string("which ") + (cuda ? "kernel" : "instance") + " of " +
                   file + "?",
               std::string("write -i NAME, or ") +
                   (cuda ? "FILE.cu" : "FILE.py") + ":NAME; tessera compile " +
                   file + " --list names them");
}

// Throws Error unless both are folders. The error names the side that is wrong.
void requireFolders(const DiffOptions &options) {
  const std::vector<std::string> sides = {options.left, options.right};
  const char *hint = "give two folders that tessera compile --emit all wrote, "
                     "or two instances: FILE.py:NAME or FILE.cu:NAME";
  const auto isSource = [](const std::string &side) {
    return !fs::is_directory(side) &&
           (side.ends_with(".py") || side.ends_with(".cu"));
  };
  for (const std::string &side : sides) {
    if (const auto named = fileAndInstance(side))
      runtime::findTypedFile(named->first); // throws for a missing file
    else if (isSource(side))
      runtime::findTypedFile(side);
    else if (!fs::exists(side))
      throw Error("no file or folder " + side, hint);
  }
  for (const std::string &side : sides)
    if (isSource(side))
      throw whichInstance(side);
  for (const std::string &side : sides)
    if (!fs::is_directory(side))
      throw Error(fileAndInstance(side)
                      ? side + " is an instance, and the other side is a folder"
                      : side + " is neither a folder nor FILE.py:INSTANCE or "
                               "FILE.cu:KERNEL",
                  hint);
}

std::vector<Pair> pairsOf(const DiffOptions &options) {
  if (options.right.empty()) {
    if (options.a.empty() && options.b.empty())
      throw Error("there is nothing to compare " + options.left + " with",
                  "name a second one, or two sets of constexprs: --a BM=32 --b "
                  "BM=64");
    auto named = fileAndInstance(options.left);
    if (!named)
      named = std::pair(options.left, options.instance);
    if (named->second.empty())
      throw whichInstance(options.left);
    return {{compileOne(options, named->first, named->second, options.a),
             compileOne(options, named->first, named->second, options.b)}};
  }
  const auto one = fileAndInstance(options.left),
             other = fileAndInstance(options.right);
  if (one && other)
    return {{compileOne(options, one->first, one->second, options.a),
             compileOne(options, other->first, other->second, options.b)}};
  requireFolders(options);
  const auto left = namesIn(options.left), right = namesIn(options.right);
  if (left.size() == 1 && right.size() == 1)
    return {{readFiles(options.left, options.left, left[0]),
             readFiles(options.right, options.right, right[0])}};
  std::vector<Pair> pairs;
  for (const std::string &name : left)
    if (std::find(right.begin(), right.end(), name) != right.end())
      pairs.emplace_back(
          readFiles(options.left + "/" + name, options.left, name),
          readFiles(options.right + "/" + name, options.right, name));
    else
      std::printf("only in %s: %s\n", options.left.c_str(), name.c_str());
  for (const std::string &name : right)
    if (std::find(left.begin(), left.end(), name) == left.end())
      std::printf("only in %s: %s\n", options.right.c_str(), name.c_str());
  if (pairs.empty())
    throw Error(options.left + " and " + options.right +
                    " have no kernel in common",
                "compile the same instances into both");
  return pairs;
}

void printRow(const std::string &name, int64_t a, int64_t b) {
  std::fputs(compareRow(name, a, b).c_str(), stdout);
}

// Prints the columns A and B. Returns false if the code is the same.
bool printSummary(const Compiled &a, const Compiled &b) {
  const auto number = [](const Compiled &side, const char *key) {
    return side.meta.is_object() ? side.meta.value(key, int64_t(-1))
                                 : int64_t(-1);
  };
  const auto text = [](const Compiled &side, const char *key) {
    return side.meta.is_object() ? side.meta.value(key, std::string())
                                 : std::string();
  };
  std::printf("A: %s\nB: %s\n", a.title.c_str(), b.title.c_str());
  const std::string hash = text(a, "code_sha256");
  // Without ptxas the machine code of both is empty, so equal hashes prove
  // nothing.
  if (!hash.empty() && hash == text(b, "code_sha256") && a.entry == b.entry &&
      number(a, "code_bytes") > 0) {
    std::printf("byte-identical: both are the same %lld bytes of code\n",
                static_cast<long long>(number(a, "code_bytes")));
    return false;
  }
  std::printf("  %-28s %12s %12s\n", "", "A", "B");
  if (number(a, "code_bytes") >= 0 && number(b, "code_bytes") >= 0)
    printRow(a.entry.empty() ? "code, bytes" : "code of the file, bytes",
             number(a, "code_bytes"), number(b, "code_bytes"));
  if (number(a, "scratch_bytes") > 0 || number(b, "scratch_bytes") > 0)
    printRow("scratch a thread, bytes", number(a, "scratch_bytes"),
             number(b, "scratch_bytes"));
  if (a.texts.count("assembly") && b.texts.count("assembly")) {
    auto left = countInstructions(a.texts.at("assembly")),
         right = countInstructions(b.texts.at("assembly"));
    int64_t all[2] = {};
    for (const std::string &name : instructionClasses()) {
      all[0] += left[name];
      all[1] += right[name];
    }
    printRow("instructions", all[0], all[1]);
    for (const std::string &name : instructionClasses())
      if (left[name] || right[name])
        printRow("  " + name, left[name], right[name]);
  }
  if (a.report.is_object() && b.report.is_object())
    std::fputs(compareReports(a.report, b.report).c_str(), stdout);
  return true;
}

// Returns the operations whose counts differ: "scf.for 3 -> 4, tile.load 5 ->
// 7".
std::string changedOperations(std::map<std::string, int64_t> left,
                              std::map<std::string, int64_t> right) {
  std::set<std::string> names;
  for (const auto *side : {&left, &right})
    for (const auto &[name, count] : *side)
      names.insert(name);
  std::string text;
  for (const std::string &name : names)
    if (left[name] != right[name])
      text += (text.empty() ? "" : ", ") + name + " " +
              std::to_string(left[name]) + " -> " + std::to_string(right[name]);
  return text;
}

void printStages(const DiffOptions &options, const Compiled &a,
                 const Compiled &b) {
  for (const Stage &stage : stages) {
    const auto left = a.texts.find(stage.title),
               right = b.texts.find(stage.title);
    if (left == a.texts.end() || right == b.texts.end())
      continue;
    const bool ptx = std::string_view(stage.title) == "PTX";
    const LineDiff diff =
        diffLines(left->second, right->second,
                  ptx ? Registers::Numbered : Registers::Named);
    std::printf("\n%s: ", stage.title);
    if (diff.same()) {
      std::printf("the same%s\n", left->second == right->second
                                      ? ""
                                      : " but for numbered names");
      continue;
    }
    std::printf("%zu lines of A, %zu of B\n", diff.removed, diff.added);
    const auto count = ptx ? countPtx : countOperations;
    if (ptx || std::string_view(stage.ending).ends_with(".mlir"))
      if (const std::string changed =
              changedOperations(count(left->second), count(right->second));
          !changed.empty())
        std::printf("  %s\n", changed.c_str());
    if (!options.summary)
      std::fputs(
          renderDiff(diff, options.context, options.full ? 0 : linesOfAStage)
              .c_str(),
          stdout);
  }
}

int run(const DiffOptions &options) {
  bool first = true;
  for (const auto &[a, b] : pairsOf(options)) {
    if (!first)
      std::printf("\n");
    first = false;
    if (printSummary(a, b))
      printStages(options, a, b);
  }
  return 0;
}

} // namespace

Command addDiff(CLI::App &app) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App *verb = app.add_subcommand(
      "diff", "Compare the code of two compiled configurations");
  verb->add_option("A", options->left,
                   "folder of stages, FILE.py:INSTANCE, FILE.cu:KERNEL, or the "
                   "file alone")
      ->required();
  verb->add_option("B", options->right, "the same; without it, --a and --b");
  verb->add_option("-i,--instance", options->instance,
                   "instance of FILE.py, or kernel of FILE.cu, to compile "
                   "twice");
  for (auto [name, list, what] :
       {std::tuple("--a", &options->a,
                   "constexpr of A: BM=32; also num_warps=8, num_stages=3, "
                   "target=sm_90"),
        std::tuple("--b", &options->b, "constexpr of B: BM=64, likewise")})
    verb->add_option(name, *list, what)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_option("--set", options->settings,
                   "KEY=VALUE of a training run, for the kernels of a pattern "
                   "that selects blocks: model.n_heads=8")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_option("--target", options->target,
                   "sm_80 and the like, or cpu:MCPU:FEATURES; default: this "
                   "machine, for FILE.cu sm_80");
  verb->add_flag("--full", options->full, "all changed lines of every stage");
  verb->add_flag("--summary", options->summary, "counts only");
  verb->add_option("--context", options->context, "unchanged lines around")
      ->capture_default_str();
  verb->footer(
      "Examples:\n"
      "  tessera diff kernels/nsa/window_fwd.py -i window_fwd_d64_f32 "
      "--a BM=32 "
      "--b BM=64\n"
      "  tessera diff a.py:mine_f32 a.py:mine_bf16 --summary\n"
      "  tessera diff kernels/nsa/select_fwd.py -i "
      "select_fwd_paper_bf16 --target sm_80 \\\n      --a num_stages=2 "
      "--b num_stages=3 --summary\n"
      "  tessera diff kernels/nsa/select_fwd.py -i "
      "select_fwd_paper_bf16 \\\n      --a target=sm_80 --b target=sm_90 "
      "--summary\n"
      "  tessera diff kernels/cuda/gate.cu:gate_fwd --a target=sm_80 "
      "--b target=sm_90\n"
      "  tessera diff out-before out-after\n\n"
      "Lines that differ in numbered names (%12, .LBB0_3) only count "
      "as equal.\nGPU kernels: registers, spills, shared memory, blocks on "
      "an SM and each loop by\nclass of instruction, from the report; "
      "of SASS where there is ptxas. A loop is shown\nnext to the one that is "
      "most like it: "
      "the loop with the most tensor instructions\nnext to the other side's.");
  return {verb, [options] { return run(*options); }};
}

} // namespace tessera::tools
