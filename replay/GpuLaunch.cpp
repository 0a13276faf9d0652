// replay/GpuLaunch.cpp - compiles a launch for a simulated GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/GpuLaunch.h"

#include "language/CudaSource.h"
#include "language/Request.h"
#include "runtime/compile/CompileTogether.h"
#include "runtime/device/gpu/GpuArguments.h"
#include "runtime/device/gpu/HostRanges.h"
#include "runtime/launch/LaunchDevice.h"
#include "support/Error.h"
#include "support/GpuTarget.h"
#include "support/Json.h"

namespace tessera::cases {

namespace {

// Returns a number of a report; 0 if the report lacks it.
uint32_t numberOf(const Json &report, const char *name) {
  const auto found = report.find(name);
  return found != report.end() && found->is_number_unsigned()
             ? found->get<uint32_t>()
             : 0;
}

// Returns the stage with the resources of the code. A report of a tile kernel
// needs a disassembly, which nothing here reads.
const char *resourcesStage(const language::CompileRequest &request) {
  return language::isCudaSource(request.file) ? "report" : "resources";
}

language::CompileRequest requestFor(const Kernel &kernel,
                                    const std::vector<Arg> &args,
                                    const Constexprs &constexprs,
                                    const LaunchOptions &options,
                                    const Grid &grid) {
  LaunchOptions own = options;
  own.wideGrid = grid[0] > narrowGrid;
  language::CompileRequest request =
      kernel.compileRequest(args, constexprs, own);
  // The simulator executes PTX, but ptxas must also report the registers.
  request.assembler.clear();
  request.emit = {resourcesStage(request)};
  return request;
}

} // namespace

GpuLaunch gpuLaunch(const Kernel &kernel, const std::vector<Arg> &args,
                    const Constexprs &constexprs, const LaunchOptions &options,
                    const Grid &grid) {
  const language::CompileRequest request =
      requestFor(kernel, args, constexprs, options, grid);
  const auto compiled = runtime::CompileService::instance().get(request);
  const auto ptx = compiled->stages.find("ptx");
  if (ptx == compiled->stages.end() || ptx->second.empty())
    throw Error("no PTX of `" + kernel.name() + "` for " + request.target,
                "clear the cache: tessera cache clear");
  GpuLaunch result{{sim::Module::load(ptx->second, kernel.name() + ".ptx")}};
  SimLaunch &launch = result.launch;
  launch.kernel = compiled->meta.symbol;
  launch.grid = grid;
  launch.block = {std::max(compiled->meta.threads, 1u), 1, 1};
  launch.dynamicShared = compiled->meta.sharedBytes;
  const runtime::GpuArguments arguments(compiled->meta, kernel.name(),
                                        kernel.parameters());
  arguments.checkGrid(grid);
  const auto values = arguments.values(args);
  std::vector<runtime::HostRange> ranges;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto &slot = arguments.slots()[i];
    launch.params.push_back(
        {{values[i].begin(), values[i].begin() + slot.bytes}});
    const auto *pointer = std::get_if<Pointer>(&args[slot.argument]);
    if (pointer && pointer->address && pointer->bytes != Pointer::unknown)
      ranges.push_back(
          {arguments.nameOf(slot),
           static_cast<char *>(pointer->address) - pointer->bytesBefore,
           pointer->bytes + pointer->bytesBefore, true});
  }
  for (const auto &range : runtime::mergedRanges(std::move(ranges)))
    launch.memory.add(range.name, range.begin, range.bytes, range.writable);
  if (const auto text = compiled->stages.find(resourcesStage(request));
      text != compiled->stages.end()) {
    const Json report = Json::parse(text->second, nullptr, false);
    if (report.is_object()) {
      result.registers = numberOf(report, "registers");
      result.spilledBytes = numberOf(report, "spill_stores");
    }
  }
  return result;
}

void compileGpuLaunches(
    const std::vector<std::pair<const PreparedLaunch *, Grid>> &launches) {
  runtime::compileTogether(launches, [](const auto &one) {
    const auto &[launch, grid] = one;
    return requestFor(*launch->kernel, launch->args, launch->constexprs,
                      launch->options, grid);
  });
}

} // namespace tessera::cases
