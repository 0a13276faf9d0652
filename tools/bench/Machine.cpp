// tools/bench/Machine.cpp - describes the machine and the build of a
// measurement.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/Machine.h"

#include "autotune/choice/ThisMachine.h"
#include "autotune/search/TableEntry.h"
#include "replay/gpu/GpuDevice.h"
#include "runtime/Kernel.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/launch/LaunchDevice.h"
#include "support/BuildId.h"
#include "support/File.h"
#include "support/Process.h"
#include "support/Text.h"

#include <cstdlib>
#include <sstream>
#include <thread>

namespace tessera::bench {

namespace {

using std::chrono::seconds;

// Returns the first line of a command's output, or nullopt if it fails.
std::optional<std::string>
firstLineOf(const std::vector<std::string> &arguments) {
  try {
    const CommandResult result = runCommand(arguments, seconds(20));
    if (result.status.ok())
      return firstLine(result.output);
  } catch (const Error &) {
  }
  return std::nullopt;
}

Json commit() {
  const std::string folder = executablePath().parent_path().string();
  const auto git = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"/usr/bin/env", "git", "-C", folder});
    return firstLineOf(words);
  };
  const auto head = git({"rev-parse", "--short", "HEAD"});
  if (!head)
    return nullptr;
  const auto top = git({"rev-parse", "--show-toplevel"});
  const auto changes =
      git({"-C", top.value_or("."), "status", "--porcelain", "-uno"});
  return *head + (changes.value_or("").empty() ? "" : "+changes");
}

// Returns the mean clock of all processors in MHz.
Json cpuClock() {
  std::istringstream in(tryReadFile("/proc/cpuinfo").value_or(""));
  double sum = 0;
  int count = 0;
  for (std::string line; std::getline(in, line);)
    if (line.rfind("cpu MHz", 0) == 0) {
      sum += std::atof(line.c_str() + line.find(':') + 1);
      ++count;
    }
  if (!count)
    return nullptr;
  return {{"cores", sum / count}};
}

void addGpuState(Json &facts, int ordinal) {
  const Json state = cases::gpuState(ordinal);
  const std::string release = cases::driverRelease();
  facts["driver_release"] = release.empty() ? Json() : Json(release);
  facts["clocks_mhz"] = {{"sm", state["clock_sm_mhz"]},
                         {"memory", state["clock_memory_mhz"]}};
  facts["power_watts"] = {{"draw", state["power_watts"]},
                          {"limit", state["power_limit_watts"]}};
}

Json deviceFacts(const BenchDevice &device, int threads) {
  Json facts = {{"name", device.name}};
  if (device.kind == BenchDevice::Kind::Cuda) {
    const auto &driver = runtime::cuda::Driver::instance(device.ordinal);
    facts["model"] = driver.gpu();
    facts["target"] = driver.target();
    facts["driver"] = driver.version();
    addGpuState(facts, device.ordinal);
    return facts;
  }
  const auto &cpu = tune::deviceModel(runtime::findLaunchDevice("cpu"));
  facts["model"] = cpu.name;
  facts["target"] = deviceTarget(device.name);
  facts["cores"] = std::thread::hardware_concurrency();
  facts["threads"] = threads;
  facts["driver"] = nullptr;
  facts["clocks_mhz"] = cpuClock();
  facts["power_watts"] = nullptr;
  return facts;
}

} // namespace

BenchDevice parseDevice(const std::string &name) {
  BenchDevice device;
  device.name = name;
  if (name == "cpu")
    return device;
  if (name == "cuda" || name.rfind("cuda:", 0) == 0) {
    device.kind = BenchDevice::Kind::Cuda;
    if (name == "cuda")
      return device;
    char *end = nullptr;
    const long number = std::strtol(name.c_str() + 5, &end, 10);
    if (name.size() > 5 && !*end && number >= 0 && number < 64) {
      device.ordinal = int(number);
      return device;
    }
  } else if (name.rfind("sim:", 0) == 0) {
    device.kind = BenchDevice::Kind::Sim;
    deviceTarget(name); // throws for an unknown one
    return device;
  }
  throw Error("--device " + name + ": no such device",
              "write cpu, cuda, cuda:1, sim:sm_80 or sim:sm_90");
}

double loadAverage() {
  double load[1] = {0};
  return ::getloadavg(load, 1) == 1 ? load[0] : 0;
}

Json machineFacts(const BenchDevice &device, int threads) {
  return {{"device", deviceFacts(device, threads)},
          {"versions", {{"compiler", compilerBuildId()}}},
          {"commit", commit()},
          {"date", tune::today()},
          {"load", {{"before", loadAverage()}}}};
}

} // namespace tessera::bench
