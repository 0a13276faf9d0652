// tools/commands/Analyze.cpp - tessera analyze FILE|CASE: runs a kernel on the
// simulator and prints its counters and estimated cycles.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Command.h"

#include "autotune/model/Devices.h"
#include "runtime/compile/CompileService.h"
#include "simulator/Estimate.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Json.h"
#include "tools/inspect/KernelPage.h"
#include "tools/inspect/Source.h"
#include "tools/sim/LaunchOptions.h"
#include "tools/sim/LineCounters.h"
#include "tools/sim/SassLines.h"
#include "tools/sim/TimedRun.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

struct AnalyzeOptions {
  LaunchOptions launch;
  std::string target = "sm_80", sortedBy = "line";
  bool json = false, serial = false, sass = false, lanesApart = false;
  uint64_t seed = 0;
  int resident = 0; // blocks
};

// Compiles a case's kernel to machine code, with the options of its PTX.
std::vector<SassLine> sassOf(const AnalyzeOptions &options,
                             const OpenedLaunch &opened) {
  if (!opened.recorded || !opened.compiled)
    throw Error("--sass is for the folder of a case whose kernel is compiled "
                "here",
                "tessera report FILE.ptx --sass OUT writes the machine code of "
                "PTX");
  if (!hasMachineCode())
    throw Error("no SASS without ptxas and nvdisasm",
                "leave --sass out, or install the triton wheel (scripts/setup "
                "full)");
  const Configuration compiled = compileForPage(
      opened.recorded->recorded.name,
      cases::simRequest(*opened.recorded, "sim:" + options.launch.target),
      true);
  return sassLines(compiled.kernel->stages.at("sass"));
}

double ratio(uint64_t a, uint64_t b) {
  return b ? static_cast<double>(a) / static_cast<double>(b) : 0;
}

std::map<std::string, LineCounters> byLine(const sim::Counters &c) {
  std::map<std::string, LineCounters> lines;
  for (const sim::InstructionCount &i : c.instructions) {
    if (!i.issues)
      continue;
    lines[i.source.empty() ? "-" : i.source].add(i);
  }
  return lines;
}

Json toJson(const sim::Report &report, const sim::Estimate &e,
            const sim::Device &device, const std::vector<SassLine> &sass) {
  const sim::Counters &c = report.counters;
  Json classes = Json::object(), lines = Json::object(), units = Json::object();
  for (unsigned k = 0; k < sim::NumClasses; ++k)
    if (c.byClass[k])
      classes[sim::className(static_cast<sim::Class>(k))] = c.byClass[k];
  for (const auto &[line, sum] : byLine(c))
    lines[line] = {
        {"warp_instructions", sum.issues},     {"lane_instructions", sum.lanes},
        {"memory_requests", sum.requests},     {"bank_passes", sum.ways},
        {"bank_conflicts", sum.conflicts},     {"copy_passes", sum.copyWays},
        {"copy_conflicts", sum.copyConflicts}, {"sectors", sum.sectors},
        {"tensor_instructions", sum.tensor}};
  for (const auto &[unit, cycles] : e.units)
    units[unit] = cycles;
  // Sums the accesses of each memory class that has accesses.
  std::map<std::string, LineCounters> byClass;
  for (const sim::InstructionCount &i : c.instructions)
    if (i.requests)
      byClass[sim::className(i.kind)].add(i);
  Json memory = Json::object();
  for (const auto &[name, sum] : byClass)
    memory[name] = {{"requests", sum.requests},
                    {"bank_passes", sum.ways},
                    {"bank_conflicts", sum.conflicts},
                    {"sectors", sum.sectors}};
  Json findings = Json::array();
  for (const sim::Finding &f : report.findings)
    findings.push_back(f.text());
  Json code = Json::object();
  for (const SassLine &line : sass)
    code[line.file.empty() ? "-"
                           : line.file + ":" + std::to_string(line.line)] =
        line.code;
  return {{"kernel", report.kernel},
          {"findings", findings},
          {"blocks", c.blocks},
          {"warps", c.warps},
          {"warp_instructions", c.warpInstructions},
          {"lane_instructions", c.laneInstructions},
          {"tensor_instructions", c.tensorInstructions},
          {"classes", classes},
          {"memory", memory},
          {"shared_requests", c.sharedRequests},
          {"shared_passes", c.sharedWays},
          {"bank_conflicts", c.sharedConflicts},
          {"copy_requests", c.copyRequests},
          {"copy_passes", c.copyWays},
          {"copy_conflicts", c.copyConflicts},
          {"global_requests", c.globalRequests},
          {"global_sectors", c.globalSectors},
          {"l2_lines", c.l2Lines},
          {"async_groups_in_flight", c.asyncMaxGroups},
          {"barriers", c.barriers},
          {"shared_bytes", c.sharedBytes},
          {"lines", lines},
          {"sass", code},
          {"estimate",
           {{"device", device.name},
            {"cycles", e.cycles},
            {"microseconds", e.microseconds},
            {"limited_by", e.limit},
            {"blocks_per_sm", e.blocksPerSm},
            {"units", units}}}};
}

