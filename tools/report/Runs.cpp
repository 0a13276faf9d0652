// tools/report/Runs.cpp - reads training runs from their folders.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/report/Runs.h"

#include "support/File.h"
#include "support/ShallowJson.h"
#include "tools/profile/Summary.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;

// Adds {"a": {"b": 1}} as {"a.b": 1}.
void flatten(const Json &value, const std::string &name, Json &to) {
  if (value.is_object()) {
    for (const auto &[key, member] : value.items())
      flatten(member, name.empty() ? key : name + "." + key, to);
    return;
  }
  to[name] = value;
}

void addLine(Json &run, const std::string &line) {
  const Json record = parseShallowJson(line);
  if (!record.is_object() || !record.contains("step") ||
      !record["step"].is_number_integer()) {
    run["unreadable"] = run["unreadable"].get<int64_t>() + 1;
    return;
  }
  const Json &step = record["step"];
  if (const auto why = record.find("skipped");
      why != record.end() && why->is_string()) {
    run["skipped"].push_back({step, *why});
    return;
  }
  Json figures = Json::object();
  flatten(record, "", figures);
  for (const auto &[key, value] : figures.items())
    if (key != "step" && value.is_number() &&
        std::isfinite(value.get<double>()))
      run["series"][key].push_back({step, value});
}

Json membersOf(const fs::path &file) {
  Json result = Json::object();
  if (const auto text = tryReadFile(file))
    flatten(parseJson(*text, file.string()), "", result);
  return result;
}

// Returns 120 for "step_120", and -1 for other names.
int64_t stepOf(const std::string &name) {
  int64_t step = -1;
  if (name.starts_with("step_"))
    std::from_chars(name.data() + 5, name.data() + name.size(), step);
  return step;
}

Json kernelsOf(const fs::path &folder) {
  fs::path newest;
  int64_t best = -1;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(folder, ignored))
    if (const int64_t step = stepOf(entry.path().filename().string());
        step > best) {
      best = step;
      newest = entry.path();
    }
  Json kernels = Json::array();
  if (best < 0)
    return kernels;
  const std::string sums = tryReadFile(newest / "SHA256SUMS").value_or("");
  for (size_t at = 0; at < sums.size();) {
    const size_t end = std::min(sums.find('\n', at), sums.size());
    const std::string line = sums.substr(at, end - at);
    if (const size_t gap = line.find("  "); gap != std::string::npos)
      kernels.push_back({line.substr(gap + 2), line.substr(0, gap)});
    at = end + 1;
  }
  return kernels;
}

// Returns the kernels of a traced run (train.trace_steps) with their shares of
// the time.
Json tracedKernels(const fs::path &file) {
  const auto text = tryReadFile(file);
  if (!text)
    return Json();
  const Json trace = parseJson(*text, file.string());
  const Json all = summaryOf(member<Json>(trace, "traceEvents", file.string()));
  const double steps = double(all.at("steps").size()),
               total = all.at("total_ms");
  Json rows = Json::array();
  for (const Json &kernel : all.at("kernels")) {
    const double ms = kernel.at("ms"), launches = kernel.at("launches");
    rows.push_back({{"name", kernel.at("name")},
                    {"configuration", kernel.at("configuration")},
                    {"launches", launches / steps},
                    {"mean_us", 1e3 * ms / launches},
                    {"share", ms / total}});
  }
  return {{"steps", all.at("steps").front().at("name").get<std::string>() +
                        " to " +
                        all.at("steps").back().at("name").get<std::string>()},
          {"kernels", rows},
          {"kernels_share", all.at("kernels_ms").get<double>() / total},
          {"gemms_share", all.at("gemms_ms").get<double>() / total}};
}

// Returns the tuning of env.json without the list of launches.
Json tuningOf(const fs::path &file) {
  Json tuning = Json::object();
  const auto text = tryReadFile(file);
  if (!text)
    return tuning;
  const Json environment = parseJson(*text, file.string());
  const auto found = environment.find("tuning");
  if (found == environment.end() || !found->is_object())
    return tuning;
  for (const char *part : {"coverage", "table"})
    if (const auto member = found->find(part); member != found->end())
      flatten(*member, "", tuning);
  return tuning;
}

// Returns a CSV field, quoted if necessary.
std::string field(const std::string &text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos)
    return text;
  std::string quoted = "\"";
  for (char c : text)
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

} // namespace

fs::path runOf(const fs::path &path) {
  const fs::path start = path.lexically_normal();
  std::error_code ignored;
  for (fs::path at = start.parent_path(); !at.empty() && at != "/";
       at = at.parent_path())
    if (fs::exists(at / "metrics.jsonl", ignored))
      return at;
  return {};
}

Json runJson(const fs::path &folder) {
  const fs::path file = folder / "metrics.jsonl";
  const auto text = tryReadFile(file);
  std::error_code ignored;
  if (!text && !fs::exists(folder, ignored))
    throw Error(folder.string() + " does not exist",
                "name the folders of runs; the setting `out` names them");
  if (!text) {
    const fs::path run = runOf(folder);
    throw Error(folder.string() +
                    " is not a run folder: it has no metrics.jsonl",
                run.empty() ? "name the folder that `out` of the training "
                              "config names"
                            : "tessera report " + run.string());
  }
  fs::path name = folder.lexically_normal();
  if (name.filename().empty()) // "runs/a/"
    name = name.parent_path();
  Json run = {{"name", name.filename().string()},
              {"folder", folder.string()},
              {"series", Json::object()},
              {"skipped", Json::array()},
              {"config", membersOf(folder / "config.json")},
              {"result", membersOf(folder / "metrics.json")},
              {"kernels", kernelsOf(folder / "kernels")},
              {"tuning", tuningOf(folder / "env.json")},
              {"trace", tracedKernels(folder / "trace.json")},
              {"unreadable", 0}};
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    if (end > at)
      addLine(run, text->substr(at, end - at));
    at = end + 1;
  }
  return run;
}

Json runsJson(const std::vector<fs::path> &folders) {
  Json runs = Json::array();
  std::map<std::string, int> names;
  for (const fs::path &folder : folders) {
    runs.push_back(runJson(folder));
    ++names[runs.back()["name"].get<std::string>()];
  }
  for (Json &run : runs)
    if (names[run["name"].get<std::string>()] > 1)
      run["name"] = run["folder"];
  return runs;
}

std::string runsCsv(const Json &runs) {
  std::string csv = "run,step,figure,value\n";
  for (const Json &run : runs) {
    const std::string name = field(run.at("name")) + ",";
    for (const auto &[key, points] : run.at("series").items())
      for (const Json &point : points)
        csv += name + point[0].dump() + "," + field(key) + "," +
               point[1].dump() + "\n";
    if (run.at("trace").is_null())
      continue;
    // Values of a trace do not belong to one step.
    for (const Json &kernel : run["trace"].at("kernels"))
      for (const char *figure : {"launches", "mean_us", "share"})
        csv += name + "," +
               field("kernel " + kernel.at("name").get<std::string>() + " " +
                     kernel.at("configuration").get<std::string>() + " " +
                     figure) +
               "," + kernel.at(figure).dump() + "\n";
  }
  return csv;
}

} // namespace tessera::tools
