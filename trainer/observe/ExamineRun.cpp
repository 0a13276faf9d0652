// trainer/observe/ExamineRun.cpp - one function for each finding, over the last
// heartbeats and metrics.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/observe/ExamineRun.h"

#include "support/Error.h"
#include "support/ShallowJson.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace fs = std::filesystem;

namespace tessera::trainer {
namespace {

using nlohmann::json;

/// Consecutive records that make a finding. A single one is not a reason to
/// stop a run.
constexpr size_t inRow = 3;
/// Window of steps for notFinite(): inRow bad updates in it make a finding.
constexpr int64_t recentSteps = 128;
constexpr std::streamoff tailBytes = 1 << 18;

/// Returns the JSON objects in the last tailBytes of a file, oldest first.
/// Ignores incomplete lines.
std::vector<json> lastRecords(const fs::path &path) {
  std::vector<json> all;
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = in ? std::streamoff(in.tellg()) : 0;
  in.seekg(std::max<std::streamoff>(0, size - tailBytes));
  for (std::string line; std::getline(in, line);)
    if (json record = parseShallowJson(line); record.is_object())
      all.push_back(std::move(record));
  return all;
}

/// Returns NaN if the record lacks the number or the value was not finite,
/// which JSON stores as null.
double number(const json &record, const char *key) {
  const auto found = record.find(key);
  return found != record.end() && found->is_number()
             ? found->get<double>()
             : std::numeric_limits<double>::quiet_NaN();
}

int64_t stepOf(const json &record) {
  const double step = number(record, "step");
  return std::abs(step) < 1e15 ? int64_t(step) : 0;
}

std::vector<double> column(const std::vector<json> &records, const char *key) {
  std::vector<double> values;
  for (const json &record : records)
    if (const double value = number(record, key); std::isfinite(value))
      values.push_back(value);
  return values;
}

/// Returns NaN without values.
double median(std::vector<double> values) {
  if (values.empty())
    return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Returns true if so(value) is true for the last inRow values; false if there
/// are fewer.
template <typename F>
bool lastAre(const std::vector<double> &values, const F &so) {
  return values.size() >= inRow &&
         std::all_of(values.end() - std::ptrdiff_t(inRow), values.end(), so);
}

Verdict stall(const json &beat, const std::vector<json> &records,
              const WatchLimits &limits, double now) {
  const double quiet = now - number(beat, "ts");
  const bool inStep = beat.value("phase", json()) == "step";
  const double step = median(column(records, "step_ms")) / 1e3;
  const double limit =
      (std::isfinite(step) ? std::max(limits.stall, 10 * step) : limits.stall) *
      (inStep ? 1 : 10);
  if (!(quiet > limit))
    return {};
  return {RunFinding::Stall, false,
          fmt::format("no sign of life for {:.0f} s (more than {:.0f}); the "
                      "last one: {} {}",
                      quiet, limit, inStep ? "step" : "after step",
                      stepOf(beat))};
}

Verdict notFinite(const std::vector<json> &records) {
  const int64_t last = records.empty() ? 0 : stepOf(records.back());
  int64_t bad = 0, first = 0;
  for (const json &record : records)
    if (record.contains("skipped") && stepOf(record) > last - recentSteps &&
        !(std::isfinite(number(record, "loss")) &&
          std::isfinite(number(record, "grad_norm")))) {
      first = bad++ == 0 ? stepOf(record) : first;
    }
  if (bad < int64_t(inRow))
    return {};
  return {RunFinding::NotFinite, false,
          fmt::format("the loss or its gradient was not finite in {} steps "
                      "since step {}",
                      bad, first)};
}

Verdict flatLine(const std::vector<json> &records) {
  std::vector<double> speeds = column(records, "tokens_per_s");
  if (speeds.size() < 2 * inRow)
    return {};
  const std::vector<double> before(speeds.begin(),
                                   speeds.end() - std::ptrdiff_t(inRow));
  const double usual = median(before);
  if (!lastAre(speeds, [&](double s) { return s <= usual / 10; }))
    return {};
  return {RunFinding::FlatLine, false,
          fmt::format("{:.0f} tokens/s, where {:.0f} were usual", speeds.back(),
                      usual)};
}

Verdict zeroGradient(const std::vector<json> &records) {
  if (!lastAre(column(records, "grad_norm"), [](double n) { return n == 0; }))
    return {};
  return {RunFinding::ZeroGradient, false,
          fmt::format("the gradient is zero in the last {} lines", inRow)};
}

/// Uses the field names of nsa-vibe's heartbeat.
Verdict gateCollapse(const std::vector<json> &records) {
  const auto entropy = column(records, "gate_entropy_mean"),
             share = column(records, "gate_collapse_frac");
  if (!lastAre(entropy, [](double e) { return e < 0.2; }) &&
      !lastAre(share, [](double s) { return s > 0.5; }))
    return {};
  return {RunFinding::GateCollapse, false,
          fmt::format("the gates have closed all branches but one (mean "
                      "entropy {:.3f}, {:.0f}% of the gates)",
                      entropy.empty() ? NAN : entropy.back(),
                      share.empty() ? NAN : 100 * share.back())};
}

} // namespace

const char *findingName(RunFinding finding) {
  switch (finding) {
  case RunFinding::Stall:
    return "heartbeat_stall";
  case RunFinding::FlatLine:
    return "throughput_flatline";
  case RunFinding::NotFinite:
    return "nan_loss";
  case RunFinding::GateCollapse:
    return "gate_collapse";
  case RunFinding::ZeroGradient:
    return "zero_grad";
  case RunFinding::Fine:
    break;
  }
  return "fine";
}

Verdict examineRun(const std::string &folder, const WatchLimits &limits,
                   double now) {
  const fs::path run = folder;
  const std::vector<json> beats = lastRecords(run / "heartbeat_rank0.jsonl");
  if (beats.empty())
    throw Error(folder + " has no heartbeat_rank0.jsonl with a line: no run "
                         "has begun its first step there",
                "name the run's folder (out); a run writes the file from its "
                "first step on");
  const std::vector<json> records = lastRecords(run / "metrics.jsonl");
  const bool finished = fs::exists(run / "metrics.json");
  // Causes precede their effects, since the first finding is returned.
  std::vector<Verdict> found = {notFinite(records), gateCollapse(records),
                                zeroGradient(records)};
  if (!finished) {
    found.push_back(stall(beats.back(), records, limits, now));
    found.push_back(flatLine(records));
  }
  for (Verdict &verdict : found)
    if (verdict.finding != RunFinding::Fine) {
      verdict.finished = finished;
      return verdict;
    }
  return {RunFinding::Fine, finished,
          finished ? "the run has made all its steps"
                   : fmt::format("step {}, {:.0f} s ago", stepOf(beats.back()),
                                 now - number(beats.back(), "ts"))};
}

} // namespace tessera::trainer