using Texts = std::map<std::string, std::vector<std::string>>;

// Returns the available sources: for a case its kernel; for PTX the files in
// the same folder that its source locations name.
Texts textsOf(const AnalyzeOptions &options, const OpenedLaunch &opened,
              const sim::Counters &c) {
  Texts texts;
  if (opened.recorded) {
    const fs::path file = opened.recorded->recorded.kernelFile;
    texts[file.filename()] = linesOf(opened.recorded->kernelText);
    return texts;
  }
  for (const LineRow &row : lineRows(c.instructions, "line")) {
    const fs::path beside =
        fs::path(options.launch.file).parent_path() / row.file;
    std::error_code error;
    if (!row.file.empty() && !texts.count(row.file) &&
        fs::is_regular_file(beside, error))
      texts[row.file] = linesOf(readFile(beside));
  }
  return texts;
}

void print(const sim::Report &report, const sim::Estimate &e,
           const sim::Device &device, const std::string &sortedBy,
           const Texts &texts) {
  const sim::Counters &c = report.counters;
  auto row = [](const char *name, uint64_t value, const std::string &more) {
    std::printf("  %-26s %14llu  %s\n", name,
                static_cast<unsigned long long>(value), more.c_str());
  };
  char text[128];
  std::printf("%s: %llu blocks, %llu warps\n", report.kernel.c_str(),
              static_cast<unsigned long long>(c.blocks),
              static_cast<unsigned long long>(c.warps));
  std::snprintf(text, sizeof(text), "%.1f of 32 lanes at work",
                ratio(c.laneInstructions, c.warpInstructions));
  row("warp instructions", c.warpInstructions, text);
  for (unsigned k = 0; k < sim::NumClasses; ++k)
    if (c.byClass[k])
      row((std::string("  ") + sim::className(static_cast<sim::Class>(k)))
              .c_str(),
          c.byClass[k], "");
  std::snprintf(text, sizeof(text),
                "%.2f passes over the banks each, %llu of them conflicts",
                ratio(c.sharedWays, c.sharedRequests),
                static_cast<unsigned long long>(c.sharedConflicts));
  row("shared-memory requests", c.sharedRequests, text);
  if (c.copyRequests) {
    std::snprintf(text, sizeof(text),
                  "%.2f passes over the banks each, %llu of them conflicts",
                  ratio(c.copyWays, c.copyRequests),
                  static_cast<unsigned long long>(c.copyConflicts));
    row("cp.async to shared memory", c.copyRequests, text);
  }
  std::snprintf(text, sizeof(text), "%.2f sectors of 32 bytes each",
                ratio(c.globalSectors, c.globalRequests));
  row("global-memory requests", c.globalRequests, text);
  row("different 128-byte lines", c.l2Lines, "");
  row("async groups in flight", c.asyncMaxGroups, "at most, in a thread");
  std::printf(
      "\n%s",
      lineCounterTable(lineRows(c.instructions, sortedBy), texts).c_str());
  std::printf("\n%s: at least %.0f cycles, %.1f us, limited by %s; %u blocks "
              "fit an SM, %.0f%% of the SMs are busy\n",
              device.name.c_str(), e.cycles, e.microseconds, e.limit.c_str(),
              e.blocksPerSm, 100 * e.busySms);
  for (const auto &[unit, cycles] : e.units)
    if (cycles >= 0.1 * (e.cycles - device.launchCycles))
      std::printf("  %-26s %14.0f cycles\n", unit.c_str(), cycles);
}

