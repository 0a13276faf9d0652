// tools/commands/DebugValue.cpp - tessera debug CASE --line N --value NAME.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Parser.h"
#include "support/Error.h"
#include "support/Json.h"
#include "tools/commands/Debug.h"
#include "tools/sim/NamedValue.h"
#include "tools/sim/Registers.h"
#include "tools/sim/TimedRun.h"

#include <cstdio>
#include <filesystem>
#include <memory>

namespace tessera::tools {

namespace {

// Prints the value of one expression of the kernel: a scalar on one line, a
// tile as a table.
void printValue(const NamedValue &value, size_t width) {
  std::printf("\n%s %s, %s of %llu", value.expression.c_str(),
              value.type.c_str(), ordinal(value.execution).c_str(),
              static_cast<unsigned long long>(value.executions));
  if (value.shape.empty())
    std::printf(": %s\n", value.elements[0].c_str());
  else
    std::printf("\n%s", tileTable(value.elements, value.shape, width).c_str());
}

void checkOptions(const DebugOptions &options, const sim::Watch &watch) {
  if (!options.registers.empty() || !options.tile.empty() || options.warp ||
      !options.as.empty() || options.ptxLine || !options.launch.ptx.empty())
    throw Error("--value knows layout and type by itself",
                "it goes with --line, --program, --hit and --target; leave "
                "out --registers, --tile, --layout, --as, --warp, --ptx and "
                "--ptx-line");
  for (const std::string &text : options.values)
    language::parseExpression(
        std::make_shared<const SourceFile>("--value", text));
  std::error_code error;
  if (!std::filesystem::is_directory(options.launch.file, error))
    throw Error("--value needs the folder of a case, and " +
                    options.launch.file + " is none",
                "PTX has no names: tessera record --help says how a case is "
                "made");
  if (!watch.file.empty())
    throw Error("--value with --line of another file",
                "name a line of the case's kernel file");
}

void show(const DebugOptions &options, const std::string &kernel,
          const sim::Dim3 &block, const std::vector<NamedValue> &values) {
  if (options.json) {
    Json json = {{"kernel", kernel}, {"block", block}};
    for (const NamedValue &value : values)
      json["values"].push_back({{"expression", value.expression},
                                {"type", value.type},
                                {"shape", value.shape},
                                {"execution", value.execution},
                                {"executions", value.executions},
                                {"elements", value.elements}});
    std::printf("%s\n", json.dump(2).c_str());
    return;
  }
  std::printf("%s, block (%u, %u, %u)\n", kernel.c_str(), block[0], block[1],
              block[2]);
  for (const NamedValue &value : values)
    printValue(value, options.width);
}

} // namespace

int debugValues(const DebugOptions &options, const sim::Watch &watch,
                std::optional<uint64_t> hit) {
  checkOptions(options, watch);
  LaunchOptions launch = options.launch;
  launch.edit = [&](cases::LoadedCase &loaded) {
    loaded.kernelText =
        withPrints(loaded.kernelText, (loaded.folder / "kernel.py").string(),
                   watch.line, options.values);
  };
  const std::unique_ptr<OpenedLaunch> opened = openLaunch(launch);
  sim::Options simOptions;
  simOptions.serial = true;
  simOptions.counters = false;
  simOptions.maxOutput = uint64_t{1} << 30;
  const sim::Dim3 &grid = opened->launch->grid, &block = watch.block;
  for (size_t axis = 0; axis < 3; ++axis)
    if (block[axis] >= grid[axis])
      throw Error("no block " + options.program + " in the grid",
                  "it has " + std::to_string(grid[0]) + " x " +
                      std::to_string(grid[1]) + " x " +
                      std::to_string(grid[2]) + " blocks");
  if (!options.others)
    simOptions.blocks = {block[0] +
                         grid[0] * (block[1] + uint64_t{grid[1]} * block[2])};
  const TimedReport report =
      runWithin(*opened->launch, simOptions, options.launch.timeout);
  printFindings(report);
  const std::vector<NamedValue> values =
      printedValues(report.output, options.values, block, hit);
  if (values.empty()) {
    const std::vector<NamedValue> any =
        printedValues(report.output, options.values, block, std::nullopt);
    throw Error(any.empty() ? "this block never comes to the line"
                            : "the line did not run " + options.hit + " times",
                any.empty()
                    ? "try another --program or line"
                    : "--hit is at most " + std::to_string(any[0].executions));
  }
  show(options, opened->launch->kernel, block, values);
  return report.ok() ? 0 : 1;
}

} // namespace tessera::tools
