// replay/ReplayReport.cpp - formats reports of replays as JSON and as lines.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "replay/Replay.h"
#include "support/Json.h"

#include <cmath>
#include <cstdio>

namespace tessera::cases {

static constexpr const char *statusNames[] = {"ok", "mismatch", "unsupported",
                                              "error"};

const char *statusName(Status status) { return statusNames[int(status)]; }

static Json argumentJson(const ArgumentReport &argument) {
  const Comparison &comparison = argument.comparison;
  Json json = {{"name", argument.name},
               {"ok", comparison.ok},
               {"dtype", argument.dtype},
               {"compare", argument.mode},
               {"elements", argument.elements},
               {"max_abs", comparison.maxAbs},
               {"rms", comparison.rms},
               {"limit", comparison.limit},
               {"differing", comparison.differing}};
  if (!comparison.problem.empty())
    json["problem"] = comparison.problem;
  if (!argument.got.empty())
    json["first"] = {{"index", argument.index},
                     {"got", argument.got},
                     {"want", argument.want}};
  return json;
}

std::string reportJson(const CaseReport &report) {
  Json json = {
      {"case", report.folder},     {"name", report.name},
      {"kernel", report.kernel},   {"device", report.device},
      {"seconds", report.seconds}, {"status", statusName(report.status)},
      {"written", Json::array()}};
  if (!report.message.empty())
    json["message"] = report.message;
  for (const ArgumentReport &argument : report.arguments)
    json["written"].push_back(argumentJson(argument));
  // Messages may quote bytes of a damaged file.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

static ArgumentReport argumentFromJson(const Json &json) {
  const std::string what = "report of an argument";
  ArgumentReport argument;
  argument.name = member<std::string>(json, "name", what);
  argument.dtype = member<std::string>(json, "dtype", what);
  argument.mode = member<std::string>(json, "compare", what);
  argument.elements = member<int64_t>(json, "elements", what);
  Comparison &comparison = argument.comparison;
  comparison.ok = member<bool>(json, "ok", what);
  // Non-finite numbers are stored as null.
  auto number = [&](const char *key) {
    return json.contains(key) && json[key].is_number() ? json[key].get<double>()
                                                       : HUGE_VAL;
  };
  comparison.maxAbs = number("max_abs");
  comparison.rms = number("rms");
  comparison.limit = number("limit");
  comparison.differing = member<int64_t>(json, "differing", what);
  comparison.problem = memberOr<std::string>(json, "problem", "", what);
  if (json.contains("first")) {
    argument.index = member<std::vector<int64_t>>(json["first"], "index", what);
    argument.got = member<std::string>(json["first"], "got", what);
    argument.want = member<std::string>(json["first"], "want", what);
  }
  return argument;
}

CaseReport reportFromJson(std::string_view text) {
  const std::string what = "report of a case";
  const Json json = parseJson(text, what);
  CaseReport report;
  report.folder = member<std::string>(json, "case", what);
  report.name = member<std::string>(json, "name", what);
  report.kernel = member<std::string>(json, "kernel", what);
  report.device = member<std::string>(json, "device", what);
  report.seconds = member<double>(json, "seconds", what);
  report.message = memberOr<std::string>(json, "message", "", what);
  const auto status = member<std::string>(json, "status", what);
  for (int i = 0; i < 4; ++i)
    if (status == statusNames[i])
      report.status = Status(i);
  for (const Json &argument : member<Json>(json, "written", what))
    report.arguments.push_back(argumentFromJson(argument));
  return report;
}

// Returns the most informative line of a message: that of the first error.
static std::string firstLine(const std::string &message) {
  size_t begin = 0;
  while (begin < message.size() && message[begin] == '\n')
    ++begin;
  std::string line = message.substr(begin, message.find('\n', begin) - begin);
  const size_t hint = message.find("HINT: ", begin);
  if (hint != std::string::npos && hint > line.size())
    line += " (" + message.substr(hint, message.find('\n', hint) - hint) + ")";
  return line;
}

std::string reportLine(const CaseReport &report) {
  std::string line = (report.name.empty() ? report.folder : report.name) +
                     "  " + report.device;
  for (const ArgumentReport &argument : report.arguments) {
    char text[80];
    std::snprintf(text, sizeof(text), "max abs %.2g, rms %.2g",
                  argument.comparison.maxAbs, argument.comparison.rms);
    line += "  " + argument.name + ": " + text;
  }
  line += std::string("  ") + statusName(report.status);
  if (report.status != Status::Ok)
    line += ": " + firstLine(report.message);
  return line;
}

} // namespace tessera::cases
