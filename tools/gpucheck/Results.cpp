// tools/gpucheck/Results.cpp - collects and writes the results of the items of
// tessera-gpu-check.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpucheck/GpuCheck.h"

#include "autotune/search/TableEntry.h"
#include "replay/Replay.h"
#include "support/Error.h"
#include "support/File.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tessera::gpucheck {

namespace fs = std::filesystem;

namespace {

constexpr int resultVersion = 2;

// Shares of the budget that are reserved for the items after tuning. Constants
// and other libraries take about the same time on every GPU; times take a
// fraction of a second for each case.
constexpr double afterTuning = 60, secondsOfTime = 0.3, mostOfBudget = 0.5;

std::string number(const char *form, double value) {
  char text[64];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

std::string timeLine(const Json &row) {
  if (!row.contains("us"))
    return row.contains("time_error")
               ? "not timed: " + row["time_error"].get<std::string>()
               : "";
  std::string line = number("%.1f us", row["us"].get<double>());
  if (row.contains("peer_us"))
    line += number(", %.2f x of the other compiler's",
                   row["us"].get<double>() / row["peer_us"].get<double>());
  return line;
}

std::string tuneLine(const Json &row) {
  if (row.contains("error"))
    return "not tuned: " + row["error"].get<std::string>();
  if (row.contains("unsteady"))
    return "not tuned: " + row["unsteady"].get<std::string>();
  if (!row.contains("entry"))
    return "not tuned: no time was left";
  const Json &entry = row["entry"];
  const auto use = entry["use"].get<std::string>();
  return (use.empty() ? "the default configuration" : use) +
         number(", %.1f us: ", entry["us"].get<double>()) +
         entry["why"].get<std::string>();
}

std::string figureLine(const Json &row) {
  if (row.contains("error"))
    return "not measured: " + row["error"].get<std::string>();
  if (row.contains("refused"))
    return "refused: " + row["refused"].get<std::string>();
  std::string line = number("%.5g ", row["value"].get<double>()) +
                     row["unit"].get<std::string>();
  if (row.contains("of_published"))
    line += number(", %.2f of what is published",
                   row["of_published"].get<double>());
  return line;
}

std::string lineOf(Kind kind, const Json &row) {
  if (row.contains("left_out") && row["left_out"].is_string())
    return "left out: " + row["left_out"].get<std::string>();
  switch (kind) {
  case Kind::Check:
    return row.value("line", "");
  case Kind::Tune:
    return tuneLine(row);
  case Kind::Time:
    return timeLine(row);
  case Kind::Peers:
    return row.contains("not_measured")
               ? "not measured: " + row["not_measured"].get<std::string>()
               : std::to_string(row["rows"].size()) + " times";
  case Kind::Calibrate:
    return figureLine(row);
  }
  return "";
}

} // namespace

Results::Results(const Options &options, std::vector<Item> items)
    : options(options), list(std::move(items)), rows(list.size()) {
  if (const auto text = tryReadFile(fs::path(options.folder) / "pack.json"))
    pack = parseJson(*text, "pack.json");
}

std::optional<size_t> Results::next(size_t from) const {
  for (size_t i = from; i < list.size(); ++i)
    if (!done(i))
      return i;
  return std::nullopt;
}

void Results::resume() {
  const auto text = tryReadFile(options.json);
  if (!text)
    return;
  const Json earlier = parseJson(*text, options.json);
  if (earlier.value("version", 0) != resultVersion)
    throw Error(options.json + " is of another version",
                "leave out --resume, or name another file");
  if (earlier.value("pack", Json()) != pack)
    throw Error(options.json + " is the result of another pack",
                "leave out --resume, or name another file");
  std::map<std::string, Json> known;
  try {
    gpu = earlier.at("gpu_facts");
    before = earlier.value("state_before", Json());
    for (const Json &item : earlier.at("items"))
      known[item.at("item").get<std::string>()] = item.at("row");
  } catch (const Json::exception &error) {
    throw Error(options.json + " is damaged: " + error.what(),
                "leave out --resume, or name another file");
  }
  for (size_t i = 0; i < list.size(); ++i)
    if (const auto found = known.find(list[i].text()); found != known.end()) {
      rows[i] = found->second;
      note(i, rows[i]);
    }
  std::printf(
      "%ld of %zu are known from %s\n",
      long(std::count_if(rows.begin(), rows.end(),
                         [](const Json &row) { return !row.is_null(); })),
      rows.size(), options.json.c_str());
}

void Results::opened(const Json &facts) {
  if (!gpu.is_null()) {
    for (const char *key : {"gpu", "compute_capability", "driver"})
      if (gpu[key] != facts[key])
        throw Error(options.json + " is of " + gpu["gpu"].get<std::string>() +
                        " and another driver or GPU is here",
                    "leave out --resume, or name another file");
    return;
  }
  gpu = facts;
  before = gpu["state"];
  gpu.erase("state");
  const int capability = gpu["compute_capability"].get<int>(),
            driver = gpu["driver"].get<int>();
  std::printf("%s, compute capability %d.%d, driver for CUDA %d.%d\n",
              gpu["gpu"].get<std::string>().c_str(), capability / 10,
              capability % 10, driver / 1000, driver % 1000 / 10);
  if (!before["other_processes"].is_null() &&
      !before["other_processes"].empty())
    std::printf("other processes use the GPU: times are better taken on one "
                "that is free\n");
  std::fflush(stdout);
}

void Results::note(size_t i, const Json &row) {
  if (list[i].kind != Kind::Check)
    return;
  if (row.value("status", "") != "ok")
    wrong.insert(list[i].name);
  if (row.value("peer_status", "error") == "error")
    noPeer.insert(list[i].name);
}

double Results::secondsLeft() const {
  return options.budget ? options.budget - passed() : HUGE_VAL;
}

double Results::tuningLeft() const {
  double kept = 0, others = 0;
  for (size_t i = 0; i < list.size(); ++i)
    if (!done(i) && list[i].kind == Kind::Time)
      kept += secondsOfTime;
    else if (!done(i) && list[i].kind > Kind::Time)
      others = afterTuning;
  return std::max(secondsLeft() -
                      std::min(kept + others, mostOfBudget * options.budget),
                  0.0);
}

void Results::print(size_t i, const std::string &line) const {
  size_t left = 0;
  for (size_t k = 0; k < list.size(); ++k)
    left += !done(k);
  const double estimate =
      passed() / double(std::max<size_t>(doneHere, 1)) * double(left);
  const std::string name =
      list[i].kind == Kind::Check ? "" : list[i].text() + ": ";
  std::printf("[%zu of %zu, about %.0f s left] %s%s\n", i + 1, list.size(),
              std::max(std::min(estimate, secondsLeft()), 0.0), name.c_str(),
              line.c_str());
  std::fflush(stdout);
}

void Results::add(size_t i, Json row) {
  if (row.contains("late")) {
    late.insert(i);
    return;
  }
  note(i, row);
  // Configurations that ended a worker.
  for (const auto &[candidate, why] : lost[i])
    if (row.contains("candidates") && candidate < row["candidates"].size())
      row["candidates"][candidate]["excluded"] = why;
  ++doneHere;
  const std::string line = lineOf(list[i].kind, row);
  row.erase("line");
  rows[i] = std::move(row);
  if (!line.empty())
    print(i, line);
  write();
}

void Results::fail(size_t i, const std::string &why) {
  if (list[i].kind != Kind::Check)
    return add(i, {{list[i].kind == Kind::Time ? "time_error" : "error", why}});
  cases::CaseReport report;
  report.folder = report.name = list[i].name;
  report.device = "cuda";
  report.status = cases::Status::Error;
  report.message = why;
  Json row = parseJson(cases::reportJson(report), "report");
  row["line"] = cases::reportLine(report);
  add(i, std::move(row));
}

void Results::exclude(size_t i, size_t candidate, const std::string &why) {
  lost[i][candidate] = why;
  // Without the kernel's default configuration the baseline is missing.
  if (candidate == 0)
    fail(i, "the kernel's default configuration: " + why);
}

std::set<size_t> Results::excluded(size_t i) const {
  std::set<size_t> numbers;
  if (const auto found = lost.find(i); found != lost.end())
    for (const auto &[candidate, why] : found->second)
      numbers.insert(candidate);
  return numbers;
}

// Returns the rows of one kind, each with the name of its case or constant.
Json Results::gathered(Kind kind) const {
  Json result = Json::array();
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].kind == kind && !rows[i].is_null()) {
      Json row = rows[i];
      if (kind == Kind::Tune)
        row["case"] = list[i].name;
      if (kind == Kind::Calibrate)
        row["name"] = list[i].name;
      result.push_back(std::move(row));
    }
  return result;
}

