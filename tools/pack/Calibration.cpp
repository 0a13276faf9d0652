// tools/pack/Calibration.cpp - adds the microbenchmarks of a GPU to a pack.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/pack/Calibration.h"

#include "autotune/model/Devices.h"
#include "replay/packed/Packed.h"
#include "support/CudaTools.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Json.h"
#include "support/Process.h"
#include "support/ScratchFolder.h"

#include <chrono>

namespace tessera::tools {

namespace fs = std::filesystem;

namespace {

// Returns the cubin, or an empty string without ptxas.
std::string assembled(const Microbenchmark &one, const std::string &target) {
  const auto ptxas = findPtxas();
  if (!ptxas)
    return "";
  const ScratchFolder scratch("calibration");
  const fs::path source = scratch.path() / "code.ptx",
                 binary = scratch.path() / "code.cubin";
  writeFile(source, one.ptx);
  const CommandResult done =
      runTool({ptxas->path.string(), "-arch=" + target, "-O3", source.string(),
               "-o", binary.string()},
              std::chrono::minutes(2));
  if (!done.status.ok())
    throw Error("ptxas refuses the microbenchmark " + one.name + " for " +
                    target + ": " + done.errors + done.output,
                "try another one: TESSERA_PTXAS");
  return readFile(binary);
}

runtime::CompiledKernel compiled(const Microbenchmark &one,
                                 const std::string &target) {
  runtime::CompiledKernel kernel;
  kernel.code = assembled(one, target);
  kernel.stages["ptx"] = one.ptx;
  kernel.meta.symbol = one.name;
  kernel.meta.threads = one.threads;
  for (const std::string &parameter : one.parameters) {
    const std::string name = parameter.substr(4);
    if (parameter.starts_with("u64"))
      kernel.meta.params.push_back({name, "pointer", "*i32:16"});
    else
      kernel.meta.params.push_back({name, "scalar", "i32"});
  }
  return kernel;
}

Json figures() {
  Json list = Json::array();
  for (const tune::GpuData &gpu : tune::gpus())
    list.push_back({{"name", gpu.rates.name},
                    {"model", gpu.model},
                    {"target", gpu.rates.target},
                    {"sms", gpu.rates.sms},
                    {"clock_mhz", gpu.rates.clockMhz},
                    {"dram_gbytes", gpu.rates.dramGbytes},
                    {"l2_bytes_per_cycle", gpu.rates.l2BytesPerCycle},
                    {"tensor_fma", gpu.rates.tensorFma},
                    {"warpgroup_fma", gpu.warpgroupFma},
                    {"shared_bytes_per_cycle", gpu.rates.sharedBytesPerCycle},
                    {"l2_latency", gpu.l2Latency},
                    {"dram_latency", gpu.dramLatency},
                    {"launch_cycles", gpu.rates.launchCycles}});
  return list;
}

} // namespace

void packCalibration(const fs::path &folder,
                     const std::vector<std::string> &targets) {
  for (const Microbenchmark &one : microbenchmarks()) {
    const fs::path at = folder / "calibration" / one.name;
    fs::create_directories(at);
    for (const std::string &target : targets)
      cases::packTarget(at, target, compiled(one, target));
  }
  writeOutput(folder / "devices.json",
              Json{{"version", 1}, {"gpus", figures()}}.dump(1) + "\n");
}

} // namespace tessera::tools
