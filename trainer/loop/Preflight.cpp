// trainer/loop/Preflight.cpp - computes the decision (GO or NO-GO) and its
// reasons.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/loop/Preflight.h"

#include "support/Quantities.h"
#include "trainer/settings/Config.h"
#include "trainer/settings/Phases.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera::trainer {
namespace {

using nlohmann::json;

/// Largest accepted ratio of losses in the first steps of a warm-up.
constexpr double rise = 1.05;
constexpr double mostMemory = 0.9, mostLoading = 0.1;

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double mean(const std::vector<double> &values, size_t begin, size_t end) {
  double sum = 0;
  for (size_t i = begin; i < end; ++i)
    sum += values[i];
  return sum / double(end - begin);
}

std::string timeText(double seconds) {
  return timeSpanText(std::chrono::seconds(int64_t(seconds)));
}

struct Columns {
  std::vector<double> losses, speeds, milliseconds, loading;
  double memory = 0;
  int64_t skipped = 0;
};

Columns columnsOf(const std::vector<json> &records) {
  Columns c;
  for (const json &r : records) {
    c.skipped += r.contains("skipped");
    if (!r.contains("step_ms"))
      continue;
    for (const char *key : {"bpb", "bits_per_token"})
      if (r.contains(key))
        c.losses.push_back(r[key].is_number() ? r[key].get<double>() : NAN);
    c.milliseconds.push_back(r["step_ms"]);
    c.speeds.push_back(r.value("tokens_per_s", 0.0));
    c.loading.push_back(
        r.value("stages_ms", json::object()).value("data", 0.0));
    c.memory = std::max(c.memory, r.value("memory_most_bytes", 0.0));
  }
  return c;
}

} // namespace

Preflight judgePreflight(const Config &config, int64_t wanted,
                         const std::vector<json> &records,
                         int64_t machineBytes) {
  Preflight result;
  const auto fault = [&](const std::string &text) {
    result.faults.push_back(text);
  };
  const Columns c = columnsOf(records);
  if (c.skipped > 0)
    fault(fmt::format("{} of the first updates were skipped", c.skipped));
  const size_t count = c.milliseconds.size();
  if (count == 0 || int64_t(count) + c.skipped < wanted ||
      c.losses.size() != count) {
    fault(fmt::format("{} of {} steps were made", count, wanted));
    return result;
  }
  const size_t few = std::max<size_t>(1, count / 4);
  const double before = mean(c.losses, 0, few);
  const double after = mean(c.losses, count - few, count);
  if (!(after <= before * rise))
    fault(fmt::format("the loss rises from {:.3f} to {:.3f} bits", before,
                      after));
  const auto later = [&](const std::vector<double> &all) {
    return median({all.begin() + std::ptrdiff_t(count / 2), all.end()});
  };
  const double step = later(c.milliseconds) / 1e3;
  const double loading = later(c.loading) / later(c.milliseconds);
  if (loading > mostLoading)
    fault(fmt::format("a step waits {:.0f}% of its time for data",
                      100 * loading));
  const double memory = c.memory * double(config.processes);
  if (machineBytes > 0 && memory > mostMemory * double(machineBytes))
    fault(fmt::format("the run takes {} of {}", bytesText(uint64_t(memory)),
                      bytesText(uint64_t(machineBytes))));
  result.table = fmt::format(
      "steps     {} of {}\n"
      "loss      {:.3f} to {:.3f} bits (first and last {} steps)\n"
      "speed     {:.0f} tokens/s, {:.0f} ms a step\n"
      "loader    {:.1f}% of a step\n"
      "memory    {} of {}\n"
      "full run  {} steps, about {}\n",
      count, wanted, before, after, few, later(c.speeds), 1e3 * step,
      100 * loading, bytesText(uint64_t(memory)),
      bytesText(uint64_t(machineBytes)), config.steps,
      timeText(step * double(tokensOfSteps(config, 1, config.steps)) /
               double(tokensOfSteps(config, wanted, wanted))));
  return result;
}

} // namespace tessera::trainer