Json Results::notDone() const {
  Json names = Json::array();
  for (size_t i = 0; i < list.size(); ++i)
    if (rows[i].is_null())
      names.push_back(list[i].text());
  return names;
}

Json Results::everything() const {
  Json result = gpu;
  result["version"] = resultVersion;
  result["gpu_facts"] = gpu;
  result["date"] = tune::utcNow();
  result["launches_timed"] = options.timed;
  result["cleared_cache"] = options.clearCache;
  result["budget_s"] = options.budget;
  result["seconds"] = passed();
  result["state_before"] = before;
  result["state_after"] = complete ? cases::gpuState() : Json();
  if (!pack.is_null())
    result["pack"] = pack;
  Json cases = gathered(Kind::Check);
  std::map<std::string, Json> times;
  size_t good = 0, compared = 0;
  double logs = 0; // of the ratios to the other compiler's times
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].kind == Kind::Time && rows[i].is_object())
      times[list[i].name] = rows[i];
  for (Json &row : cases) {
    good += row["status"] == "ok";
    const auto time = times.find(row["case"].get<std::string>());
    if (time == times.end() || row["status"] != "ok")
      continue;
    row.update(time->second);
    if (row.contains("us") && row.contains("peer_us")) {
      logs += std::log(row["us"].get<double>() / row["peer_us"].get<double>());
      ++compared;
    }
  }
  result["ok"] = good;
  result["cases"] = std::move(cases);
  result["compared"] = compared;
  if (compared)
    result["peer_ratio"] = std::exp(logs / double(compared));
  result["tuning"] = gathered(Kind::Tune);
  result["calibration"] = gathered(Kind::Calibrate);
  const Json peers = gathered(Kind::Peers);
  result["torch"] =
      peers.empty() ? Json{{"not_measured", "not run"}} : peers[0];
  result["not_done"] = notDone();
  result["complete"] = complete && result["not_done"].empty();
  result["items"] = Json::array(); // an interrupted run may add nothing
  for (size_t i = 0; i < list.size(); ++i)
    if (!rows[i].is_null())
      result["items"].push_back({{"item", list[i].text()}, {"row", rows[i]}});
  return result;
}

