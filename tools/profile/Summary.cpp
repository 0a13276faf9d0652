// tools/profile/Summary.cpp - sums the time of traced steps by phase, kernel
// and operation.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/profile/Summary.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tessera::tools {
namespace {

// Tolerance in microseconds: the trace truncates its times to nanoseconds.
constexpr double traceRounding = 1.5e-3;

// A complete event of the trace.
struct TimeSpan {
  std::string name, category;
  double begin = 0, end = 0; // microseconds
  std::string configuration; // of a launch
  int64_t thread = 0, listed = -1;

  double length() const { return end - begin; }
  bool within(const TimeSpan &other) const {
    return begin >= other.begin - traceRounding &&
           end <= other.end + traceRounding;
  }
};

// Returns "D=64 BR=4 num_warps=4 num_stages=2" for the arguments of a launch.
std::string launchConfiguration(const Json &arguments) {
  std::string text;
  const Json constexprs = arguments.value("constexprs", Json::object());
  for (const auto &[name, value] : constexprs.items())
    text += name + "=" +
            (value.is_string() ? value.get<std::string>() : value.dump()) + " ";
  for (const char *option : {"num_warps", "num_stages"})
    if (const auto found = arguments.find(option); found != arguments.end())
      text += option + ("=" + found->dump()) + " ";
  if (!text.empty())
    text.pop_back();
  return text;
}

std::vector<TimeSpan> spansOf(const Json &events) {
  std::vector<TimeSpan> spans;
  for (const Json &event : events) {
    if (event.value("ph", "") != "X")
      continue;
    TimeSpan span;
    span.name = member<std::string>(event, "name", "trace.json");
    span.category = event.value("cat", "");
    span.begin = member<double>(event, "ts", "trace.json");
    span.end = span.begin + member<double>(event, "dur", "trace.json");
    span.thread = member<int64_t>(event, "tid", "trace.json");
    if (const auto args = event.find("args");
        args != event.end() && args->is_object()) {
      span.listed = args->value("listed", int64_t(-1));
      span.configuration = launchConfiguration(*args);
    }
    spans.push_back(std::move(span));
  }
  // Sorts outer spans before the spans that they contain.
  std::stable_sort(
      spans.begin(), spans.end(), [](const TimeSpan &a, const TimeSpan &b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
      });
  return spans;
}

bool isProduct(const TimeSpan &span) {
  static const std::array<std::string_view, 9> names = {
      "aten::mm",      "aten::addmm",  "aten::bmm",
      "aten::baddbmm", "aten::addbmm", "aten::mv",
      "aten::addmv",   "aten::dot",    "tessera_internal::product"};
  return std::find(names.begin(), names.end(), span.name) != names.end();
}

// Disjoint intervals in ascending order.
using Intervals = std::vector<std::pair<double, double>>;

template <typename F>
Intervals unionOf(const std::vector<TimeSpan> &sorted, F wanted) {
  Intervals all;
  for (const TimeSpan &span : sorted) {
    if (!wanted(span))
      continue;
    if (!all.empty() && span.begin <= all.back().second)
      all.back().second = std::max(all.back().second, span.end);
    else
      all.push_back({span.begin, span.end});
  }
  return all;
}

double covered(const Intervals &intervals, const TimeSpan &by) {
  double sum = 0;
  auto at = std::lower_bound(intervals.begin(), intervals.end(), by.begin,
                             [](const auto &interval, double begin) {
                               return interval.second < begin;
                             });
  for (; at != intervals.end() && at->first < by.end; ++at)
    sum += std::max(0.0, std::min(at->second, by.end) -
                             std::max(at->first, by.begin));
  return sum;
}

// Time in launches, and time in launches or matrix products.
struct Covering {
  Intervals kernels, both;