int run(AnalyzeOptions &options) {
  const sim::Device device = tune::findGpu(options.target).rates;
  options.launch.target = device.target;
  const std::unique_ptr<OpenedLaunch> opened = openLaunch(options.launch);
  sim::Options simOptions;
  simOptions.serial = options.serial;
  simOptions.seed = options.seed;
  simOptions.lanesApart = options.lanesApart;
  simOptions.resident = unsigned(options.resident);
  TimedReport report =
      runWithin(*opened->launch, simOptions, options.launch.timeout);
  // A case does not record the amount of shared memory that its kernel
  // requested.
  if (!opened->sharedGiven)
    report.counters.sharedBytes = report.counters.sharedTouched;
  const sim::Estimate e = sim::estimate(report.counters, device);
  const std::vector<SassLine> sass =
      options.sass ? sassOf(options, *opened) : std::vector<SassLine>();
  const Texts texts = textsOf(options, *opened, report.counters);
  if (options.json)
    std::printf("%s\n", toJson(report, e, device, sass).dump(2).c_str());
  else if (report.ok())
    print(report, e, device, options.sortedBy, texts);
  if (options.sass && !options.json)
    std::printf("\nmachine code by line\n\n%s", sassText(sass, texts).c_str());
  if (!report.output.empty())
    std::fprintf(stderr, "%s", report.output.c_str());
  if (!options.json)
    printFindings(report);
  return report.ok() ? 0 : 1;
}

} // namespace

Command addAnalyze(CLI::App &app) {
  auto options = std::make_shared<AnalyzeOptions>();
  CLI::App *verb = app.add_subcommand(
      "analyze",
      "Run PTX on the simulator: checks, counters, a cycle estimate");
  verb->footer(
      std::string(
          "Examples:\n"
          "  tessera analyze tests/replay/softmax\n"
          "  tessera analyze tests/replay/softmax --sort conflicts\n"
          "  tessera analyze tests/replay/softmax --sass\n"
          "  tessera analyze tests/replay/softmax --ptx triton.ptx\n"
          "  tessera analyze vadd.ptx --grid 4 --arg 'fp32[4096]' --arg "
          "'fp32[4096]' \\\n"
          "      --arg 'fp32[4096]' --arg i32=4096\n"
          "  tessera analyze matmul.ptx --grid 8,8 --shared 16384 --json --arg "
          "'fp16[262144]' ...\n\n") +
      launchHelp + "\nThe exit status is 1 when a check fires.");
  addLaunchOptions(*verb, options->launch);
  verb->add_option(
          "--target", options->target,
          "Device of the estimate: sm_80, sm_90, or a GPU such as h200")
      ->capture_default_str();
  verb->add_option("--sort", options->sortedBy,
                   "Rows by line, or the largest first by instructions, "
                   "requests, passes, conflicts, copy-passes, "
                   "copy-conflicts, sectors or tensor")
      ->check(CLI::IsMember(lineColumns()))
      ->capture_default_str();
  verb->add_flag("--sass", options->sass,
                 "The machine code too, by line of the kernel");
  verb->add_flag("--json", options->json, "Print JSON");
  verb->add_option("--seed", options->seed,
                   "Blocks, warps and lanes in a random order, one for each "
                   "seed (0: in order)")
      ->capture_default_str();
  verb->add_flag("--lanes-apart", options->lanesApart,
                 "Lanes of a warp run apart until the ISA makes them meet");
  verb->add_option("--resident", options->resident,
                   "Run so many blocks at once, and find those that wait for "
                   "one another without end (0: each block to its end)")
      ->check(CLI::Range(0, 65536))
      ->capture_default_str();
  verb->add_flag("--serial", options->serial, "Blocks in order, on one core");
  return {verb, [options] { return run(*options); }};
}

} // namespace tessera::tools