void Results::write() const {
  if (!options.json.empty() && !gpu.is_null())
    writeOutput(options.json, everything().dump(1) + "\n");
}

tune::DeviceModel deviceOf(const Json &facts) {
  tune::DeviceModel device{facts["gpu"], facts["target"], facts["sms"], 0, 0};
  const Json state = facts.value("state", Json::object());
  if (const Json watts = state.value("power_limit_watts", Json());
      watts.is_number())
    device.powerWatts = watts.get<int64_t>();
  return device;
}

fs::path tableOf(const Options &options, const tune::DeviceModel &device) {
  if (!options.table.empty() || options.json.empty())
    return options.table;
  return fs::path(options.json).parent_path() / (fileStem(device) + ".yaml");
}

Outcome Results::finish(bool interrupted) {
  complete = !interrupted;
  Json result = everything();
  Outcome outcome;
  for (const Json &row : result["tuning"])
    outcome.tuned += row.contains("entry");
  const fs::path table = outcome.tuned ? tableOf(options, deviceOf(gpu)) : "";
  if (!table.empty())
    result["table"] = table.filename();
  if (!options.json.empty())
    writeOutput(options.json, result.dump(1) + "\n");
  const size_t good = result["ok"].get<size_t>();
  const auto all =
      size_t(std::count_if(list.begin(), list.end(), [](const Item &item) {
        return item.kind == Kind::Check;
      }));
  std::printf("%zu of %zu cases are ok\n", good, all);
  if (result.contains("peer_ratio"))
    std::printf("geometric mean of %zu times: %.3f x the other compiler's\n",
                result["compared"].get<size_t>(),
                result["peer_ratio"].get<double>());
  if (!table.empty() && !options.isPart)
    std::printf("tuned configurations: %s\n", table.c_str());
  if (const Json &left = result["not_done"]; !left.empty()) {
    std::printf("not done%s: %zu\n",
                interrupted ? ", interrupted" : ", no time was left",
                left.size());
    for (const Json &name : left)
      std::printf("  %s\n", name.get<std::string>().c_str());
    if (!options.isPart)
      std::printf("go on with --resume\n");
  }
  std::printf("%.1f s\n", result["seconds"].get<double>());
  outcome.exitCode = interrupted ? 130 : good == all ? 0 : 1;
  return outcome;
}

} // namespace tessera::gpucheck
