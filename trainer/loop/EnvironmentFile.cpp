// trainer/loop/EnvironmentFile.cpp - collects facts on process and machine.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/EnvironmentFile.h"

#include "support/BuildId.h"
#include "support/Hash.h"
#include "trainer/observe/Telemetry.h"
#include "trainer/settings/Config.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <torch/version.h>
#include <unistd.h>

extern char **environ;

namespace tessera::trainer {
namespace {

using nlohmann::json;

/// Returns the value of "model name : Intel(R) Xeon(R)" in /proc/cpuinfo.
std::string processorName() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (const size_t colon = line.find(": ");
        line.starts_with("model name") && colon != std::string::npos)
      return line.substr(colon + 2);
  return "unknown";
}

/// Returns the variables that affect a run. Others can contain secrets.
json relevantVariables() {
  json found = json::object();
  for (char **entry = environ; entry && *entry; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    for (const char *prefix :
         {"NSA_", "TESSERA_", "OMP_", "GOMP_", "MKL_", "CUDA_", "NCCL_",
          "GLOO_", "TORCH_", "RANK=", "WORLD_SIZE=", "LOCAL_RANK=", "MASTER_",
          "SLURM_PROCID=", "SLURM_NTASKS=", "OMPI_COMM_WORLD_"})
      if (text.starts_with(prefix) && equals != std::string::npos)
        found[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return found;
}

} // namespace

json environmentOf(const Config &config, const World &world,
                   const std::string &device, const KernelTexts &kernels,
                   const RunTuning &tuning) {
  const json settings = toJson(config);
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  return {{"time", isoTime(double(std::time(nullptr)))},
          {"pid", ::getpid()},
          {"host", host},
          {"processes", world.size},
          {"torch", TORCH_VERSION},
          {"compiler_build", compilerBuildId()},
          {"processor", processorName()},
          {"processor_threads", std::thread::hardware_concurrency()},
          {"memory_bytes",
           int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE)},
          {"vectors_of_torch", at::get_cpu_capability()},
          {"threads", config.threads},
          {"device", device},
          {"environment", relevantVariables()},
          {"settings", settings},
          {"origins", config.origins},
          {"settings_sha256", sha256Hex(settings.dump())},
          {"kernels", kernelSums(kernels)},
          {"tuning", toJson(tuning)}};
}

} // namespace tessera::trainer
