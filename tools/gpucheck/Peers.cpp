// tools/gpucheck/Peers.cpp - facts from other programs: the state of the GPU
// from nvidia-smi, times of torch's attention from Python.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpucheck/GpuCheck.h"

#include "support/Error.h"
#include "support/Process.h"

#include <chrono>
#include <cstdlib>
#include <sstream>

namespace tessera::gpucheck {

namespace {

// What a command writes; none where it fails.
std::optional<std::string> outputOf(std::vector<std::string> arguments) {
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

Json numberOf(const std::string &word) {
  char *end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  return end == word.c_str() ? Json() : Json(value);
}

} // namespace

Json gpuState() {
  static const std::vector<std::pair<const char *, const char *>> fields = {
      {"clocks.sm", "clock_sm_mhz"},
      {"clocks.mem", "clock_memory_mhz"},
      {"clocks.max.sm", "clock_sm_most_mhz"},
      {"power.draw", "power_watts"},
      {"power.limit", "power_limit_watts"},
      {"temperature.gpu", "temperature_celsius"}};
  Json state;
  std::string query;
  for (const auto &[field, name] : fields) {
    query += (query.empty() ? "--query-gpu=" : ",") + std::string(field);
    state[name] = nullptr;
  }
  state["other_processes"] = nullptr;
  const auto line = outputOf(
      {"nvidia-smi", "--id=0", query, "--format=csv,noheader,nounits"});
  if (!line)
    return state;
  std::istringstream words(line->substr(0, line->find('\n')));
  std::string word;
  for (const auto &[field, name] : fields)
    if (std::getline(words, word, ','))
      state[name] = numberOf(word);
  if (const auto processes =
          outputOf({"nvidia-smi", "--id=0", "--query-compute-apps=pid",
                    "--format=csv,noheader"})) {
    state["other_processes"] = Json::array();
    std::istringstream lines(*processes);
    while (std::getline(lines, word))
      if (numberOf(word).is_number())
        state["other_processes"].push_back(numberOf(word));
  }
  return state;
}

Json runPeers(const Options &options, double seconds) {
  const auto not_measured = [](const std::string &why) {
    return Json{{"not_measured", why}};
  };
  try {
    const CommandResult result = runCommand(
        {"/usr/bin/env", options.python, options.folder + "/peers.py",
         options.folder, "--seconds", std::to_string(seconds)},
        std::chrono::milliseconds(int64_t(1000 * (seconds + 30))),
        {"PYTHONDONTWRITEBYTECODE=1"});
    if (result.timedOut)
      return not_measured("peers.py had no end");
    if (!result.status.ok())
      return not_measured(options.python + " peers.py ended with " +
                          result.status.text() + ": " +
                          result.errors.substr(0, 1000));
    Json json = parseJson(result.output, "the output of peers.py");
    if (!json.is_object() ||
        (!json.contains("not_measured") && !json.contains("rows")))
      return not_measured("peers.py wrote something else");
    return json;
  } catch (const Error &error) {
    return not_measured(error.message);
  }
}

} // namespace tessera::gpucheck
