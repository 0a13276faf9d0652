// replay/gpu/GpuFacts.cpp - describes this machine's GPU.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/gpu/GpuDevice.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/device/cuda/Peaks.h"
#include "support/File.h"
#include "support/Isolated.h"
#include "support/Process.h"
#include "support/StopSignals.h"
#include "support/Text.h"

#include <sstream>

namespace tessera::cases {

using runtime::cuda::Driver;
using runtime::cuda::NoGpu;

// Finds "580.159.04" in "NVRM version: NVIDIA UNIX x86_64 Kernel Module
// 580.159.04 ...": the first word that begins with three digits and a dot.
std::string driverRelease() {
  std::istringstream words(
      tryReadFile("/proc/driver/nvidia/version").value_or(""));
  for (std::string word; words >> word;)
    if (word.size() > 4 && word[3] == '.' &&
        word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  return "";
}

Json describeGpu() {
  const Driver &driver = Driver::instance();
  driver.use();
  const runtime::cuda::Peaks peaks = runtime::cuda::peaksOf(driver);
  return {{"gpu", driver.gpu()},
          {"compute_capability", driver.computeCapability()},
          {"driver", driver.version()},
          {"driver_release", driverRelease()},
          {"target", driver.target()},
          {"sms", driver.attribute(16)}, // ..._MULTIPROCESSOR_COUNT
          {"peaks",
           {{"bytes_per_s", peaks.bytes},
            {"half_flop_per_s", peaks.half},
            {"tf32_flop_per_s", peaks.tf32},
            {"fp32_flop_per_s", peaks.fp32}}}};
}

Json describeGpuOrNone() {
  try {
    return describeGpu();
  } catch (const NoGpu &none) {
    return {{"none", none.message}, {"hint", none.hint}};
  }
}

void requireGpu(const Json &facts) {
  if (facts.contains("none"))
    throw NoGpu(facts["none"].get<std::string>(),
                facts["hint"].get<std::string>());
}

Json gpuFacts() {
  constexpr double patience = 60; // seconds to open a driver
  Json facts;
  const Ended ended =
      runIsolated([](const Report &report) { report(describeGpuOrNone()); },
                  [&](const Json &line) { facts = line; },
                  [] { return patience; }, StopSignals::isSet());
  if (ended.how != Ended::How::Done)
    throw Error("the GPU does not open: " + ended.text,
                "look at the GPU with nvidia-smi");
  requireGpu(facts);
  return facts;
}

// Returns the output of a command, or nullopt if it fails.
static std::optional<std::string> outputOf(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "/usr/bin/env");
  try {
    const CommandResult result =
        runCommand(arguments, std::chrono::seconds(20));
    if (result.status.ok())
      return result.output;
  } catch (const Error &) {
  }
  return std::nullopt;
}

static Json numberOf(const std::string &word) {
  char *end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  return end == word.c_str() ? Json() : Json(value);
}

Json gpuState(int ordinal) {
  static const std::vector<std::pair<const char *, const char *>> fields = {
      {"clocks.sm", "clock_sm_mhz"},
      {"clocks.mem", "clock_memory_mhz"},
      {"clocks.max.sm", "clock_sm_most_mhz"},
      {"power.draw", "power_watts"},
      {"power.limit", "power_limit_watts"},
      {"temperature.gpu", "temperature_celsius"}};
  const std::string id = "--id=" + std::to_string(ordinal);
  Json state;
  std::string query;
  for (const auto &[field, name] : fields) {
    query += (query.empty() ? "--query-gpu=" : ",") + std::string(field);
    state[name] = nullptr;
  }
  state["other_processes"] = nullptr;
  const auto line =
      outputOf({"nvidia-smi", id, query, "--format=csv,noheader,nounits"});
  if (!line)
    return state;
  std::istringstream words(firstLine(*line));
  std::string word;
  for (const auto &[field, name] : fields)
    if (std::getline(words, word, ','))
      state[name] = numberOf(word);
  if (const auto processes =
          outputOf({"nvidia-smi", id, "--query-compute-apps=pid",
                    "--format=csv,noheader"})) {
    state["other_processes"] = Json::array();
    std::istringstream lines(*processes);
    while (std::getline(lines, word))
      if (numberOf(word).is_number())
        state["other_processes"].push_back(numberOf(word));
  }
  return state;
}

} // namespace tessera::cases
