// autotune/choice/ThisMachine.cpp - the devices of this machine.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/choice/ThisMachine.h"
#include "autotune/table/TuneText.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/cuda/Driver.h"
#include "support/File.h"
#include "support/Text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <sched.h>
#include <set>
#include <utility>

namespace tessera::tune {

namespace {

int numberIn(std::string_view text, int otherwise) {
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Returns the logical processors that this process may use.
std::vector<int> allowedProcessors() {
  // 8192: the limit of the Linux kernel.
  constexpr int most = 8192;
  cpu_set_t *set = CPU_ALLOC(most);
  const size_t bytes = CPU_ALLOC_SIZE(most);
  std::vector<int> allowed;
  if (set && ::sched_getaffinity(0, bytes, set) == 0)
    for (int i = 0; i < most; ++i)
      if (CPU_ISSET_S(i, bytes, set))
        allowed.push_back(i);
  if (set)
    CPU_FREE(set);
  return allowed;
}

DeviceModel modelOf(const runtime::LaunchDevice &device) {
  const std::string &target = device.target();
  if (device.isCpu())
    return cpuModel(tryReadFile("/proc/cpuinfo").value_or(""),
                    allowedProcessors(), target);
  DeviceModel model;
  model.name = device.name;
  model.target = target;
  if (device.name.starts_with("cuda")) {
    // "cuda:1"
    const int ordinal =
        numberIn(std::string_view(device.name)
                     .substr(std::min<size_t>(5, device.name.size())),
                 0);
    model.name = runtime::cuda::Driver::instance(ordinal).gpu();
    model.cores = runtime::multiprocessorCount(ordinal);
  }
  return model;
}

} // namespace

// True for "7B13", "i7-9700K", "6140"; false for "64-Core", "2.60GHz", "2.5+",
// "7".
static bool isModelNumber(std::string_view word) {
  return word.size() >= 3 && !word.ends_with("-Core") &&
         word.find('.') == std::string_view::npos &&
         word.find_first_of("0123456789") != std::string_view::npos;
}

static bool hasModelNumber(std::string_view name) {
  while (!name.empty()) {
    const size_t end = std::min(name.find(' '), name.size());
    if (isModelNumber(name.substr(0, end)))
      return true;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return false;
}

DeviceModel cpuModel(std::string_view cpuinfo, const std::vector<int> &allowed,
                     const std::string &target) {
  DeviceModel model;
  model.target = target;
  std::set<std::pair<int, int>> cores; // socket and core
  int processor = -1, socket = 0, core = -1;
  int family = -1, number = -1, stepping = -1;
  const auto finish = [&] {
    if (core >= 0 &&
        std::find(allowed.begin(), allowed.end(), processor) != allowed.end())
      cores.insert({socket, core});
    processor = core = -1;
    socket = 0;
  };
  for (const std::string_view line : splitLines(cpuinfo)) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      finish();
      continue;
    }
    const std::string_view key = trimSpaces(line.substr(0, colon)),
                           value = trimSpaces(line.substr(colon + 1));
    if (key == "processor")
      processor = numberIn(value, -1);
    else if (key == "physical id")
      socket = numberIn(value, 0);
    else if (key == "core id")
      core = numberIn(value, -1);
    else if (key == "cpu family")
      family = numberIn(value, -1);
    else if (key == "model")
      number = numberIn(value, -1);
    else if (key == "stepping")
      stepping = numberIn(value, -1);
    else if (key == "model name" && model.name.empty() && isPlainText(value))
      model.name = std::string(value);
  }
  finish();
  if (model.name.empty())
    model.name = "unknown processor";
  // Virtual machines report names such as "AMD EPYC" for many models.
  if (!hasModelNumber(model.name) && family >= 0 && number >= 0)
    model.name += " family " + std::to_string(family) + " model " +
                  std::to_string(number) + " stepping " +
                  std::to_string(std::max(stepping, 0));
  model.threads = int64_t(std::max<size_t>(allowed.size(), 1));
  model.cores = cores.empty() ? model.threads : int64_t(cores.size());
  return model;
}

const DeviceModel &deviceModel(const runtime::LaunchDevice &device) {
  static std::mutex mutex;
  static auto *const known = new std::map<std::string, DeviceModel>;
  std::lock_guard<std::mutex> guard(mutex);
  const auto found = known->find(device.name);
  return found != known->end()
             ? found->second
             : known->emplace(device.name, modelOf(device)).first->second;
}

} // namespace tessera::tune
