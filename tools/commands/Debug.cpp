// tools/commands/Debug.cpp - tessera debug FILE|CASE --line N: prints the
// registers and tiles of one program at a line.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/Debug.h"
#include "tools/commands/Command.h"

#include "dialect/layout/Parse.h"
#include "simulator/Watch.h"
#include "support/Error.h"
#include "support/Names.h"
#include "support/Text.h"
#include "tools/sim/Registers.h"
#include "tools/sim/TimedRun.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <sstream>

namespace tessera::tools {
namespace {

// Longer tables are not readable; --json has all rows.
constexpr size_t mostColumns = 64;

uint32_t number(const std::string &text, const std::string &what,
                const std::string &hint) {
  const auto value = numberFromText<uint32_t>(text);
  if (!value || *value == 0)
    throw Error(what + " `" + text + "`", hint);
  return *value;
}

// Results of a line: the requested execution by instruction and warp, and the
// number of executions.
struct Seen {
  std::map<uint32_t, std::map<uint32_t, sim::WatchStep>> steps;
  std::map<uint32_t, std::map<uint32_t, uint64_t>> counts;
};

void setLine(const DebugOptions &options, sim::Watch &watch) {
  if (options.line.empty() == (options.ptxLine == 0))
    throw Error("say where to break", "--line 42, --line helper.py:7 for a "
                                      "function of another file, or "
                                      "--ptx-line 310");
  watch.ptxLine = options.ptxLine;
  if (options.line.empty())
    return;
  const size_t colon = options.line.rfind(':');
  if (colon != std::string::npos)
    watch.file = options.line.substr(0, colon);
  watch.line =
      number(colon == std::string::npos ? options.line
                                        : options.line.substr(colon + 1),
             "no line number in", "write --line 42 or --line helper.py:7");
}

// Returns the steps of one warp to show, in the order of the instructions.
// Named registers are shown after the last step only.
std::vector<const sim::WatchStep *> stepsOf(const DebugOptions &options,
                                            const Seen &seen, uint32_t warp) {
  std::vector<const sim::WatchStep *> steps;
  for (const auto &[instruction, byWarp] : seen.steps)
    if (const auto found = byWarp.find(warp); found != byWarp.end())
      steps.push_back(&found->second);
  if (!options.registers.empty() && steps.size() > 1)
    steps.erase(steps.begin(), steps.end() - 1);
  return steps;
}

std::vector<Column> columnsOf(const DebugOptions &options, const Seen &seen,
                              uint32_t warp) {
  std::vector<Column> columns;
  for (const sim::WatchStep *step : stepsOf(options, seen, warp))
    for (const sim::RegisterValue &value : step->registers) {
      Column column;
      column.title = value.name;
      for (const Column &other : columns)
        if (other.value.name == value.name)
          column.title = value.name + "@" + std::to_string(step->ptxLine);
      column.type = options.as.empty() || value.bits == 1
                        ? typeOf(value)
                        : elementType(options.as);
      column.value = value;
      column.lanes = step->lanes;
      columns.push_back(std::move(column));
    }
  return columns;
}

// Returns the text of the line, if a case contains the kernel's source.
std::string sourceText(const OpenedLaunch &opened, const sim::Watch &watch) {
  if (!opened.recorded || !watch.line || !watch.file.empty())
    return "";
  std::istringstream text(opened.recorded->kernelText);
  std::string line;
  for (uint32_t k = 0; k < watch.line; ++k)
    if (!std::getline(text, line))
      return "";
  return line;
}

void printText(const DebugOptions &options, const OpenedLaunch &opened,
               const sim::Watch &watch, const Seen &seen, uint32_t warp) {
  std::printf("%s, block (%u, %u, %u)\n", opened.launch->kernel.c_str(),
              watch.block[0], watch.block[1], watch.block[2]);
  if (const std::string text = sourceText(opened, watch); !text.empty())
    std::printf("%u | %s\n", watch.line, text.c_str());
  for (const sim::WatchStep *step : stepsOf(options, seen, warp)) {
    const std::map<uint32_t, uint64_t> &byWarp =
        seen.counts.at(step->instruction);
    uint64_t total = 0;
    for (const auto &[w, count] : byWarp)
      total += count;
    std::printf("PTX line %u: %s  [%s of %llu in warp %u, %llu in %zu warps]\n",
                step->ptxLine, step->text.c_str(),
                ordinal(step->execution).c_str(),
                static_cast<unsigned long long>(byWarp.at(warp)), warp,
                static_cast<unsigned long long>(total), byWarp.size());
  }
}

Json toJson(const DebugOptions &options, const OpenedLaunch &opened,
            const sim::Watch &watch, const Seen &seen) {
  Json instructions = Json::array();
  for (const auto &[instruction, byWarp] : seen.counts) {
    Json counts = Json::object(), warps = Json::array();
    for (const auto &[warp, count] : byWarp)
      counts[std::to_string(warp)] = count;
    const sim::WatchStep *any = nullptr;
    const auto steps = seen.steps.find(instruction);
    if (steps == seen.steps.end())
      continue;
    for (const auto &[warp, step] : steps->second) {
      any = &step;
      Json registers = Json::array();
      for (const sim::RegisterValue &value : step.registers) {
        const ElementType type = options.as.empty() || value.bits == 1
                                     ? typeOf(value)
                                     : elementType(options.as);
        Json lanes = Json::array(), unset = Json::array();
        for (unsigned lane = 0; lane < 32; ++lane) {
          if (!((step.lanes >> lane) & 1)) {
            lanes.push_back(nullptr);
            continue;
          }
          if (value.uninitialized >> lane & 1)
            unset.push_back(lane);
          if (type.count == 1)
            lanes.push_back(elementJson(type, value, lane, 0));
          else
            lanes.push_back({elementJson(type, value, lane, 0),
                             elementJson(type, value, lane, 1)});
        }
        registers.push_back({{"name", value.name},
                             {"type", type.name},
                             {"lanes", lanes},
                             {"uninitialized", unset}});
      }
      warps.push_back({{"warp", warp},
                       {"execution", step.execution},
                       {"registers", registers}});
    }
    instructions.push_back({{"ptx_line", any->ptxLine},
                            {"instruction", any->text},
                            {"source", any->source},
                            {"executions", counts},
                            {"warps", warps}});
  }
  return {{"kernel", opened.launch->kernel},
          {"block", watch.block},
          {"instructions", instructions}};
}

// Prints the tile that the registers of all warps form.
void tile(const DebugOptions &options, const Seen &seen, uint32_t warps,
          Json *json) {
  const std::vector<int64_t> shape = layout::parseSizes(options.tile, "--tile");
  std::vector<std::vector<Column>> columns;
  unsigned bits = 32;
  for (uint32_t w = 0; w < warps; ++w) {
    columns.push_back(columnsOf(options, seen, w));
    for (const Column &column : columns.back())
      bits = column.type.count == 2 ? 16 : std::max(16u, column.value.bits);
  }
  const layout::LinearLayout map =
      layout::parseLayout(options.layout, shape, static_cast<int>(bits));
  if (map.hasIn(layout::Dim::Offset))
    throw Error("the layout " + options.layout + " is of shared memory",
                "tiles in registers: blocked(), mma(), dot_a(), dot_b()");
  const std::vector<std::string> cells = assembleTile(columns, map, shape);
  if (!json) {
    std::printf("\n%s", tileTable(cells, shape, options.width).c_str());
    return;
  }
  (*json)["tile"] = {{"shape", shape}, {"elements", cells}};
}

int run(const DebugOptions &options) {
  if (options.tile.empty() != options.layout.empty())
    throw Error("--tile and --layout go together",
                "--tile 64x64 --layout \"mma(warps=4x1)\"; tessera layout "
                "--help lists layouts");
  sim::Watch watch;
  setLine(options, watch);
  watch.block = dimensions(options.program, "--program");
  if (options.program.find(',') == std::string::npos)
    watch.block = {watch.block[0], 0, 0};
  else if (options.program.find(',') == options.program.rfind(','))
    watch.block[2] = 0;
  watch.registers = options.registers;
  watch.alone = !options.others;
  const bool last = options.hit == "last";
  const uint64_t hit =
      last ? 0 : number(options.hit, "no execution", "--hit 3, or --hit last");
  if (!options.values.empty())
    return debugValues(options, watch,
                       last ? std::nullopt : std::optional(hit));
  if (!options.as.empty())
    elementType(options.as);
  const std::unique_ptr<OpenedLaunch> opened = openLaunch(options.launch);
  const sim::Dim3 &b = opened->launch->block;
  const auto warps =
      static_cast<uint32_t>((uint64_t{b[0]} * b[1] * b[2] + 31) / 32);
  if (options.warp && *options.warp >= warps)
    throw Error("no warp " + std::to_string(*options.warp),
                "the block has " + std::to_string(warps));
  Seen seen;
  watch.step = [&](const sim::WatchStep &step) {
    seen.counts[step.instruction][step.warp] = step.execution;
    if (last || step.execution == hit)
      seen.steps[step.instruction][step.warp] = step;
  };
  sim::Options simOptions;
  simOptions.serial = true;
  simOptions.counters = false;
  simOptions.watch = &watch;
  const TimedReport report =
      runWithin(*opened->launch, simOptions, options.launch.timeout);
  printFindings(report);
  if (seen.steps.empty()) {
    uint64_t most = 0;
    for (const auto &[instruction, byWarp] : seen.counts)
      for (const auto &[warp, count] : byWarp)
        most = std::max(most, count);
    throw Error(most
                    ? "no instruction of the line ran " + options.hit + " times"
                    : "this block never comes to the line",
                most ? "--hit is at most " + std::to_string(most)
                     : "try another --program, or a line that --help of "
                       "analyze shows: tessera analyze counts every line");
  }
  // The first warp that executed the line, unless the user names one.
  const uint32_t warp =
      options.warp.value_or(seen.steps.begin()->second.begin()->first);
  if (options.json) {
    Json json = toJson(options, *opened, watch, seen);
    if (!options.tile.empty())
      tile(options, seen, warps, &json);
    std::printf("%s\n", json.dump(2).c_str());
    return report.ok() ? 0 : 1;
  }
  printText(options, *opened, watch, seen, warp);
  if (!options.tile.empty()) {
    tile(options, seen, warps, nullptr);
    return report.ok() ? 0 : 1;
  }
  std::vector<Column> columns = columnsOf(options, seen, warp);
  const size_t all = columns.size();
  columns.resize(std::min(all, mostColumns));
  if (columns.empty())
    std::printf("\nthe line writes no register: name some with --registers\n");
  else
    std::printf("\n%s", laneTable(columns, options.width).c_str());
  if (all > columns.size())
    std::printf("%zu more registers: choose with --registers, or --json\n",
                all - columns.size());
  return report.ok() ? 0 : 1;
}

} // namespace

std::string ordinal(uint64_t n) {
  const uint64_t two = n % 100, one = n % 10;
  const bool teen = two >= 11 && two <= 13;
  return std::to_string(n) + (teen       ? "th"
                              : one == 1 ? "st"
                              : one == 2 ? "nd"
                              : one == 3 ? "rd"
                                         : "th");
}

Command addDebug(CLI::App &app) {
  auto options = std::make_shared<DebugOptions>();
  CLI::App *verb = app.add_subcommand(
      "debug", "Break at a line of one program on the simulator; print values");
  verb->footer(
      std::string(
          "Examples:\n"
          "  tessera debug tests/replay/softmax --ptx softmax.ptx --line 14 "
          "--program 3\n"
          "  tessera debug case --line 31 --value scores --value \"tl.max(m)\" "
          "--hit last\n"
          "  tessera debug case --line 31 --hit 2 --warp 1 --registers "
          "%f1,%f2\n"
          "  tessera debug case --line 33 --tile 64x64 --layout "
          "\"mma(warps=4x1)\" --as fp32\n"
          "  tessera debug vadd.ptx --ptx-line 40 --arg 'fp32[4096]' ...\n\n"
          "--value compiles the kernel again with a print after the line and "
          "shows tiles as\ntables. Without it: PTX as it is. Prints, after the "
          "instructions of a source line (also those inlined "
          "into it), the\nregisters that they wrote: a row for each lane. '.' "
          "means that the lane did not\nexecute, '?' that the value is "
          "uninitialized. With --tile the registers of all\nwarps become a "
          "tile "
          "of a layout (tessera layout --help).\n\n") +
      launchHelp);
  addLaunchOptions(*verb, options->launch);
  verb->add_option("--line", options->line,
                   "Source line: 42, or helper.py:7 in another file");
  verb->add_option(
          "--value", options->values,
          "A name or an expression of the kernel, with its value after "
          "--line; more than one")
      ->allow_extra_args(false);
  verb->add_option("--ptx-line", options->ptxLine, "Line of the PTX text");
  verb->add_option("--program", options->program, "Block: x[,y[,z]]")
      ->capture_default_str();
  verb->add_option("--warp", options->warp,
                   "Warp of the table; else the first that comes there");
  verb->add_option("--hit", options->hit,
                   "Which execution of an instruction by a warp: 1 on, or last")
      ->capture_default_str();
  verb->add_option("--registers", options->registers,
                   "Which, instead of those that the line writes")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->add_option("--as", options->as,
                   "Type of the values: fp32, fp16x2, bf16x2, i32, hex ...; "
                   "else what the instructions say");
  verb->add_option("--tile", options->tile, "Shape of a tile: 64x64");
  verb->add_option("--layout", options->layout, "Which register holds what");
  verb->add_option("--target", options->launch.target,
                   "What a case without PTX is compiled for")
      ->capture_default_str();
  verb->add_flag("--others", options->others,
                 "Run all blocks in order, not only this one");
  verb->add_option("--width", options->width, "Of the terminal")
      ->capture_default_str();
  verb->add_flag("--json", options->json, "Print JSON, all warps");
  return {verb, [options] {
            try {
              return run(*options);
            } catch (const layout::LayoutError &error) {
              throw Error(error.message, error.hint);
            }
          }};
}

} // namespace tessera::tools