  explicit Covering(const std::vector<TimeSpan> &spans)
      : kernels(unionOf(spans,
                        [](const auto &s) { return s.category == "kernel"; })),
        both(unionOf(spans, [](const auto &s) {
          return s.category == "kernel" || isProduct(s);
        })) {}
  double inKernels(const TimeSpan &by) const {
    return covered(kernels, by) / 1e3;
  }
  double inProducts(const TimeSpan &by) const {
    return covered(both, by) / 1e3 - inKernels(by);
  }
};

struct Sum {
  int64_t count = 0;
  double us = 0;
  std::string configuration;
};

// Returns times by name. The time of a span excludes the spans that it calls.
std::map<std::string, Sum> ownTimes(const std::vector<TimeSpan> &spans,
                                    const std::vector<TimeSpan> &steps) {
  std::map<int64_t, std::vector<const TimeSpan *>> open; // by thread
  std::map<const TimeSpan *, double> inner;
  std::vector<const TimeSpan *> wanted;
  for (const TimeSpan &span : spans) {
    if (span.category == "step" || span.category == "phase" ||
        std::none_of(steps.begin(), steps.end(),
                     [&](const TimeSpan &step) { return span.within(step); }))
      continue;
    auto &stack = open[span.thread];
    while (!stack.empty() && !span.within(*stack.back()))
      stack.pop_back();
    if (!stack.empty())
      inner[stack.back()] += span.length();
    stack.push_back(&span);
    if (span.category != "kernel")
      wanted.push_back(&span);
  }
  std::map<std::string, Sum> sums;
  for (const TimeSpan *span : wanted) {
    Sum &sum = sums[span->name];
    ++sum.count;
    const auto calls = inner.find(span);
    sum.us += std::max(0.0, span->length() -
                                (calls == inner.end() ? 0 : calls->second));
  }
  return sums;
}

Json longestOperations(const std::map<std::string, Sum> &sums) {
  std::vector<std::pair<std::string, Sum>> rows(sums.begin(), sums.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto &a, const auto &b) {
    return a.second.us > b.second.us;
  });
  rows.resize(std::min<size_t>(rows.size(), 40));
  Json list = Json::array();
  for (const auto &[name, sum] : rows)
    list.push_back(
        {{"name", name}, {"calls", sum.count}, {"ms", sum.us / 1e3}});
  return list;
}

Json launchesByKind(const std::vector<TimeSpan> &spans,
                    const std::vector<TimeSpan> &steps) {
  std::map<std::pair<int64_t, std::string>, Sum> sums;
  for (const TimeSpan &span : spans)
    if (span.category == "kernel" &&
        std::any_of(steps.begin(), steps.end(),
                    [&](const TimeSpan &step) { return span.within(step); })) {
      Sum &sum = sums[{span.listed, span.name.substr(7)}]; // "kernel NAME"
      ++sum.count;
      sum.us += span.length();
      sum.configuration = span.configuration;
    }
  Json list = Json::array();
  for (const auto &[kind, sum] : sums)
    list.push_back({{"listed", kind.first},
                    {"name", kind.second},
                    {"configuration", sum.configuration},
                    {"launches", sum.count},
                    {"ms", sum.us / 1e3}});
  return list;
}

} // namespace

Json summaryOf(const Json &events) {
  const std::vector<TimeSpan> spans = spansOf(events);
  std::vector<TimeSpan> steps;
  for (const TimeSpan &span : spans)
    if (span.category == "step")
      steps.push_back(span);
  if (steps.empty())
    throw Error("the trace has no step",
                "profile fewer steps: --warm-up 0 --steps 1");
  const Covering covering(spans);
  double total = 0, kernels = 0, products = 0;
  Json stepRows = Json::array(), phases = Json::array();
  std::map<std::string, size_t> place;
  for (const TimeSpan &step : steps) {
    Json own = Json::object();
    for (const TimeSpan &span : spans) {
      if (span.category != "phase" || span.thread != step.thread ||
          !span.within(step))
        continue;
      own[span.name] = own.value(span.name, 0.0) + span.length() / 1e3;
      const auto [at, isNew] = place.try_emplace(span.name, phases.size());
      if (isNew)
        phases.push_back({{"name", span.name},
                          {"ms", 0.0},
                          {"kernels_ms", 0.0},
                          {"gemms_ms", 0.0}});
      Json &row = phases[at->second];
      row["ms"] = row["ms"].get<double>() + span.length() / 1e3;
      row["kernels_ms"] =
          row["kernels_ms"].get<double>() + covering.inKernels(span);
      row["gemms_ms"] =
          row["gemms_ms"].get<double>() + covering.inProducts(span);
    }
    stepRows.push_back(
        {{"name", step.name}, {"ms", step.length() / 1e3}, {"phases", own}});
    total += step.length() / 1e3;
    kernels += covering.inKernels(step);
    products += covering.inProducts(step);
  }
  return {{"steps", stepRows},
          {"phases", phases},
          {"kernels", launchesByKind(spans, steps)},
          {"operations", longestOperations(ownTimes(spans, steps))},
          {"total_ms", total},
          {"kernels_ms", kernels},
          {"gemms_ms", products},
          {"outside_ms", total - kernels - products}};
}

} // namespace tessera::tools
